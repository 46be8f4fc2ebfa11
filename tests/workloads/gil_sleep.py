# SPDX-License-Identifier: Apache-2.0
"""gil_sleep.py MS TIMES: a thread sleeps with the GIL in its hands (ctypes.PyDLL keeps it), TIMES times MS ms; another one asks
for it all the time. Prints how long that had to wait, in ns, how much of it may have been for a CPU instead, and its tid."""
import ctypes
import sys
import threading
import time

MS, TIMES = int(sys.argv[1]), int(sys.argv[2])
usleep = ctypes.PyDLL(None).usleep
done = False
ready = threading.Event()


def hold():
    usleep(MS * 1000)


def holder():
    global done
    ready.wait()
    for _ in range(TIMES):
        time.sleep(0.02)
        hold()
    done = True


def want():
    waited = 0
    while not done:
        start = time.monotonic_ns()
        time.sleep(0)
        took = time.monotonic_ns() - start
        if took > 1000000:
            waited += took
    return waited


def delay():
    with open("/proc/thread-self/schedstat") as f:
        return int(f.read().split()[1])


other = threading.Thread(target=holder, name="holder")
other.start()
ready.set()
before = delay()
waited = want()
print(waited, delay() - before, threading.get_native_id())
other.join()
