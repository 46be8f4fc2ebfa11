#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A large trace of PyTorch's profiler, made of a small one.

    make_kineto.py TRACE.json.gz MEGABYTES OUT.json

The events again and again, each time later and with other correlation ids, as a longer profile has them, until the file
is as large as asked for.
"""
import gzip
import re
import sys

STEP_US = 500_000
IDS = 10_000_000


def main():
    source, megabytes, out = sys.argv[1:]
    with gzip.open(source) as f:
        text = f.read().decode()
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    head, body, tail = text[:begin], text[begin:end], text[end:]
    moving = re.compile(r'"(ts|correlation)": (\d+)')
    with open(out, "w") as f:
        f.write(head)
        size, k = len(text), 0
        while not k or size < int(megabytes) * 1e6:
            steps = {"ts": k * STEP_US, "correlation": k * IDS}
            f.write(("," if k else "") + moving.sub(lambda m: f'"{m[1]}": {int(m[2]) + steps[m[1]]}', body))
            size += len(body)
            k += 1
        f.write(tail)


if __name__ == "__main__":
    main()
