/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom: a graph of waits, its circles and what everything waits for in the end. A node with
 * several successors goes on when any one of them lets it, so that what is called stuck is stuck whatever
 * they do.
 */
#ifndef WPROF_ANALYZE_WAITFOR_H
#define WPROF_ANALYZE_WAITFOR_H

#include "base/vec.h"
#include "model/dump.h"

#include <stdint.h>

#define WAITFOR_BLOCKED UINT32_MAX

struct waitfor_edge {
    uint32_t from, to; /* from waits for to */
};

struct waitfor {
    /* By node. It goes on by itself: the lower, the more it is to blame; one with successors does so where
     * none of their ways costs less. WAITFOR_BLOCKED: it goes on when a successor does; without any it is
     * stuck. */
    VEC(uint32_t) cost;
    VEC(struct waitfor_edge) edges;
    /* Found by waitfor_solve(), by node. */
    VEC(uint32_t) next;   /* the successor (+ 1) on the way to what it waits for; 0: it goes on by itself */
    VEC(uint32_t) root;   /* where that way ends (+ 1); 0: it leads into a circle */
    VEC(uint32_t) circle; /* the circle (from 1 on) that it is part of; 0: of none */
    uint32_t circles;
};

void waitfor_solve(struct waitfor *w);
void waitfor_release(struct waitfor *w);

/* Fills d->answers: circles first, then what most threads wait for. */
void waitfor_dump(struct dump *d);

#endif
