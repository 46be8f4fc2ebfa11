#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small but real inference server under load, with one deliberate flaw, for trying wprof on.

    wprof record -- python3 examples/serve.py            # one request in twenty takes far longer: why?
    wprof record -- python3 examples/serve.py --fixed    # the same answers without the flaw

Handler threads read requests and turn their text into tokens; the main thread runs the model on all that wait, a batch
at a time. The model is native code that gives Python's GIL up in each layer. tokenize() is plain Python and quadratic:
one request in two hundred is long, and while its tokens are made the model has to ask for the GIL layer by layer, so that
everybody else's requests wait. --fixed finds the same tokens in a fraction of the time.

A process of its own makes the load: requests arrive when they arrive, whether earlier ones are answered or not, at
times and with texts that a seed tells. It prints what it measured. Nothing leaves this machine. Each request and each
batch is marked: see marks.py.
"""
import argparse
import collections
import hashlib
import heapq
import itertools
import json
import queue
import random
import socket
import subprocess
import sys
import threading
import time

from marks import mark

HANDLERS = 32  # threads that read requests
CLIENTS = 64  # threads that send them
BATCH = 16
LAYERS = 24
WEIGHTS = bytes(range(256)) * 1024  # what a layer reads: time enough for another thread to take the GIL
LONG_EVERY, LONG_WORDS, SHORT_WORDS = 200, 600, 12

# ---- tokens: byte pair encoding, as language models use it ----

WORDS = "the model reads a long prompt and writes tokens until nobody asks for another one of them today".split()
SPELLINGS = sorted({w[i:j] for w in (f" {w}" for w in WORDS) for i in range(len(w)) for j in range(i + 2, len(w) + 1)})
RANKS = {s: i for i, s in enumerate(sorted(SPELLINGS, key=lambda s: (len(s), s)))}
NEVER = len(RANKS)


def tokenize(text):
    """Joins the two neighbours that rank first, again and again, and looks at all of them each time. This is the flaw."""
    parts = list(text)
    while True:
        best, where = NEVER, -1
        for i in range(len(parts) - 1):
            rank = RANKS.get(parts[i] + parts[i + 1], NEVER)
            if rank < best:
                best, where = rank, i
        if where < 0:
            return parts
        parts[where : where + 2] = [parts[where] + parts[where + 1]]


def fast_tokenize(text):
    """The same tokens: neighbours wait in a heap, and only those that changed are looked at."""
    parts = list(text)
    after = list(range(1, len(parts) + 1))
    before = list(range(-1, len(parts) - 1))
    heap = []

    def offer(i):
        if after[i] < len(parts):
            both = parts[i] + parts[after[i]]
            rank = RANKS.get(both, NEVER)
            if rank < NEVER:
                heapq.heappush(heap, (rank, i, both))

    for i in range(len(parts) - 1):
        offer(i)
    while heap:
        _, i, both = heapq.heappop(heap)
        if parts[i] is None or after[i] >= len(parts) or parts[i] + parts[after[i]] != both:
            continue  # one of them is part of something else by now
        gone = after[i]
        parts[i], parts[gone] = both, None
        after[i] = after[gone]
        if after[i] < len(parts):
            before[after[i]] = i
        offer(i)
        if before[i] >= 0:
            offer(before[i])
    return [p for p in parts if p is not None]


# ---- the model ----


def layer(state):
    return hashlib.sha256(WEIGHTS).digest()[:4] + state[4:]


def forward(batch):
    """All of a batch at once: each layer is one call, whatever the number of requests."""
    states = [hashlib.sha256("|".join(r.tokens).encode()).digest() for r in batch]
    shared = bytes(32)
    for _ in range(LAYERS):
        shared = layer(shared)
    return [f"{len(r.tokens)} {s.hex()[:16]} {shared.hex()[:8]}" for r, s in zip(batch, states)]


# ---- the server ----

Work = collections.namedtuple("Work", "number tokens answer done")


def handler(listener, waiting, make_tokens):
    """Takes one connection after the other: a request is a line "NUMBER TEXT", so is its answer."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # closed: it is over
            return
        with connection, connection.makefile("rw") as stream:
            number, _, text = stream.readline().rstrip("\n").partition(" ")
            if not number:
                continue
            mark(f"begin request {number}")
            work = Work(number, make_tokens(text), [], threading.Event())
            waiting.put(work)
            work.done.wait()
            stream.write(work.answer[0] + "\n")
            mark(f"end request {number}")  # all is over once the last answer is out
            stream.flush()


def next_batch(waiting):
    """Waits for a request, and takes what others wait by then; None: it is over."""
    batch = [waiting.get()]
    while batch[-1] is not None and len(batch) < BATCH:
        try:
            batch.append(waiting.get_nowait())
        except queue.Empty:
            break
    return batch if batch[-1] is not None else None


def run_model(waiting):
    for count in itertools.count():
        batch = next_batch(waiting)
        if batch is None:
            return
        mark(f"begin batch {count}", *(f"join request {work.number}" for work in batch))
        for work, answer in zip(batch, forward(batch)):
            work.answer.append(answer)
        mark(f"end batch {count}", *(f"leave request {work.number}" for work in batch))
        for work in batch:
            work.done.set()


def serve(args):
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    waiting = queue.Queue()
    make_tokens = fast_tokenize if args.fixed else tokenize
    for _ in range(HANDLERS):
        threading.Thread(target=handler, args=(listener, waiting, make_tokens), daemon=True).start()
    command = [sys.executable, __file__, "--load-port", str(listener.getsockname()[1])]
    for name in ("seconds", "rate", "seed"):
        command += [f"--{name}", str(getattr(args, name))]
    load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    measured = []

    def until_over():
        measured.append(load.communicate()[0])
        waiting.put(None)

    threading.Thread(target=until_over, daemon=True).start()
    run_model(waiting)
    if load.returncode:
        sys.exit("the load generator failed")
    return json.loads(measured[0])


# ---- the load ----


def make_requests(args):
    """When each request arrives, in seconds, and its text."""
    rng = random.Random(args.seed)
    at = 0.3  # until the threads are there
    for number in range(int(args.seconds * args.rate)):
        is_long = number % LONG_EVERY == LONG_EVERY // 2
        words = LONG_WORDS if is_long else SHORT_WORDS
        yield at, f"{number} " + " ".join(rng.choice(WORDS) for _ in range(words))
        at += rng.expovariate(args.rate)


def send(port, due, text):
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as stream:
        stream.write(text + "\n")
        stream.flush()
        answer = stream.readline().rstrip("\n")
    return time.monotonic() - due, answer


def client(port, due_ones, results):
    while True:
        job = due_ones.get()
        if job is None:
            return
        number, due, text = job
        results[number] = send(port, due, text)


def make_load(args):
    requests = list(make_requests(args))
    results = [None] * len(requests)
    due_ones = queue.Queue()
    threads = [threading.Thread(target=client, args=(args.load_port, due_ones, results)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    begin = time.monotonic()
    for number, (at, text) in enumerate(requests):
        time.sleep(max(0.0, begin + at - time.monotonic()))
        due_ones.put((number, begin + at, text))
    for _ in threads:
        due_ones.put(None)
    for thread in threads:
        thread.join()
    answers = hashlib.sha256("\n".join(answer for _, answer in results).encode()).hexdigest()
    times = sorted(seconds for seconds, _ in results)
    json.dump({"times": times, "answers": answers[:16], "seconds": time.monotonic() - begin}, sys.stdout)


def quantile(times, q):
    return times[max(0, -int(-q * len(times) // 1) - 1)]  # the nearest rank


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--fixed", action="store_true", help="the same answers without the flaw")
    parser.add_argument("--seconds", type=float, default=10, help="of load")
    parser.add_argument("--rate", type=float, default=40, help="requests a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print what was measured as JSON")
    parser.add_argument("--load-port", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.load_port:
        make_load(args)
        return
    measured = serve(args)
    times = measured["times"]
    if args.json:
        json.dump(measured, sys.stdout)
        return
    print(f"{len(times)} requests in {measured['seconds']:.1f} s, {'fast_' if args.fixed else ''}tokenize()")
    for q in (0.5, 0.95, 0.99, 1):
        print(f"{'longest' if q == 1 else f'p{100 * q:.0f}'} {1000 * quantile(times, q):.1f} ms")
    print(f"answers {measured['answers']}")


if __name__ == "__main__":
    main()
