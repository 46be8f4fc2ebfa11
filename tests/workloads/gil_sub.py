# SPDX-License-Identifier: Apache-2.0
"""gil_sub.py SECONDS: two threads of an interpreter with a GIL of its own (3.12 on) compete for that, while the main interpreter
is idle. Prints how long each was blocked, in ns, how long it waited for a CPU, and its tid."""
import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
import threading, time
REPORTS = []
START = threading.Barrier(2)

def schedstat():
    with open("/proc/thread-self/schedstat") as f:
        run, delay, _ = map(int, f.read().split())
    return time.monotonic_ns(), run, delay

def spin_below(end):
    n = 0
    while time.monotonic() < end:
        for i in range(1000):
            n += i

def measured():
    START.wait()
    before = schedstat()
    spin_below(time.monotonic() + %s)
    wall, run, delay = (b - a for a, b in zip(before, schedstat()))
    REPORTS.append((wall - run - delay, delay, threading.get_native_id()))

other = threading.Thread(target=measured)
other.start()
measured()
other.join()
for report in REPORTS:
    print(*report, flush=True)
"""

interpreters.run_string(interpreters.create(), CODE % sys.argv[1])
