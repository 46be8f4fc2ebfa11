/* SPDX-License-Identifier: Apache-2.0 */
/* A process that looks at the machine for the recorder, which goes on meanwhile. */
#ifndef WPROF_RECORD_TOPOLOGY_LOOK_H
#define WPROF_RECORD_TOPOLOGY_LOOK_H

#include "base/buf.h"
#include "base/err.h"
#include "model/graph.h"

#include <stdint.h>
#include <sys/types.h>

struct topology_look {
    pid_t pid;
    int fd; /* readable when an answer has come; -1: none runs */
    int busy;
    uint64_t cpu_ns; /* what all looks took so far */
    struct buf in;
};

enum { TOPOLOGY_LOOK_PIDS = 1024 }; /* a question has no more */

struct topology_look_how {
    const int *pids; /* none: the whole machine */
    size_t npids;
    unsigned hops;
};

int topology_look_begin(struct topology_look *l, struct err *e); /* forks */
int topology_look_ask(struct topology_look *l, const struct topology_look_how *how, struct err *e);
/* Takes what has come. 1: an answer, in the initialised graph; 0: not yet; -1 with `e`: it has ended. */
int topology_look_take(struct topology_look *l, struct graph *g, struct err *e);
int topology_look_wait(struct topology_look *l, int ms); /* 1: something has come */
void topology_look_end(struct topology_look *l);

#endif
