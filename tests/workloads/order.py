# SPDX-License-Identifier: Apache-2.0
"""order.py SECONDS LIB: Python -> C -> Python in a known order.

outer -> [plugin_call in LIB] -> callback -> sorted() -> key_function -> spin
"""
import ctypes
import sys
import time

LIB = ctypes.CDLL(sys.argv[2])
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


def spin():
    total = 0
    for i in range(2000):
        total += i * i
    return total


def key_function(x):
    spin()
    return -x


def callback(n):
    sorted(range(n), key=key_function)
    return n


def outer(end):
    c_callback = CALLBACK(callback)
    while time.thread_time() < end:
        LIB.plugin_call(c_callback, 20)


outer(time.thread_time() + float(sys.argv[1]))
