#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small but real training run with one deliberate flaw, for trying wprof on.

    wprof record -- python3 examples/train.py            # the loader's workers are slow: why?
    wprof record -- python3 examples/train.py --fixed    # the same work without the flaw

A convolutional network learns to tell four kinds of stripes apart in noisy pictures. Two loader workers prepare the
pictures; their `slow_transform` goes over every pixel in Python. `--fixed` computes the same numbers with array
operations. The work is the same in every run: everything is seeded.

PyTorch with a DataLoader where torch imports; else NumPy, else plain Python, with worker processes of our own. Choose
with --backend torch|numpy|python. Each batch is marked as a step: see marks.py.
"""
import argparse
import functools
import importlib.util
import itertools
import math
import multiprocessing
import random
import time

from marks import mark

SIDE = 32  # pixels
CLASSES = 4  # directions of the stripes
GAMMA = 0.8


# ---- the pictures, as flat lists of SIDE * SIDE numbers in 0..1 ----


def make_picture(index):
    """Picture `index` and its class: stripes in one of four directions, with noise."""
    rng = random.Random(index)
    label = index % CLASSES
    angle = math.pi * label / CLASSES
    dx, dy = math.cos(angle), math.sin(angle)
    phase = rng.random() * 6.28
    pixels = []
    for y in range(SIDE):
        for x in range(SIDE):
            wave = 0.5 + 0.3 * math.sin((x * dx + y * dy) * 0.9 + phase)
            pixels.append(min(1.0, max(0.0, wave + 0.2 * (rng.random() - 0.5))))
    return pixels, label


def gamma_correct(pixel):
    return pixel**GAMMA


def slow_transform(pixels, rounds):
    """Gamma, then `rounds` times a light 3-point blur along the rows, pixel by pixel. This is the flaw."""
    out = [gamma_correct(p) for p in pixels]
    for _ in range(rounds):
        last = len(out) - 1
        out = [(out[max(i - 1, 0)] + 14.0 * out[i] + out[min(i + 1, last)]) / 16.0 for i in range(last + 1)]
    return out


def fast_transform(pixels, rounds):
    """The same numbers by whole-array operations; plain Python without NumPy shortens the loop instead."""
    try:
        import numpy
    except ImportError:
        return fast_transform_python(pixels, rounds)
    out = numpy.asarray(pixels, dtype=numpy.float64) ** GAMMA
    for _ in range(rounds):
        left = numpy.concatenate((out[:1], out[:-1]))
        right = numpy.concatenate((out[1:], out[-1:]))
        out = (left + 14.0 * out + right) / 16.0
    return out.tolist()


def fast_transform_python(pixels, rounds):
    """`rounds` blurs are one wider blur: a single pass with weights worked out once."""
    weights = blur_weights(rounds)
    width = len(weights) // 2
    source = [p**GAMMA for p in pixels]
    padded = [source[0]] * width + source + [source[-1]] * width
    return [sum(w * p for w, p in zip(weights, padded[i:])) for i in range(len(source))]


@functools.lru_cache(maxsize=None)
def blur_weights(rounds):
    weights = [1.0]
    for _ in range(rounds):
        wide = [0.0, 0.0] + weights + [0.0, 0.0]
        weights = [(wide[i] + 14.0 * wide[i + 1] + wide[i + 2]) / 16.0 for i in range(len(weights) + 2)]
    cut = max(0, len(weights) // 2 - 6)  # what lies further out weighs next to nothing
    weights = weights[cut : len(weights) - cut]
    return [w / sum(weights) for w in weights]


class Stripes:
    """A dataset of `count` prepared pictures: what a loader worker does for each is transform()."""

    def __init__(self, count, fixed, rounds):
        self.pictures = [make_picture(i) for i in range(count)]
        self.transform = fast_transform if fixed else slow_transform
        self.rounds = rounds

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        pixels, label = self.pictures[index]
        return self.transform(pixels, self.rounds), label


_steps = itertools.count()


def stepping(batches, args):
    """The batches of one epoch. Each is a step, with the wait for it: see marks.py."""
    iterator = iter(batches)
    for _ in range(math.ceil(args.pictures / args.batch)):
        mark(f"step {next(_steps)}")
        yield next(iterator)
    mark("end step")


# ---- PyTorch ----


def train_torch(args):
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    torch.manual_seed(1)

    def collate(batch):
        pixels = torch.tensor([p for p, _ in batch], dtype=torch.float32)
        return pixels.view(-1, 1, SIDE, SIDE), torch.tensor([label for _, label in batch])

    loader = DataLoader(
        Stripes(args.pictures, args.fixed, args.rounds),
        batch_size=args.batch,
        shuffle=True,
        num_workers=2,
        collate_fn=collate,
        persistent_workers=True,
    )
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(32 * 16, CLASSES),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        total = right = 0
        loss_sum = 0.0
        for images, labels in stepping(loader, args):
            optimizer.zero_grad()
            scores = model(images)
            loss = criterion(scores, labels)
            loss.backward()
            optimizer.step()
            total += len(labels)
            right += int((scores.argmax(1) == labels).sum())
            loss_sum += float(loss.detach()) * len(labels)
        report(epoch, loss_sum / total, right / total)


# ---- without PyTorch: a loader of two worker processes, softmax regression on convolution features ----

_dataset = None  # in a worker: the dataset that fork() left here


def _fetch(indices):
    return [_dataset[i] for i in indices]


def batches(pool, args, epoch):
    order = list(range(args.pictures))
    random.Random(epoch).shuffle(order)
    chunks = [order[i : i + args.batch] for i in range(0, len(order), args.batch)]
    return pool.imap(_fetch, chunks)


def with_loader(args, train):
    global _dataset
    _dataset = Stripes(args.pictures, args.fixed, args.rounds)
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        train(pool)
        pool.close()
        pool.join()


def train_numpy(args):
    import numpy as np

    rng = np.random.default_rng(1)
    kernels = rng.normal(0, 0.3, (16, 9))
    weights = rng.normal(0, 0.1, (16, CLASSES))

    def features(images):
        windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
        columns = windows.reshape(len(images), -1, 9)
        return np.maximum(columns @ kernels.T, 0.0), columns

    def train(pool):
        for epoch in range(args.epochs):
            total = right = 0
            loss_sum = 0.0
            for batch in stepping(batches(pool, args, epoch), args):
                images = np.array([p for p, _ in batch]).reshape(-1, SIDE, SIDE)
                images -= images.mean(axis=(1, 2), keepdims=True)
                labels = np.array([label for _, label in batch])
                hidden, columns = features(images)
                pooled = hidden.mean(axis=1)
                scores = pooled @ weights * 20.0
                scores -= scores.max(axis=1, keepdims=True)
                probs = np.exp(scores)
                probs /= probs.sum(axis=1, keepdims=True)
                loss_sum -= float(np.log(probs[np.arange(len(labels)), labels]).sum())
                right += int((probs.argmax(axis=1) == labels).sum())
                total += len(labels)
                error = probs
                error[np.arange(len(labels)), labels] -= 1.0
                error *= 20.0 / len(labels)
                back = (error @ weights.T)[:, None, :] * (hidden > 0) / hidden.shape[1]
                weights_step = pooled.T @ error
                kernels[...] -= 0.02 * np.einsum("bnk,bnj->kj", back, columns)
                weights[...] -= 0.02 * weights_step
            report(epoch, loss_sum / total, right / total)

    with_loader(args, train)


def train_python(args):
    rng = random.Random(1)
    kernels = [[rng.gauss(0, 0.5) for _ in range(9)] for _ in range(4)]
    weights = [[0.0] * len(kernels) for _ in range(CLASSES)]

    def convolve(pixels, kernel):
        total = 0.0
        for y in range(0, SIDE - 2, 4):
            for x in range(0, SIDE - 2, 2):
                at = y * SIDE + x
                value = sum(kernel[3 * j + i] * pixels[at + j * SIDE + i] for j in range(3) for i in range(3))
                total += max(0.0, value)
        return total / (SIDE * SIDE / 8)

    def step(pixels, label):
        mean = sum(pixels) / len(pixels)
        centred = [p - mean for p in pixels]
        hidden = [convolve(centred, kernel) * 10.0 for kernel in kernels]
        scores = [sum(w * h for w, h in zip(row, hidden)) for row in weights]
        top = max(scores)
        exps = [math.exp(s - top) for s in scores]
        probs = [e / sum(exps) for e in exps]
        for c in range(CLASSES):
            gradient = probs[c] - (c == label)
            for k, h in enumerate(hidden):
                weights[c][k] -= 0.1 * gradient * h
        return -math.log(max(probs[label], 1e-12)), probs.index(max(probs)) == label

    def train(pool):
        for epoch in range(args.epochs):
            total = right = 0
            loss_sum = 0.0
            for batch in stepping(batches(pool, args, epoch), args):
                for pixels, label in batch:
                    loss, hit = step(pixels, label)
                    loss_sum += loss
                    right += hit
                    total += 1
            report(epoch, loss_sum / total, right / total)

    with_loader(args, train)


# ---- the program ----


def report(epoch, loss, accuracy):
    print(f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.3f}", flush=True)


def choose_backend():
    for name in ("torch", "numpy"):
        if importlib.util.find_spec(name):
            try:
                __import__(name)
                return name
            except ImportError:
                continue
    return "python"


BACKENDS = {"torch": train_torch, "numpy": train_numpy, "python": train_python}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--fixed", action="store_true", help="the same work without the flaw")
    parser.add_argument("--backend", choices=sorted(BACKENDS), help="default: the best that imports")
    parser.add_argument("--pictures", type=int, default=768)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=18, help="blurs a picture: the loader's work")
    args = parser.parse_args()
    backend = args.backend or choose_backend()
    print(f"training with {backend}, {'fixed' if args.fixed else 'slow'} transform", flush=True)
    begin = time.monotonic()
    BACKENDS[backend](args)
    print(f"done in {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
