#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels and operators of two Kineto traces by an independent calculation, against `wprof diff --json --min-share 0`.

    diff_kineto.py DIFF.json BASE.json.gz NEW.json.gz
"""
import collections
import gzip
import json
import re
import sys

LEVELS = {"kernels": ("kernel", "gpu_memcpy", "gpu_memset"), "operators": ("cpu_op", "user_annotation")}


def read(path):
    """Time in us and count of each name, for each level."""
    out = {level: collections.defaultdict(lambda: [0, 0]) for level in LEVELS}
    with gzip.open(path) as f:
        events = json.load(f)["traceEvents"]
    for e in events:
        for level, cats in LEVELS.items():
            if e.get("ph") == "X" and e.get("cat") in cats:
                row = out[level][re.sub(r"#[0-9]+$", "", e["name"])]
                row[0] += e["dur"]
                row[1] += 1
    return out


def kind(a, b):
    if not a[1]:
        return "added"
    if not b[1]:
        return "removed"
    return "slower" if b[0] > a[0] else "faster" if b[0] < a[0] else "same"


def main():
    diff, base, new = json.load(open(sys.argv[1])), read(sys.argv[2]), read(sys.argv[3])
    for level in LEVELS:
        rows = {r["name"]: r for r in diff[level]["rows"]}
        seen = collections.Counter()
        for name in set(base[level]) | set(new[level]):
            a, b = base[level][name], new[level][name]
            if not a[0] + b[0]:
                continue
            r = rows.pop(name)
            assert abs(r["base_weight"] - 1000 * a[0]) <= 1 and abs(r["new_weight"] - 1000 * b[0]) <= 1, (name, a, b, r)
            assert (r.get("base_times", 0), r.get("new_times", 0)) == (a[1], b[1]), (name, a, b, r)
            change = b[0] / sum(x[0] for x in new[level].values()) - a[0] / sum(x[0] for x in base[level].values())
            assert abs(r["change"] - change) < 1e-9, (name, r["change"], change)
            seen[kind(a, b)] += 1
        assert not rows, list(rows)[:3]
        assert level == "kernels" or {"## backward ##", "ProfilerStep"} <= set(base[level]), list(base[level])[:9]
        assert all(seen[k] for k in ("added", "removed", "slower", "faster")), seen
        print(level, dict(seen))


main()
