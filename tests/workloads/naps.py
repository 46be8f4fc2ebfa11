#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Works for 30 ms and naps for 20 ms by turns, then for 50 ms and 20 ms with nothing in between; and says how long it was
off the CPU without waiting for one, in ns, by its own schedstat."""
import time


def figures():
    run, queue, _ = (int(x) for x in open("/proc/thread-self/schedstat").read().split())
    return time.monotonic_ns(), run, queue


def work(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


def nap():
    time.sleep(0.02)


def long_nap():
    time.sleep(0.05)


def main():
    begin = figures()
    for _ in range(12):
        work(0.03)
        nap()
    for _ in range(12):
        long_nap()
        nap()
    time.sleep(0)  # the figures are as of the last switch
    wall, run, queue = (b - a for a, b in zip(begin, figures()))
    print(wall - run - queue, queue)


main()
