#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""boot-kernel-user.py LOG: what the ordinary user's part of boot-kernel.sh printed, held against what is known."""
import json
import re
import sys

parts = dict(re.findall(r"^@@(\w+)\n(.*?)(?=^@@)", open(sys.argv[1], errors="replace").read(), re.M | re.S))
paranoid = int(parts["paranoid"])
# the console may have a line of the kernel's between them
doctor = json.loads(parts["doctor"][parts["doctor"].index("{"):parts["doctor"].rindex("}") + 1])
meta = json.loads(parts["meta"][parts["meta"].index("{"):parts["meta"].rindex("}") + 1])
tiers = {t["tier"]: t for t in doctor["tiers"]}


def check(what, holds):
    print(("ok      " if holds else "NOT OK  ") + what)
    check.bad += not holds


def folded(text):
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if count.isdigit():
            yield stack, int(count)


check.bad = 0
check("perf_event_paranoid is %d" % paranoid, True)
check("doctor: no tier A, for the capabilities: %s" % tiers["A"]["why"], tiers["A"]["state"] == "no" and "CAP_BPF" in tiers["A"]["why"])
if paranoid > 2:
    check("doctor: no tier B, for the sysctl: %s" % tiers["B"]["why"],
          tiers["B"]["state"] == "no" and "perf_event_paranoid %d" % paranoid in tiers["B"]["why"])
    check("doctor: what grants it: %s" % tiers["B"]["grant"], tiers["B"]["grant"] == "sudo sysctl kernel.perf_event_paranoid=2")
check("doctor: tier %s" % doctor["tier"], doctor["records"] and doctor["tier"] == ("C" if paranoid > 2 else "B"))
check("record: the tier that doctor said", meta["tier"] == doctor["tier"])
check("record: exit code", parts["said"].rstrip().endswith("exit 0"))
samples = list(folded(parts["split"]))
a, b = (sum(n for stack, n in samples if re.search(f, stack)) for f in ("slow_a", "slow_b"))
check("a Python program's 70/30: %d/%d" % (a, b), a + b > 100 and 0.6 < a / (a + b) < 0.8)
took = int(re.search(r"\d+", parts["took"]).group())
waited = sum(n for stack, n in folded(parts["waits"]) if re.search("main;g;f.*nanosleep", stack))
check("waits: %d ns of %d in main;g;f" % (waited, took), 0.85 * took < waited < 1.15 * took)
sys.exit(check.bad != 0)
