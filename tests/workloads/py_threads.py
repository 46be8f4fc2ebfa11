# SPDX-License-Identifier: Apache-2.0
"""py_threads.py SECONDS LIB: a Python thread, a generator, a native thread with no Python stack, a fork without exec."""
import ctypes
import os
import sys
import threading
import time

SECONDS = float(sys.argv[1])
LIB = ctypes.CDLL(sys.argv[2])


def burn(seconds):
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        for i in range(1000):
            total += i
    return total


def thread_function():
    burn(SECONDS / 2)


def numbers(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        yield sum(range(2000))


def uses_generator():
    return sum(numbers(SECONDS / 2))


class Holder:
    def method(self):
        def inner():
            burn(SECONDS / 2)

        inner()


def child():
    burn(SECONDS / 2)


thread = threading.Thread(target=thread_function, name="py-thread")
thread.start()
LIB.plugin_thread(int(SECONDS * 500))
uses_generator()
Holder().method()
pid = os.fork()
if pid == 0:
    child()
    os._exit(0)
os.waitpid(pid, 0)
thread.join()
LIB.plugin_join()
