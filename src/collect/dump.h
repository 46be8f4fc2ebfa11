/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at every thread of some processes, at once and from outside: nothing is stopped, nothing recorded.
 * Where perf events are allowed, running threads are sampled for a moment, so that their native frames are
 * seen too.
 */
#ifndef WPROF_COLLECT_DUMP_H
#define WPROF_COLLECT_DUMP_H

#include "base/err.h"
#include "model/dump.h"

#include <sys/types.h>

struct dump_how_to {
    const pid_t *pids;
    size_t n;
    int alone; /* without the processes that they started */
    char tier; /* 'A', 'B', 'C': that one or, where it doesn't work, a lesser one; 0: the best that works */
};

/*
 * Fills *d, whose frames of files have no names yet (symbolize_store) and which has no answers
 * (waitfor_dump). -1 with `e` where none of the processes is there or may be read; of several, those are said
 * in the dump.
 */
int dump_take(struct dump *d, const struct dump_how_to *how, struct err *e);

#endif
