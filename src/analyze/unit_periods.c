/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/unit_periods.h"

#include "analyze/gpu_period.h"

#include <stdio.h>

/* The thread with the most launches; 0: none is known. */
static uint32_t feeder(const struct gpu_trace *x)
{
    struct map launches = {0};
    const struct map_slot *slot;
    uint64_t most = 0;
    uint32_t task = 0;

    for (size_t i = 0; i < x->ran.n; i++) {
        const struct event *call = gpu_launch(x, &x->ran.a[i]);

        if (call && call->task && call->task <= x->s->tasks.list.n)
            ++*map_put(&launches, call->task);
    }
    for (size_t i = 0; (slot = map_next(&launches, &i));)
        if (slot->val > most || (slot->val == most && (uint32_t)slot->key < task)) {
            most = slot->val;
            task = (uint32_t)slot->key;
        }
    map_release(&launches);
    return task;
}

void units_add_periods(struct units *u, const struct gpu_trace *x)
{
    struct gpu_ranges periods = {0};
    uint32_t kind, task;

    if (u->list.n || !x->ran.n || !gpu_period_find(&periods, x)) {
        gpu_ranges_release(&periods);
        return;
    }
    kind = strtab_add(&u->strings, UNIT_PERIOD);
    task = feeder(x);
    for (size_t i = 0; i < periods.list.n; i++) {
        char id[24];

        snprintf(id, sizeof(id), "%zu", i);
        *vec_push(&u->list) = (struct unit){.kind = kind,
                                            .id = strtab_add(&u->strings, id),
                                            .start = periods.list.a[i].start,
                                            .end = periods.list.a[i].end,
                                            .task = task};
    }
    gpu_ranges_release(&periods);
}

void units_find_periods(struct units *u, const struct session *s)
{
    struct gpu_trace x;

    if (u->list.n)
        return;
    gpu_trace_init(&x, s);
    units_add_periods(u, &x);
    gpu_trace_release(&x);
}
