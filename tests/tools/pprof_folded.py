#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A profile of pprof as folded stacks, in a few lines of its own: pprof_folded.py FILE [VALUE]

VALUE is the index of the kind of value, 0 by default. Locations without a function are left out of the comparison: they
are [..].
"""
import collections
import gzip
import re
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            assert tag & 7 == 2
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
        yield tag >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        out.append(one)
    return out


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    which = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    top = collections.defaultdict(list)
    for number, value in fields(data):
        top[number].append(value)
    strings = [s.decode() for s in top[6]]
    functions = {f[1]: strings[f.get(2, 0)] for f in (dict(fields(x)) for x in top[5])}
    names = {}
    for x in top[4]:
        lines = [dict(fields(v)) for n, v in fields(x) if n == 4]
        names[dict(fields(x))[1]] = [functions[line[1]] for line in reversed(lines)] or ["[]"]
    folded = collections.Counter()
    for x in top[2]:
        locations = [n for k, v in fields(x) if k == 1 for n in numbers(v)]
        values = [n for k, v in fields(x) if k == 2 for n in numbers(v)]
        folded[";".join(n for loc in reversed(locations) for n in names[loc])] += values[which]
    for stack, n in sorted(folded.items()):
        if n:
            print(re.sub(r"\[[^];]*\]", "[]", stack), n)


main()
