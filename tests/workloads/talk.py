# SPDX-License-Identifier: Apache-2.0
"""talk.py MEANS [BYTES [REPLY]]: two processes that talk. a sends BYTES to b, b sends REPLY back, where the means goes
both ways. "lo+tcp4" first brings a new namespace's loopback device up. Prints "a=PID b=PID" and what else is to be known, when all has arrived; ends when stdin does."""
import array
import fcntl
import mmap
import os
import socket
import struct
import sys
import tempfile

means = sys.argv[1]
amount = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
reply = int(sys.argv[3]) if len(sys.argv) > 3 else 0
keep = []
dir = tempfile.mkdtemp()
facts = {}


def receive(sock, n):
    while n > 0:
        got = len(sock.recv(min(n, 65536)))
        assert got
        n -= got


def streams(family, address):
    server = socket.socket(family, socket.SOCK_STREAM)
    server.bind(address)
    server.listen(1)

    def a():
        s = socket.socket(family, socket.SOCK_STREAM)
        s.connect(server.getsockname())
        server.close()
        keep.append(s)
        s.sendall(b"x" * amount)
        receive(s, reply)

    def b():
        s = server.accept()[0]
        keep.append(s)
        receive(s, amount)
        s.sendall(b"y" * reply)

    if family != socket.AF_UNIX:
        facts["port"] = server.getsockname()[1]
    return a, b, server


def datagrams(family, address, connected=True):
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.bind(address)

    def a():
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.connect(server.getsockname())
        server.close()
        keep.append(s)
        s.send(b"x" * amount)

    def b():
        keep.append(server)
        server.recv(65536)

    return a, b, server


def fds(read, write):
    def a():
        os.close(read)
        os.write(write, b"x" * amount)

    def b():
        os.close(write)
        os.read(read, amount)

    return a, b, (read, write)


def fifo():
    path = dir + "/fifo"
    os.mkfifo(path)

    def a():
        keep.append(os.open(path, os.O_WRONLY))
        os.write(keep[-1], b"x" * amount)

    def b():
        keep.append(os.open(path, os.O_RDONLY))
        os.read(keep[-1], amount)

    facts["path"] = path
    return a, b, None


def eventfd():
    import ctypes

    fd = ctypes.CDLL(None).eventfd(0, 0)
    return lambda: os.write(fd, b"\1" + b"\0" * 7), lambda: os.read(fd, 8), fd


def passed():
    """A socket that a third process made and passed to both by SCM_RIGHTS."""
    give_a, take_a = socket.socketpair()
    give_b, take_b = socket.socketpair()
    if not os.fork():
        x, y = socket.socketpair()
        for give, s in (give_a, x), (give_b, y):
            give.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
        os._exit(0)
    os.wait()

    def take(s):
        control = s.recvmsg(1, socket.CMSG_SPACE(4))[1]
        got = socket.socket(fileno=array.array("i", control[0][2])[0])
        for other in (give_a, take_a, give_b, take_b):
            other.close()
        keep.append(got)
        return got

    return lambda: take(take_a).sendall(b"x" * amount), lambda: receive(take(take_b), amount), None


def map_it(fd, writes):
    """By the C library: Python's mmap keeps a descriptor of its own."""
    import ctypes

    prot = mmap.PROT_READ | (mmap.PROT_WRITE if writes else 0)
    at = libc()("mmap", None, 65536, prot, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    if writes:
        ctypes.memset(at, 1, 1)
    assert ctypes.string_at(at, 1) in (b"\0", b"\1")


def memory(fd, reads_only=False):
    """Both map it, b without the right to write where it only reads."""
    os.ftruncate(fd, 65536)
    return lambda: map_it(fd, True), lambda: map_it(fd, not reads_only), fd


def passed_memfd():
    """a makes it and passes it to b, which closes the descriptor and keeps the mapping."""
    give, take = socket.socketpair()

    def a():
        take.close()
        fd = os.memfd_create("wprof-passed")
        os.ftruncate(fd, 65536)
        map_it(fd, True)
        keep.append(fd)
        give.sendmsg([b"m"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        give.close()

    def b():
        give.close()
        control = take.recvmsg(1, socket.CMSG_SPACE(4))[1]
        take.close()
        fd = array.array("i", control[0][2])[0]
        map_it(fd, False)
        os.close(fd)

    return a, b, (give.fileno(), take.fileno()), keep.extend((give, take))


# ---- System V and POSIX queues, by the C library ----

IPC_CREAT, IPC_RMID, SHM_RDONLY = 0o1000, 0, 0o10000
IPC_PRIVATE = 0
cleanups = []


def libc():
    import ctypes

    lib = ctypes.CDLL(None, use_errno=True)

    def call(name, *args):
        f = getattr(lib, name)
        f.restype = ctypes.c_long
        got = f(*args)
        assert got != -1, (name, os.strerror(ctypes.get_errno()))
        return got

    return call


def message(n):
    return struct.pack("l", 1) + b"x" * n


def sysv(get, control, *args):
    call = libc()
    id = call(get, IPC_PRIVATE, *args, IPC_CREAT | 0o600)
    cleanups.append(lambda: call(control, id, *((IPC_RMID, 0) if control != "semctl" else (0, IPC_RMID))))
    facts["id"] = id
    return call, id


def sysv_shm():
    call, id = sysv("shmget", "shmctl", 8192)
    return lambda: call("shmat", id, None, 0), lambda: call("shmat", id, None, SHM_RDONLY), None


def sysv_msg():
    """a sends three messages, b takes one."""
    import ctypes

    call, id = sysv("msgget", "msgctl")
    into = ctypes.create_string_buffer(8 + amount)
    return (
        lambda: [call("msgsnd", id, message(amount), amount, 0) for _ in range(3)],
        lambda: call("msgrcv", id, into, amount, 0, 0),
        None,
    )


def sysv_wait():
    """a never sends, b waits: for a message that is in no queue but is of the type that nobody sends."""
    import ctypes

    call, id = sysv("msgget", "msgctl")
    into = ctypes.create_string_buffer(8 + amount)

    def wait():
        try:
            call("msgrcv", id, into, amount, 2, 0)
        except AssertionError:
            pass  # removed

    return lambda: call("msgsnd", id, message(amount), amount, 0), lambda: wait, None


def sysv_sem():
    """Of a set of three, a works on the first, b on the second."""
    call, id = sysv("semget", "semctl", 3)
    add = lambda i: lambda: call("semop", id, struct.pack("HhH", i, 1, 0), 1)
    return add(0), add(1), None


def mq():
    """a sends two messages, b takes one."""
    import ctypes

    call = libc()
    name = b"/wprof-talk-%d" % os.getpid()
    first = call("mq_open", name, os.O_RDWR | os.O_CREAT, 0o600, None)
    cleanups.append(lambda: call("mq_unlink", name))
    into = ctypes.create_string_buffer(8192)
    facts["name"] = name.decode()

    def a():
        os.close(first)
        q = call("mq_open", name, os.O_WRONLY)
        for _ in range(2):
            call("mq_send", q, b"x" * amount, amount, 0)

    def b():
        os.close(first)
        call("mq_receive", call("mq_open", name, os.O_RDONLY), into, 8192, None)

    return a, b, first


means_of = {
    "tcp4": lambda: streams(socket.AF_INET, ("127.0.0.1", 0)),
    "tcp6": lambda: streams(socket.AF_INET6, ("::1", 0)),
    "mapped": lambda: mapped(),
    "unix": lambda: streams(socket.AF_UNIX, dir + "/sock"),
    "abstract": lambda: streams(socket.AF_UNIX, "\0wprof-talk-%d" % os.getpid()),
    "dgram": lambda: datagrams(socket.AF_UNIX, dir + "/dgram"),
    "udp4": lambda: datagrams(socket.AF_INET, ("127.0.0.1", 0)),
    "udp6": lambda: datagrams(socket.AF_INET6, ("::1", 0)),
    "pipe": lambda: fds(*os.pipe()),
    "fifo": fifo,
    "eventfd": eventfd,
    "passed": passed,
    "memfd": lambda: memory(os.memfd_create("wprof-talk")),
    "memfd-read": lambda: memory(os.memfd_create("wprof-talk"), True),
    "memfd-passed": lambda: passed_memfd()[:3],
    "anonymous": lambda: anonymous(),
    "sysv-shm": sysv_shm,
    "sysv-msg": sysv_msg,
    "sysv-wait": sysv_wait,
    "sysv-sem": sysv_sem,
    "mq": mq,
    "shm": lambda: memory(os.open("/dev/shm/wprof-talk-%d" % os.getpid(), os.O_RDWR | os.O_CREAT, 0o600)),
}


def mapped():
    """A client of IPv4 at a server of both families."""
    server = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", 0))
    server.listen(1)
    port = server.getsockname()[1]

    def a():
        server.close()
        s = socket.create_connection(("127.0.0.1", port))
        keep.append(s)
        s.sendall(b"x" * amount)
        receive(s, reply)

    def b():
        s = server.accept()[0]
        keep.append(s)
        receive(s, amount)
        s.sendall(b"y" * reply)

    return a, b, server


def anonymous():
    """A mapping without a name, inherited."""
    m = mmap.mmap(-1, 65536)
    keep.append(m)
    return lambda: m.write(b"x"), lambda: m[0], None


def child(work):
    """Its pid, and a pipe on which it says that it is done."""
    done_r, done_w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(done_w)
        return pid, done_r
    os.close(done_r)
    after = work()
    os.close(done_w)
    if callable(after):
        after()
    sys.stdin.read()
    os._exit(0)


if means.startswith("lo+"):
    means = means[3:]
    IFF_UP, SIOCSIFFLAGS = 1, 0x8914
    fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
a, b, shared = means_of[means]()
b_pid, b_done = child(b)
a_pid, a_done = child(a)
if isinstance(shared, socket.socket):
    shared.close()
elif isinstance(shared, tuple):
    for fd in shared:
        os.close(fd)
elif shared is not None:
    os.close(shared)
for done in a_done, b_done:
    assert os.read(done, 1) == b""
print("a=%d b=%d %s" % (a_pid, b_pid, " ".join("%s=%s" % f for f in facts.items())), flush=True)
sys.stdin.read()
for clean in cleanups:
    clean()
for pid in a_pid, b_pid:
    os.waitpid(pid, 0)
for root, dirs, files in os.walk(dir):
    for f in files:
        os.unlink(os.path.join(root, f))
os.rmdir(dir)
if means == "shm":
    os.unlink("/dev/shm/wprof-talk-%d" % os.getpid())
