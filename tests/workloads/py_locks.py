# SPDX-License-Identifier: Apache-2.0
"""
py_locks.py HOW: hangs in a known way, and prints "ready" once everybody is where it will stay.
    lock    two threads that each hold the threading.Lock that the other wants, in take_ab() and take_ba()
    rlock   the same with threading.RLock
    gil     the thread keep_gil() holds the GIL, asleep in C; others in want_gil() wait for it
    pool    a worker process is in slow_transform() while the main process waits in next_item() for its pipe
"""
import ctypes
import multiprocessing
import os
import sys
import threading
import time


def ready():
    print("ready", flush=True)


def take_ab(a, b, both):
    with a:
        both.wait()
        with b:
            pass


def take_ba(a, b, both):
    with b:
        both.wait()
        with a:
            pass


def locks(kind):
    a, b, both = kind(), kind(), threading.Barrier(2)
    for run in take_ab, take_ba:
        threading.Thread(target=run, args=(a, b, both), daemon=True).start()
    time.sleep(0.3)
    ready()
    time.sleep(1000)


def keep_gil():
    ctypes.PyDLL(None).usleep(20000000)


def want_gil():
    while True:
        time.sleep(0.001)


def gil():
    for _ in range(2):
        threading.Thread(target=want_gil, daemon=True).start()
    time.sleep(0.1)
    ready()
    keep_gil()


def slow_transform():
    parent = os.getppid()
    while os.getppid() == parent:
        pass


def worker(queue):
    slow_transform()
    queue.send(1)


def next_item(queue):
    return queue.recv()


def pool():
    ours, theirs = multiprocessing.Pipe(duplex=False)
    multiprocessing.get_context("fork").Process(target=worker, args=(theirs,), daemon=True).start()
    theirs.close()
    ready()
    next_item(ours)


{"lock": lambda: locks(threading.Lock), "rlock": lambda: locks(threading.RLock), "gil": gil, "pool": pool}[sys.argv[1]]()
