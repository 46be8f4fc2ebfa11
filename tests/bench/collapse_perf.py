#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perf script's text on stdin to folded stacks, as one writes it in a minute: what wprof's import is compared with."""
import re
import sys
from collections import Counter

HEADER = re.compile(r"^(\S.+?)\s+(\d+)(?:/(\d+))?\s+.*?(?:\s(\d+)\s+)?(\S+):\s*$")
FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((.*)\)$")

counts, comm, stack, period = Counter(), None, [], 1
for line in sys.stdin:
    line = line.rstrip("\n")
    if not line:
        if comm:
            counts[";".join([comm, *reversed(stack)])] += period
        comm, stack = None, []
    elif line[0] not in "\t #":
        found = HEADER.match(line)
        if found:
            comm, period = found[1].replace(" ", "_"), int(found[4] or 1)
    else:
        found = FRAME.match(line)
        if found and comm:
            name = re.sub(r"\+0x[0-9a-f]+$", "", found[2])
            stack.append(name if name != "[unknown]" else f"[{found[3].rsplit('/', 1)[-1]}]")
for text, count in counts.items():
    print(text, count)
