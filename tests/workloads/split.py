# SPDX-License-Identifier: Apache-2.0
"""split.py SECONDS: 70 % of the CPU time in slow_a, 30 % in slow_b, while another thread waits for an event."""
import sys
import threading
import time

done = threading.Event()


def spin(ns):
    end = time.thread_time_ns() + ns
    n = 0
    while time.thread_time_ns() < end:
        for i in range(200):
            n += i
    return n


def slow_a():
    return spin(5_369_000)


def slow_b():
    return spin(2_301_000)


def wait_for_it():
    done.wait()


waiter = threading.Thread(target=wait_for_it)
waiter.start()
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    slow_a()
    slow_b()
done.set()
waiter.join()
