# SPDX-License-Identifier: Apache-2.0
"""wait_loader.py ITEMS MS: the main process takes ITEMS from a worker process, which needs MS for each in slow_transform."""
import multiprocessing
import sys
import time


def slow_transform(item, seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        item = (item * 1103515245 + 12345) % 2147483648
    return item


def send_item(queue, item):
    queue.send(item)


def worker(queue, items, seconds):
    for item in range(items):
        send_item(queue, slow_transform(item, seconds))


def next_item(queue):
    return queue.recv()


def main():
    items, seconds = int(sys.argv[1]), float(sys.argv[2]) / 1000
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=worker, args=(theirs, items, seconds))
    process.start()
    theirs.close()
    for _ in range(items):
        next_item(ours)
    process.join()


main()
