/* SPDX-License-Identifier: Apache-2.0 */
#include "record/topology_due.h"

#define SECOND 1000000000ull
#define SHARE  200 /* of the time that the looks may take: one in so many */
#define GRACE  (6 * SECOND)

int topology_due(struct topology_due *d, uint64_t elapsed_ns, uint64_t cost_ns, size_t tasks)
{
    int more = tasks > d->tasks && elapsed_ns >= d->last + SECOND;

    if ((elapsed_ns < d->next && !more) || cost_ns * SHARE > elapsed_ns + GRACE)
        return 0;
    *d = (struct topology_due){elapsed_ns, 2 * elapsed_ns, tasks};
    return 1;
}
