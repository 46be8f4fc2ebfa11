# SPDX-License-Identifier: Apache-2.0
"""gil_near.py MS: waits MS ms each, twice, on futexes that are none of the GIL's: words of _PyRuntime at its start and far into it,
and one on the heap."""
import ctypes
import sys

SYS_FUTEX, FUTEX_WAIT, FUTEX_PRIVATE = 202, 0, 128
libc = ctypes.CDLL(None)
runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
word = ctypes.c_uint32(5)


class timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]


def wait_near(address):
    value = ctypes.c_uint32.from_address(address).value
    libc.syscall(SYS_FUTEX, ctypes.c_void_p(address), FUTEX_WAIT | FUTEX_PRIVATE, ctypes.c_uint32(value),
                 ctypes.byref(timespec(0, int(sys.argv[1]) * 1000000)), None, 0)


for address in (runtime, runtime + 16, ctypes.addressof(word)) * 2:
    wait_near(address)
