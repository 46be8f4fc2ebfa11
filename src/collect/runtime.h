/* SPDX-License-Identifier: Apache-2.0 */
/* How long the targets' threads have run on a CPU since recording began: what the samples are held against.
 */
#ifndef WPROF_COLLECT_RUNTIME_H
#define WPROF_COLLECT_RUNTIME_H

#include "base/map.h"
#include "collect/who.h"
#include "unwind/track.h"

struct runtime {
    struct map before; /* hash of {tid, start} -> ns at the beginning */
    struct map execs;  /* the same -> ns, since the beginning, at its last exec */
    uint64_t ended_ns; /* of threads that have ended */
};

void runtime_release(struct runtime *r);

/* The beginning: what all threads of the machine have run so far doesn't count. */
int runtime_begin(struct runtime *r, struct bpfside *b, struct err *e);

/* A thread ended. */
void runtime_exit(struct runtime *r, struct who *w, const struct wire_exit *x);

/* A thread began another program: what it used until now is the old one's. After who_exec(). */
void runtime_exec(struct runtime *r, struct who *w, const struct wire_exec *x);

/* All of it up to now; also leaves each known thread's share in the store's tasks. whole: kernel threads and
 * processes that are not followed count too. */
uint64_t runtime_now(struct runtime *r, struct bpfside *b, struct who *w, const struct processes *ps,
                     int whole);

#endif
