#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often comparisons of real recordings are wrong, and find what was planted; JSON on stdout.

    compare_recordings.py WPROF SHARES FOLDER [--runs 20] [--pairs 200] [--rounds 1300]

Records the program SHARES (shares.c) `runs` times as it is, with 10 % and with 3 % more work in its first function, in
turn, at 4999 Hz; then compares `pairs` random choices of so many runs a side. What FOLDER has already is not recorded
again.
"""
import argparse
import json
import os
import random
import subprocess
import sys

PLANTED = (0, 3, 10)


def record(args):
    for run in range(args.runs):
        for more in PLANTED:
            session = os.path.join(args.folder, f"{more}-{run}")
            if not os.path.exists(session):
                subprocess.run([args.wprof, "record", "-q", "-F", "4999", "--collect", "cpu", "-o", session, args.program,
                                str(args.rounds), str(more)], check=True, stdout=subprocess.DEVNULL)


def compare(args, base, new, extra):
    out = subprocess.run([args.wprof, "diff", "--json", "--self", "--fail-above", "5%", *extra, "--base", *base, "--new",
                          *new], capture_output=True, text=True, check=False)
    if out.returncode not in (0, 1):
        sys.exit(f"{out.args}: {out.stderr}")
    rows = [r for r in json.loads(out.stdout)["functions"]["rows"] if r["significant"]]
    return {"any": bool(rows), "found": any(r["name"] == "first" and r["change"] > 0 for r in rows),
            "gate": out.returncode == 1}


def rates(args, name, runs, more, extra=()):
    sums = {"any": 0, "found": 0, "gate": 0}
    draw = random.Random(f"{name} {runs} {more}")
    sessions = {m: [os.path.join(args.folder, f"{m}-{r}") for r in range(args.runs)] for m in PLANTED}
    for _ in range(args.pairs):
        if more:
            base, new = draw.sample(sessions[0], runs), draw.sample(sessions[more], runs)
        else:
            both = draw.sample(sessions[0], 2 * runs)
            base, new = both[:runs], both[runs:]
        for key, value in compare(args, base, new, extra).items():
            sums[key] += value
    return {"case": name, "pairs": args.pairs, **{key: value / args.pairs for key, value in sums.items()}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wprof")
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1300)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    record(args)
    ten = min(10, args.runs // 2)
    cases = [("recorded, null: 3 runs a side", 3, 0), (f"recorded, null: {ten} runs a side", ten, 0),
             ("recorded, null: 1 run a side", 1, 0), ("recorded, +10 %: 3 runs a side", 3, 10),
             (f"recorded, +3 %: {ten} runs a side", ten, 3),
             (f"recorded, +3 %: {ten} runs a side, --only", ten, 3, ("--only", "first")),
             (f"recorded, null: {ten} runs a side, by a number", ten, 0, ("--per", "1")),
             (f"recorded, +3 %: {ten} runs a side, by a number", ten, 3, ("--per", "1"))]
    for i, case in enumerate(cases):
        print(",\n" if i else "[", json.dumps(rates(args, *case)), end="", flush=True)
    print("]")


if __name__ == "__main__":
    main()
