# SPDX-License-Identifier: Apache-2.0
"""ranks.py MB: one rank of a training without a model: all_reduce of MB megabytes by gloo over loopback. RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT as torchrun gives them. Says "ready" when the data has gone; ends when stdin does."""
import os
import sys

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
t = torch.ones(int(sys.argv[1]) * 1000000 // 4)
dist.all_reduce(t)
assert t[0] == dist.get_world_size()
dist.barrier()
print("ready", flush=True)
sys.stdin.read()
