/* SPDX-License-Identifier: Apache-2.0 */
/* When the topology of a recording wants a look at the machine, where nobody asks for one at an interval. */
#ifndef WPROF_RECORD_TOPOLOGY_DUE_H
#define WPROF_RECORD_TOPOLOGY_DUE_H

#include <stddef.h>
#include <stdint.h>

enum { TOPOLOGY_TICK_MS = 500 }; /* how often to ask; a command that is over by then is told by its events */

/* What was there at the last look. Times are ns since the recording began. */
struct topology_due {
    uint64_t last, next;
    size_t tasks;
};

/* 1: now. Looks become rarer, each twice as late as the one before, but where tasks have come since the last
 * one, a second ago or more, there is one too; all together may cost a two-hundredth of the time, and 30 ms
 * from the start on. cost_ns: of those that there were. */
int topology_due(struct topology_due *d, uint64_t elapsed_ns, uint64_t cost_ns, size_t tasks);

#endif
