/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes hold the ends of pipes and sockets: by BPF, else from /proc/PID/fd. */
#ifndef WPROF_COLLECT_WAIT_HOLDERS_H
#define WPROF_COLLECT_WAIT_HOLDERS_H

#include <linux/types.h>

#include "base/vec.h"
#include "bpf/wire.h"

#include <stdint.h>
#include <sys/types.h>

enum { HOLDER_READS = WIRE_READS, HOLDER_WRITES = WIRE_WRITES };

struct wait_holder {
    uint64_t ino;
    pid_t pid;     /* as wprof sees it */
    uint8_t modes; /* of that descriptor */
};

struct bpfside;

struct wait_holders {
    struct bpfside *bpf;          /* NULL: there is none. Borrowed */
    VEC(struct wait_holder) list; /* sorted by inode */
    uint64_t read_ns;             /* when; 0: never */
    uint64_t of;                  /* which processes were asked for then */
    unsigned whole_reads;
};

void wait_holders_release(struct wait_holders *h);

/* Reads again, unless that was done just now, or lately, of the same processes, and `ino` was met: the
 * processes given, or all there are (a few times at most). 1: it did. */
int wait_holders_read(struct wait_holders *h, uint64_t ino, const pid_t *pids, size_t n, uint64_t now);
int wait_holders_read_all(struct wait_holders *h, uint64_t now);

/* The entries of an inode: *first is the index of the first of them. */
size_t wait_holders_of(const struct wait_holders *h, uint64_t ino, size_t *first);

#endif
