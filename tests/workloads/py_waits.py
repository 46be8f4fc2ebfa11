# SPDX-License-Identifier: Apache-2.0
"""
py_waits.py HOW: waits in the main process for a child, which sleeps in linger() as long as its parent is there. HOW is what
for: tcp, a TCP connection; poll, epoll, select: two pipes, one from each of two children; flock, fcntl: a file lock on the
file "lock"; pidfd: its end; write: that it reads.
"""
import fcntl
import os
import select
import socket
import sys
import time


def linger(parent):
    while os.getppid() == parent:
        time.sleep(0.05)


def child(prepare):
    parent = os.getpid()
    pid = os.fork()
    if not pid:
        kept = prepare()
        linger(parent)
        del kept
        os._exit(0)
    return pid


def ready():
    print("ready", flush=True)


def tcp():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()

    def connect():
        peer = socket.create_connection(listener.getsockname())
        listener.close()
        return peer

    child(connect)
    connection, _ = listener.accept()
    listener.close()
    ready()
    connection.recv(1)


def several(how):
    (r1, w1), (r2, w2) = os.pipe(), os.pipe()
    child(lambda: os.close(w2))
    child(lambda: os.close(w1))
    os.close(w1)
    os.close(w2)
    if how == "select":
        ready()
        select.select([r1, r2], [], [])
        return
    p = select.poll() if how == "poll" else select.epoll()
    p.register(r1, select.POLLIN)
    p.register(r2, select.POLLIN)
    ready()
    p.poll()


def lock(call):
    r, w = os.pipe()

    def take():
        f = open("lock", "w")
        call(f, fcntl.LOCK_EX)
        os.write(w, b"x")
        return f

    f = open("lock", "w")
    child(take)
    os.read(r, 1)
    ready()
    call(f, fcntl.LOCK_EX)


def pidfd():
    fd = os.pidfd_open(child(lambda: None))
    ready()
    select.select([fd], [], [])


def write():
    r, w = os.pipe()
    child(lambda: os.close(w))
    os.close(r)
    ready()
    while True:
        os.write(w, b"x" * 65536)


how = sys.argv[1]
if how in ("poll", "epoll", "select"):
    several(how)
else:
    {"tcp": tcp, "flock": lambda: lock(fcntl.flock), "fcntl": lambda: lock(fcntl.lockf), "pidfd": pidfd, "write": write}[how]()
