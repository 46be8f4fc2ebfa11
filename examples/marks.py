# SPDX-License-Identifier: Apache-2.0
"""Steps and requests for wprof: `from marks import mark`, then mark("step 12"), mark("begin request 7"), mark("end request 7").

A thread that works on what another one began says so: mark("join request 7"), mark("leave request 7"). Several marks
of one moment cost least together: mark("join request 7", "join request 9").

Costs a system call where `wprof record` runs the program, next to nothing where it doesn't, and never waits or fails. Without
the care for errors it is three lines:

    import os, socket
    marks = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    def mark(text): return marks.sendto(text.encode(), os.environ["WPROF_MARKS"])

Threads other than the main one put "#" and their number in front: f"#{threading.get_native_id()} begin request 7".
"""
import os
import socket
import threading

_BYTES = 200  # that a datagram may have
_path = os.environ.get("WPROF_MARKS")
_socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) if _path else None
_unsent = 0
_thread_id = getattr(threading, "get_native_id", os.getpid)  # Python before 3.8 can't tell


def mark(*texts):
    if _socket is None:
        return
    thread = _thread_id()
    who = "" if thread == os.getpid() else f"#{thread} "
    packet = b""
    count = 0
    for text in texts:
        line = (who + text).encode()
        if packet and len(packet) + 1 + len(line) > _BYTES:
            _send(packet, count)
            packet, count = b"", 0
        packet = packet + b"\n" + line if packet else line
        count += 1
    if packet:
        _send(packet, count)


def _send(packet, count):
    global _unsent
    try:
        if _unsent:
            _socket.sendto(b"lost %d" % _unsent, _path)
            _unsent = 0
        _socket.sendto(packet, _path)
    except BlockingIOError:  # the socket is full: said with the next one that finds room
        _unsent += count
    except OSError:  # the recording is over
        pass
