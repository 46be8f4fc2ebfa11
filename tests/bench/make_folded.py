#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folded text of many unique stacks, as a large training job gives it.

    make_folded.py STACKS FILE [--shuffle] [--depth N] [--seed N]

About 840 bytes and 40 frames a line, Python above C++ above C and kernel. Neighbours share their beginning, as in
sorted text; --shuffle gives the same lines in random order. The same arguments give the same file.
"""
import argparse
import random

WORDS = (
    "forward backward step conv linear norm attention embed loss batch tensor copy cast stride view reduce gemm pack "
    "unpack kernel launch alloc free cache lookup insert hash parse decode resize crop flip collate fetch worker queue "
    "put get poll read write open close lock unlock wait wake sched page fault map unmap flush sync"
).split()


def names(rng):
    """About 6000 names, 21 bytes on average with the separator."""
    out = []
    for i in range(2000):
        a, b = rng.choice(WORDS), rng.choice(WORDS)
        out.append(f"{a}_{b} ({rng.choice(WORDS)}.py)")
        out.append(f"at::{a}_{b}_{i:04d}")
        out.append(f"{a}_{b}_{rng.choice(WORDS)}{i % 97}_")
    return out


def lines(stacks, seed, depth):
    """Depth first over a random tree: a stack keeps some of the one before and goes on from there to a new sibling."""
    rng = random.Random(1)
    table = names(rng)
    if seed != 1:
        rng = random.Random(seed)
    size = len(table)
    path, ordinal = [], []  # name index; how many siblings came before
    for _ in range(stacks):
        want = max(4, min(120, int(rng.gauss(depth, depth / 5))))
        # Most stacks differ near their leaf.
        keep = max(0, min(len(path), want) - 1 - int(rng.expovariate(1 / 5)))
        if keep < len(path):
            siblings = ordinal[keep] + 1
            del path[keep:], ordinal[keep:]
        else:
            siblings = 0
        while len(path) < want:
            parent = path[-1] if path else 0
            path.append((parent * 31 + 17 + siblings * 7) % size)
            ordinal.append(siblings)
            siblings = 0
        yield ";".join([table[i] for i in path]) + f" {rng.randrange(1, 50)}\n"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("stacks", type=int)
    args.add_argument("file")
    args.add_argument("--shuffle", action="store_true")
    args.add_argument("--depth", type=int, default=40)
    args.add_argument("--seed", type=int, default=1, help="another tree, of the same names")
    args = args.parse_args()
    made = lines(args.stacks, args.seed, args.depth)
    if args.shuffle:
        made = list(made)
        random.Random(args.seed).shuffle(made)
    with open(args.file, "w", buffering=1 << 20) as f:
        f.writelines(made)


if __name__ == "__main__":
    main()
