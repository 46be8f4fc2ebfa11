# SPDX-License-Identifier: Apache-2.0
"""gil_hash.py SECONDS: a pure-Python thread against one that hashes large buffers, which it does without the GIL. Prints for
each thread: name, tid, ns blocked (neither running nor waiting for a CPU), ns waiting for a CPU. They block for the GIL alone."""
import hashlib
import sys
import threading
import time

SECONDS = float(sys.argv[1])
BUFFER = bytes(8 << 20)
START = threading.Barrier(2)
REPORTS = []


def schedstat():
    with open("/proc/thread-self/schedstat") as f:
        run, delay, _ = map(int, f.read().split())
    return time.monotonic_ns(), run, delay


def pure(seconds):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for i in range(2000):
            total += i * i
    return total


def use(digest, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        digest = digest[1:] + digest[:1]
    return digest


def hashes(seconds):
    end = time.monotonic() + seconds
    digest = hashlib.sha256()
    while time.monotonic() < end:
        digest.update(BUFFER)
        use(digest.hexdigest(), 0.002)


def measured(function):
    START.wait()
    before = schedstat()
    function(SECONDS)
    after = schedstat()
    wall, run, delay = (b - a for a, b in zip(before, after))
    REPORTS.append((function.__name__, threading.get_native_id(), wall - run - delay, delay))


other = threading.Thread(target=measured, args=(hashes,))
other.start()
measured(pure)
other.join()
for report in REPORTS:
    print(*report)
