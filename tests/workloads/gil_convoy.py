# SPDX-License-Identifier: Apache-2.0
"""gil_convoy.py SECONDS: the main thread holds the GIL, in crunch(); two others want it every few ms, in want(). Prints how long
each took beyond its sleeps, in ns, how much of that it may have waited for a CPU instead, and its tid."""
import sys
import threading
import time

SECONDS = float(sys.argv[1])
REPORTS = []
START = threading.Barrier(3)


def crunch(end):
    total = 0
    while time.monotonic() < end:
        for i in range(5000):
            total += i * i
    return total


def want(end):
    waited = 0
    while time.monotonic() < end:
        start = time.monotonic_ns()
        time.sleep(0.003)
        waited += time.monotonic_ns() - start - 3000000
    return waited


def delay():
    with open("/proc/thread-self/schedstat") as f:
        return int(f.read().split()[1])


def waiter():
    START.wait()
    before = delay()
    waited = want(time.monotonic() + SECONDS)
    REPORTS.append((waited, delay() - before, threading.get_native_id()))


threads = [threading.Thread(target=waiter) for _ in range(2)]
for thread in threads:
    thread.start()
START.wait()
crunch(time.monotonic() + SECONDS)
for thread in threads:
    thread.join()
for report in REPORTS:
    print(*report)
