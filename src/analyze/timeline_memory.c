/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of how much memory was allocated on devices. */
#include "analyze/timeline_job.h"

#include "model/metrics.h"

#include <string.h>

/* Of the same rank and number, + 1; 0: nothing ran there, or the device is not told. */
static uint32_t device_of(const struct timeline_job *j, const struct gpu_memory_pool *p)
{
    for (uint32_t i = 0; p->device && i < j->gpu.devices.n; i++)
        if (j->gpu.devices.a[i].rank == p->rank && j->gpu.devices.a[i].device == p->device)
            return i + 1;
    return 0;
}

static char *label(const struct gpu_memory_pool *p, int at_device)
{
    struct gpu_device d = {.rank = p->rank, .device = p->device};
    struct buf text = {0};

    buf_addf(&text, "allocated");
    if (p->place != GPU_DEVICE && p->place != GPU_PLACE_UNKNOWN)
        buf_addf(&text, ", %s", gpu_place_name(p->place));
    if (!at_device && p->device) {
        buf_addstr(&text, ": ");
        gpu_device_label(&d, &text);
    }
    return buf_detach(&text);
}

void timeline_memory_plan(struct timeline_job *j)
{
    gpu_memory_init(&j->memory, &j->s->store);
    for (uint32_t i = 0; i < j->memory.pools.n; i++) {
        struct lane_plan *plan = timeline_plan_lane(j, 0, TIMELINE_METRIC);
        uint32_t device = device_of(j, &j->memory.pools.a[i]);
        char *text = label(&j->memory.pools.a[i], device != 0);

        plan->events = NULL;
        plan->nevents = 0;
        plan->weight = SIZE_MAX; /* stays, however many others there are */
        plan->device = device;
        plan->pool = i + 1;
        plan->lane.metric = METRIC_ID_GPU_MEMORY;
        plan->lane.name = strtab_add(&j->t->stacks.strings, text);
        free(text);
    }
}

void timeline_memory(struct timeline_job *j, struct lane_plan *plan, uint64_t bin)
{
    uint64_t last = UINT64_MAX;

    plan->lane.first = (uint32_t)j->t->points.n;
    for (size_t i = 0; i < j->memory.steps.n; i++) {
        const struct gpu_memory_step *s = &j->memory.steps.a[i];

        if (s->pool == plan->pool - 1)
            timeline_point(j, job_time(j, s->ts), s->used, bin, &last);
    }
    plan->lane.n = (uint32_t)j->t->points.n - plan->lane.first;
    if (plan->lane.n)
        plan->lane.from = j->t->points.a[plan->lane.first].ts;
    plan->lane.to = j->t->end;
}
