#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session imported from traces of PyTorch's profiler against what the traces themselves say.

    kineto_figures.py WPROF SESSION TRACE...

Reads the traces with Python's own JSON, counts and adds up in its own way, and compares: how many there are of each
kind, each device's busy time, each kernel's total, and the device's time by launch stack, to the nanosecond. Names
what differs and exits 1.
"""
import collections
import gzip
import json
import os
import re
import subprocess
import sys

WHAT = {"cpu_op": "operators", "cuda_runtime": "runtime_calls", "cuda_driver": "driver_calls", "kernel": "kernels",
        "gpu_memcpy": "copies", "gpu_memset": "memsets", "cuda_sync": "synchronizations",
        "user_annotation": "annotations", "gpu_user_annotation": "annotations_on_devices"}
ON_HOST = ("cpu_op", "cuda_runtime", "cuda_driver", "user_annotation", "python_function")
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def ns(value):
    return round(value * 1000)


class Trace:
    def __init__(self, path, index, several):
        opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
        with opened as f:
            top = json.loads(f.read())
        self.rank = top.get("distributedInfo", {}).get("rank", index if several else None)
        self.several = several
        self.events = [e for e in top["traceEvents"] if isinstance(e, dict)]
        self.spans = [e for e in self.events if e.get("ph") == "X"]
        self.names = {}
        for e in self.events:
            if e.get("ph") == "M" and e["name"] in ("process_name", "thread_name"):
                key = (e["pid"], 0 if e["name"] == "process_name" else e["tid"])
                name = re.sub(r"^thread .*\((.*)\)$", r"\1", e["args"]["name"])
                self.names[key] = name

    def counts(self):
        return collections.Counter(WHAT[e["cat"]] for e in self.spans if e.get("cat") in WHAT)

    def roots(self, call):
        process = self.names.get((call["pid"], 0), "process")
        thread = self.names.get((call["pid"], call["tid"]), process)
        leader = f"{process} [rank {self.rank}]" if self.several else process
        if call["pid"] == call["tid"]:
            return [leader]
        return [leader] if thread == leader else [leader, thread]

    def stacks_of_calls(self):
        """correlation id -> the call's stack, by walking each thread's spans in time."""
        threads = collections.defaultdict(list)
        for order, e in enumerate(self.spans):
            if e.get("cat") in ON_HOST:
                threads[e["pid"], e["tid"]].append((ns(e["ts"]), -ns(e["dur"]), order, e))
        stacks = {}
        for spans in threads.values():
            inside = []
            for start, minus, _, e in sorted(spans, key=lambda s: s[:3]):
                while inside and inside[-1][0] <= start:
                    inside.pop()
                name = "ProfilerStep" if e["name"].startswith("ProfilerStep#") else e["name"]
                correlation = e.get("args", {}).get("correlation")
                if correlation and e["cat"].startswith("cuda_"):
                    stacks[correlation] = self.roots(e) + [n for _, n in inside] + [name]
                if minus:
                    inside.append((start - minus, name))
        return stacks

    def on_device(self):
        return [e for e in self.spans if e.get("cat") in ON_DEVICE]


def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total += b - a
            end = b
        elif b > end:
            total += b - end
            end = b
    return total


def same(what, got, want):
    if got == want:
        return 0
    print(f"{what}: the session says {got}, the trace {want}")
    return 1


def compare(wprof, session, traces):
    with open(os.path.join(session, "meta.json")) as f:
        counters = json.load(f)["counters"]
    bad, counts, busy, kernels, folded = 0, collections.Counter(), {}, collections.Counter(), collections.Counter()
    for t in traces:
        counts += t.counts()
        stacks = t.stacks_of_calls()
        spans = collections.defaultdict(list)
        for e in t.on_device():
            spans[e["args"]["device"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])))
            if e["cat"] == "kernel":
                kernels[e["name"]] += ns(e["dur"])
            stack = stacks.get(e["args"].get("correlation"))
            if stack:
                line = ";".join(re.sub(r"[;\x00-\x1f\x7f]", "_", n) for n in stack + ["CUDA:" + e["name"]])
                folded[line] += ns(e["dur"])
        for device, list_ in spans.items():
            busy[t.rank, device] = union(list_)
    for what, n in counts.items():
        bad += same(what, counters.get(f"import.{what}", 0), n)
    shown = json.loads(subprocess.run([wprof, "show", "--gpu", "--json", "--top", "0", session], check=True,
                                      capture_output=True).stdout)
    bad += same("busy", {(d.get("rank"), d["id"]): d["busy_ns"] for d in shown["devices"]}, busy)
    total = collections.Counter()
    for d in shown["devices"]:
        for k in d["kernels"]:
            total[k["name"]] += k["total_ns"]
    bad += same("kernels", dict(total), dict(kernels))
    if folded:
        out = subprocess.run([wprof, "export", "--metric", "gpu", session], check=True, capture_output=True).stdout
        lines = dict(line.rsplit(" ", 1) for line in out.decode().splitlines())
        for line, n in folded.items():
            if n:
                bad += same(line, int(lines.get(line, 0)), n)
    return bad


def main():
    wprof, session, *paths = sys.argv[1:]
    traces = [Trace(p, i, len(paths) > 1) for i, p in enumerate(paths)]
    sys.exit(1 if compare(wprof, session, traces) else 0)


main()
