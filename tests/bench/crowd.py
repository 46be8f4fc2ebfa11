# SPDX-License-Identifier: Apache-2.0
"""crowd.py PROCESSES SOCKETS: that many processes, and connected TCP sockets over loopback; says "ready", ends when
stdin does."""
import os
import resource
import signal
import socket
import sys

processes, sockets = int(sys.argv[1]), int(sys.argv[2])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
pids = []
for _ in range(processes):
    pid = os.fork()
    if not pid:
        signal.pause()
    pids.append(pid)
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(4096)
told_r, told_w = os.pipe()
pid = os.fork()
if not pid:
    keep = [socket.create_connection(server.getsockname()) for _ in range(sockets // 2)]
    os.write(told_w, b".")
    signal.pause()
pids.append(pid)
keep = [server.accept()[0] for _ in range(sockets // 2)]
os.read(told_r, 1)
print("ready", flush=True)
sys.stdin.read()
for pid in pids:
    os.kill(pid, signal.SIGKILL)
