# SPDX-License-Identifier: Apache-2.0
"""Holds `wprof show --gpu --json --top 0` against the traces it was imported from: gpu_figures.py SHOWN TRACE...

Written apart from the program: a sweep over exact decimal times, no code or numbers in common.
"""
import decimal
import gzip
import json
import re
import sys

DEVICE_SIDE = {"kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "move", "Memcpy": "move", "gpu_memset": "move",
               "Memset": "move"}
COMMUNICATION = re.compile(r"^nccl|^rccl|^hccl|ncclKernel|ncclDevKernel")
TOLERANCE = decimal.Decimal("0.001")
KERNEL_WAIT = 30  # us


def load(path):
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as f:
        return json.load(f, parse_float=decimal.Decimal, strict=False)


def number(x):
    return decimal.Decimal(str(x))


class Trace:
    def __init__(self, path):
        doc = load(path)
        self.rank = doc.get("distributedInfo", {}).get("rank")
        self.ran, self.calls = {}, {}
        for e in doc["traceEvents"]:
            if e.get("ph") != "X":
                continue
            args = e.get("args", {})
            if e.get("cat") in DEVICE_SIDE:
                what = DEVICE_SIDE[e["cat"]]
                if what == "kernel" and COMMUNICATION.search(e["name"]):
                    what = "communication"
                device = int(args.get("device", e["pid"]))
                stream = int(args.get("stream", e["tid"]))
                start = number(e["ts"])
                self.ran.setdefault(device, []).append(
                    (start, start + number(e["dur"]), what, e["name"], stream, args.get("correlation")))
            elif "untime" in e.get("cat", "") and args.get("correlation"):
                self.calls.setdefault(args["correlation"], number(e["ts"]))


def sweep(spans):
    """Total time in which each combination of kinds was going on."""
    edges = sorted([(s, 1, k) for s, e, k in spans] + [(e, -1, k) for s, e, k in spans])
    active, total, last = {}, {}, None
    for at, step, kind in edges:
        going = frozenset(k for k, n in active.items() if n)
        if last is not None:
            total[going] = total.get(going, 0) + at - last
        active[kind] = active.get(kind, 0) + step
        last = at
    return total


def with_kind(total, *kinds):
    return sum(t for going, t in total.items() if going & set(kinds))


def idle_causes(ran, calls):
    causes = {"host": 0, "kernel": 0, "other": 0}
    busy_to = None
    for start, end, _, _, _, correlation in sorted(ran, key=lambda r: (r[0], r[1])):
        if busy_to is not None and start > busy_to:
            asked = calls.get(correlation) if correlation else None
            cause = "host" if asked is not None and asked > busy_to else \
                "kernel" if start - busy_to < KERNEL_WAIT else "other"
            causes[cause] += start - busy_to
        busy_to = end if busy_to is None else max(busy_to, end)
    return causes


def expected_figures(ran, calls):
    total = sweep([(s, e, k) for s, e, k, _, _, _ in ran])
    span = max(e for _, e, *_ in ran) - min(s for s, *_ in ran)
    busy = with_kind(total, "kernel", "communication", "move")
    overlap = sum(t for going, t in total.items() if {"kernel", "communication"} <= going)
    communication = with_kind(total, "communication")
    causes = idle_causes(ran, calls)
    return {"span_ns": span, "busy_ns": busy, "idle_ns": span - busy, "compute_ns": with_kind(total, "kernel"),
            "comm_ns": communication, "overlap_ns": overlap, "exposed_ns": communication - overlap,
            "copy_ns": with_kind(total, "move"), "idle_host_ns": causes["host"], "idle_kernel_ns": causes["kernel"],
            "idle_other_ns": causes["other"]}


class Comparison:
    def __init__(self):
        self.compared = self.wrong = 0

    def same(self, what, shown, us):
        self.compared += 1
        expected = us * 1000
        if abs(shown - expected) > max(TOLERANCE * expected, 2):
            self.wrong += 1
            print(f"{what}: {shown}, expected {expected}")

    def equal(self, what, shown, expected):
        self.compared += 1
        if shown != expected:
            self.wrong += 1
            print(f"{what}: {shown!r}, expected {expected!r}")


def compare_figures(c, where, shown, ran, calls):
    for key, expected in expected_figures(ran, calls).items():
        c.same(f"{where} {key}", shown[key], expected)


def compare_kernels(c, where, shown, ran):
    names = {}
    for start, end, kind, name, _, _ in ran:
        if kind != "move":
            names.setdefault(name, []).append(end - start)
    c.equal(f"{where} kernels", sorted(k["name"] for k in shown), sorted(names))
    for k in shown:
        times = names.get(k["name"], [])
        c.equal(f"{where} count of {k['name']}", k["count"], len(times))
        c.same(f"{where} time of {k['name']}", k["total_ns"], sum(times))


def compare(shown, traces):
    c = Comparison()
    devices = {(d["rank"], d["id"]): d for d in shown["devices"]}
    c.equal("devices", set(devices), {(t.rank, d) for t in traces for d in t.ran})
    for t in traces:
        for device, ran in t.ran.items():
            where, d = f"rank {t.rank} device {device}", devices[t.rank, device]
            compare_figures(c, where, d, ran, t.calls)
            compare_kernels(c, where, d["kernels"], ran)
            c.equal(f"{where} copies and sets", d["copy_count"] + d["set_count"], sum(r[2] == "move" for r in ran))
            streams = {s["stream"]: s for s in d["streams"]}
            c.equal(f"{where} streams", set(streams), {r[4] for r in ran})
            for stream, s in streams.items():
                compare_figures(c, f"{where} stream {stream}", s, [r for r in ran if r[4] == stream], t.calls)
    blamed = sum(row["ns"] for row in shown["idle_blame"])
    c.same("idle time blamed", blamed, number(sum(d["idle_ns"] for d in shown["devices"])) / 1000)
    return c


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        shown = json.load(f)
    c = compare(shown, [Trace(path) for path in sys.argv[2:]])
    print(f"{c.compared} figures, {c.wrong} wrong")
    return 1 if c.wrong or not c.compared else 0


sys.exit(main())
