# SPDX-License-Identifier: Apache-2.0
"""Steps and requests for wprof: `from marks import mark`, then mark("step 12"), mark("begin request 7"), mark("end request 7").

Costs a system call where `wprof record` runs the program, next to nothing where it doesn't, and never waits or fails. Without
the care for errors it is three lines:

    import os, socket
    marks = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    def mark(text): return marks.sendto(text.encode(), os.environ["WPROF_MARKS"])
"""
import os
import socket

_path = os.environ.get("WPROF_MARKS")
_socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) if _path else None
_unsent = 0


def mark(text):
    global _unsent
    if _socket is None:
        return
    try:
        if _unsent:
            _socket.sendto(b"lost %d" % _unsent, _path)
            _unsent = 0
        _socket.sendto(text.encode(), _path)
    except BlockingIOError:  # the socket is full: said with the next one that finds room
        _unsent += 1
    except OSError:  # the recording is over
        pass
