# SPDX-License-Identifier: Apache-2.0
"""Two servers after another on one port, each with a client that comes from one port, within a second. Prints
"a1=PID b1=PID a2=PID b2=PID"; the first client sends 1000 bytes, the second 2000."""
import os
import socket
import struct
import sys

port, client_port = 0, 0
said = []


def sock():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no TIME_WAIT: RST at the end
    return s


for turn, amount in ((1, 1000), (2, 2000)):
    server = sock()
    server.bind(("127.0.0.1", port))
    server.listen(1)
    port = server.getsockname()[1]
    b = os.fork()
    if not b:
        s = server.accept()[0]
        left = amount
        while left:
            left -= len(s.recv(left))
        s.send(b"y")
        s.recv(1)
        os._exit(0)
    r, w = os.pipe()
    a = os.fork()
    if not a:
        server.close()
        s = sock()
        s.bind(("127.0.0.1", client_port))
        os.write(w, struct.pack("H", s.getsockname()[1]))
        s.connect(("127.0.0.1", port))
        s.sendall(b"x" * amount)
        assert s.recv(1) == b"y"
        s.sendall(b"z")
        s.close()
        os._exit(0)
    server.close()
    client_port = struct.unpack("H", os.read(r, 2))[0]
    for pid in a, b:
        assert os.waitpid(pid, 0)[1] == 0
    said.append("a%d=%d b%d=%d" % (turn, a, turn, b))
print(*said)
