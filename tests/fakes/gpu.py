# SPDX-License-Identifier: Apache-2.0
"""A program for the fake driver of cuda.c: what it is told, in Python functions of known lines."""
import ctypes
import os
import signal
import socket
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")


def function(name):
    f = ctypes.c_void_p()
    cuda.cuModuleGetFunction(ctypes.byref(f), None, name.encode())
    return f


def launch(f, stream=0):
    cuda.cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, ctypes.c_void_p(stream), None, None)


def forward(n):
    f = function("_Z7forwardPf@2000")
    for _ in range(n):
        launch(f, 1)  # forward's


def backward(n):
    f = function("backward@3000")
    for _ in range(n):
        cuda.cudaLaunchKernel(f, 4, 64, ctypes.c_void_p(2))  # backward's


def wait():
    cuda.cuStreamSynchronize(ctypes.c_void_p(1))
    cuda.cuStreamSynchronize(ctypes.c_void_p(2))


def memory():
    address = ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20))
    cuda.cuMemcpyHtoDAsync_v2(address, None, ctypes.c_size_t(1 << 20), ctypes.c_void_p(1))
    cuda.cuMemsetD8Async(address, 0, ctypes.c_size_t(4096), ctypes.c_void_p(1))
    cuda.cuMemFree_v2(address)


def make_graph():
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuGraphCreate(ctypes.byref(graph), 0)
    cuda.cuGraphAddKernelNode(graph, function("first@500"))  # the first node
    cuda.cuGraphAddKernelNode(graph, function("second@700"))
    cuda.cuGraphInstantiate(ctypes.byref(ready), graph)
    return ready


def steps(n=4):
    for i in range(n):
        cuda.nvtxRangePushA(b"step_%d" % i)
        forward(3)
        backward(2)
        wait()
        cuda.nvtxRangePop()
    cuda.nvtxMarkA(b"done")


def everything():
    steps()
    memory()
    graph = make_graph()
    for _ in range(2):
        cuda.cuGraphLaunch(graph, ctypes.c_void_p(1))
    device = ctypes.c_int()
    for _ in range(5):
        cuda.cudaGetDevice(ctypes.byref(device))
        assert cuda.cuStreamQuery(ctypes.c_void_p(1)) == 600
    wait()


def fork():
    forward(3)
    pid = os.fork()
    if not pid:
        forward(5)
        os._exit(0)
    os.waitpid(pid, 0)
    forward(2)
    wait()


def threads():
    pool = [threading.Thread(target=steps, args=(3,)) for _ in range(4)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()


def cupti():
    return ctypes.CDLL("libcupti.so.12")


def told(name):
    """A number that the stub keeps."""
    return ctypes.c_int.in_dll(cupti(), name).value


def flush():
    """Hands over what there is, as each second does; whoever takes it has it then."""
    cupti().cuptiActivityFlushAll(1)


def profiler(torch="libtorch_cpu.so"):
    """Another one takes the records: for longer than ours waits, then until ours takes them back. Of an unknown
    one ours does not know that it is over."""
    library = torch and ctypes.CDLL(torch)
    forward(2)
    wait()
    flush()
    if library:
        library.fake_profiler_is_on(1)
    cuda.fake_profiler(1)
    before = told("fake_flushes")
    while told("fake_flushes") < before + 70:
        forward(1)
        time.sleep(0.01)
    registrations = told("fake_registrations")
    wait()
    cuda.fake_profiler(0)
    if library:
        library.fake_profiler_is_on(0)
        end = time.monotonic() + 60
        while told("fake_registrations") < 3 and time.monotonic() < end:
            forward(1)
            time.sleep(0.01)
    forward(2)
    cuda.cudaGetDevice(ctypes.byref(ctypes.c_int()))
    wait()
    print(registrations, told("fake_registrations"), told("fake_zeroed"))


def profiler_unknown():
    profiler(None)


def buffers():
    """Says how much memory was given for the records of a program of many threads."""
    for _ in range(20):
        forward(1)
        wait()
        flush()
    print(told("fake_buffers"))


def killed():
    steps()
    flush()
    os.kill(os.getpid(), signal.SIGKILL)


def left():
    steps()
    flush()
    os._exit(3)


def close():
    """Descriptors that it does not know are closed, and their numbers used again."""
    steps(1)
    os.closerange(3, 256)
    out = [open("kept-%d" % i, "w") for i in range(8)]
    steps(1)
    flush()
    for f in out:
        f.write("kept")


def load():
    """Says how long it was, ns: meanwhile the device idles."""
    begin = time.monotonic_ns()
    time.sleep(0.05)
    return time.monotonic_ns() - begin


def loading():
    forward(1)
    wait()
    print(sum((load(), forward(1), wait())[0] for _ in range(6)))


def endless():
    """Kernels until it is killed, in steps that it marks; asks its parent to begin."""
    marks = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    for i in range(10**6):
        marks.sendto(b"step %d" % i, os.environ["WPROF_MARKS"])
        if os.environ.get("BEGIN") and i == 5:
            os.kill(os.getppid(), signal.SIGUSR1)
        forward(2)
        wait()
        time.sleep(0.01)


def orphan():
    """Steps, until its parent is killed and for some more; ends in an orderly way."""
    parent = os.getppid()
    for i in range(10**5):
        cuda.nvtxRangePushA(b"step %d" % i)
        forward(2)
        wait()
        cuda.nvtxRangePop()
        if os.getppid() != parent:
            break
        time.sleep(0.005)
    steps(2)


def alone():
    """Kernels, until nothing of ours writes any more: for longer than its parent lives."""
    logs = os.environ["WPROF_GPU"]
    while any(os.readlink(x).startswith(logs) for x in os.scandir("/proc/self/fd") if os.path.lexists(x)):
        forward(2)
        wait()
        time.sleep(0.005)
    print("alone")


def many():
    """Says how large the agent's log is and how much of it is on the disk, once that is less."""
    f = function("_Z7forwardPf@1")
    for _ in range(20000):
        launch(f, 1)
    flush()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        logs = [os.stat(x) for x in os.scandir(os.environ["WPROF_GPU"])]
        size, disk = sum(s.st_size for s in logs), sum(s.st_blocks for s in logs) * 512
        if disk < size / 2:
            break
        time.sleep(0.02)
    print(size, disk)


def marks():
    for i in range(3):
        cuda.nvtxRangePushA(b"step_%d" % i)
        cuda.nvtxRangePop()


def workers():
    """A process that marks, and two children of fork that do; none begins with CUDA."""
    logs = os.environ["WPROF_GPU"]
    marks()
    children = []
    for _ in range(2):
        pid = os.fork()
        if not pid:
            marks()
            end = time.monotonic() + 30
            while time.monotonic() < end:  # it ends without a word: until all is written
                mine = [x for x in os.scandir(logs) if x.name.startswith("%d-" % os.getpid())]
                if mine and mine[0].stat().st_size > 200:
                    break
                time.sleep(0.01)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def early():
    marks()
    cuda.cuInit(0)
    steps(2)


def user():
    forward(2)
    wait()
    time.sleep(0.5)


def after(profiler=False):
    """Goes on when the recording is over: says which descriptors of its log are left, how many kinds of
    records another profiler has then, and whether we are still called."""
    logs = os.environ["WPROF_GPU"]
    forward(2)
    wait()
    flush()
    if profiler:
        cuda.fake_profiler(1)
        before = told("fake_flushes")
        while told("fake_flushes") < before + 5:  # until that is noticed
            forward(1)
            time.sleep(0.01)
    os.kill(os.getppid(), signal.SIGUSR1)
    while os.path.exists(logs):
        forward(2)
        wait()
        time.sleep(0.01)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        left = [os.readlink(x) for x in os.scandir("/proc/self/fd") if os.path.lexists(x)]
        left = [x for x in left if x.startswith(logs)]
        if not left:
            break
        time.sleep(0.02)
    with open("left", "w") as f:
        f.write("%s %d %d\n" % (left, cupti().fake_enabled(), cupti().fake_subscribed()))


def after_profiler():
    after(True)


def two():
    forward(2)
    wait()


def attached():
    """Once the file `go` is there: what a recorder that came later is to see."""
    runtime = ctypes.CDLL("libcudart.so.13")
    while not os.path.exists("go"):
        time.sleep(0.02)
    f = function("compiled@100")
    for _ in range(10):
        forward(3)
        backward(1)
        getattr(runtime, "__cudaLaunchKernel")(f, ctypes.c_void_p(1))
        wait()
        time.sleep(0.02)


if __name__ == "__main__":
    if sys.argv[1] == "user":  # another user from before CUDA on, who may not write there
        os.setuid(65534)
    if sys.argv[1] not in ("none", "early", "marks", "workers"):
        cuda.cuInit(0)
    if sys.argv[1] != "none":
        globals()[sys.argv[1]]()
