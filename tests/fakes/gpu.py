# SPDX-License-Identifier: Apache-2.0
"""A program for the fake driver of cuda.c: what it is told, in Python functions of known lines."""
import ctypes
import os
import signal
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
        cuda.nvtxRangePushA(b"step %d" % i)
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


def profiler():
    forward(2)
    wait()
    cuda.fake_profiler(1)
    for _ in range(4):
        forward(1)
        time.sleep(0.03)
    cuda.fake_profiler(0)
    for _ in range(30):
        forward(1)
        time.sleep(0.02)
    wait()


def killed():
    steps()
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)


def left():
    steps()
    time.sleep(0.3)
    os._exit(3)


def close():
    """Descriptors that it does not know are closed, and their numbers used again."""
    steps(1)
    os.closerange(3, 256)
    out = [open("kept-%d" % i, "w") for i in range(8)]
    steps(1)
    time.sleep(0.1)
    for f in out:
        f.write("kept")


def attached():
    """Once the file `go` is there: what a recorder that came later is to see."""
    while not os.path.exists("go"):
        time.sleep(0.02)
    for _ in range(10):
        forward(3)
        backward(1)
        wait()
        time.sleep(0.02)


if __name__ == "__main__":
    if sys.argv[1] != "none":
        cuda.cuInit(0)
        globals()[sys.argv[1]]()
