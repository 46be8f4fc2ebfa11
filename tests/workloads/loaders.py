# SPDX-License-Identifier: Apache-2.0
"""A trainer whose batches come from two loader workers. Prints their pids."""
import os

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((1000,), float(i)), os.getpid()


if __name__ == "__main__":
    total, workers = 0.0, set()
    for batch, pids in DataLoader(Numbers(), batch_size=8, num_workers=2):
        total += batch.sum().item()
        workers.update(pids.tolist())
    assert total == sum(range(64)) * 1000
    print("trainer=%d w0=%d w1=%d" % (os.getpid(), *sorted(workers)))
