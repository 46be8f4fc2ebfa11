# SPDX-License-Identifier: Apache-2.0
"""What tests/gpu/device.sh records: a small training and what stands for the extremes, on a real GPU."""
import sys
import time

import torch
from torch import nn

device = torch.device("cuda")


def model(width=512):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)).to(device)


def steps(n):
    """Copies, forward, backward, optimizer, NVTX ranges."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    host = torch.randn(256, 512).pin_memory()
    for i in range(n):
        torch.cuda.nvtx.range_push("step %d" % i)
        x = host.to(device, non_blocking=True)
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()


def graph(n):
    """A captured graph of some kernels, replayed."""
    net = model()
    x = torch.randn(256, 512, device=device)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad():
        with torch.cuda.stream(side):
            for _ in range(3):
                net(x)
        torch.cuda.current_stream().wait_stream(side)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            net(x)
        for _ in range(n):
            captured.replay()
    torch.cuda.synchronize()


def profiler(n, seconds):
    """Another profiler of the same process in the middle, and then that many seconds without it."""
    steps(n)
    with torch.profiler.profile(activities=list(torch.profiler.supported_activities())) as p:
        steps(n)
    kernels = [e for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print("profiler_kernels", len(kernels))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        steps(n)


def rate(name, seconds, work):
    n, begin = 0, time.monotonic()
    while time.monotonic() - begin < seconds:
        for _ in range(200):
            work()
        n += 200
        torch.cuda.synchronize()
    print("%s %.1f" % (name, n / (time.monotonic() - begin)))


def rates(seconds):
    """Launches as fast as they go: what recording costs the CPU is all there is. And kernels that keep the device busy."""
    x = torch.zeros(64, device=device)
    a = torch.randn(2048, 2048, device=device)
    b = torch.randn(2048, 2048, device=device)
    for work in (lambda: x.add_(1), lambda: torch.mm(a, b)):  # the first ones load their code
        rate("first", 0.2, work)
    rate("tiny", seconds, lambda: x.add_(1))
    rate("large", seconds, lambda: torch.mm(a, b))


if __name__ == "__main__":
    globals()[sys.argv[1]](*map(int, sys.argv[2:]))
    print("done")
