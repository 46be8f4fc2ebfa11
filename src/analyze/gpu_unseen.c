/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_unseen.h"

#include <string.h>

static uint32_t leader_of(const struct store *s, uint32_t task)
{
    return task && task <= s->tasks.list.n ? s->tasks.list.a[task - 1].leader : 0;
}

/* Whether the process whose records were taken runs something there; 0: not known whose they were. */
static int is_of(const struct gpu_trace *t, const struct gpu_device *d, uint32_t process)
{
    for (uint32_t i = d->stream; i < d->stream + d->nstreams; i++)
        if (!process || !t->streams.a[i].process || t->streams.a[i].process == process)
            return 1;
    return 0;
}

/* The end of the last that ran and began before ts; ts, where that is later or there is none. */
static uint64_t last_end(const struct gpu_trace *t, const struct gpu_device *d, uint64_t ts)
{
    uint64_t last = 0;

    for (uint32_t i = d->first; i < d->first + d->n; i++) {
        const struct event *ev = gpu_event(t, &t->ran.a[i]);

        if (ev->ts < ts && ev->ts + ev->dur > last)
            last = ev->ts + ev->dur;
    }
    return last && last < ts ? last : ts;
}

void gpu_unseen_init(struct gpu_trace *t)
{
    store_each(t->s, i, 1 << EVENT_MARKER) {
        const struct event *ev = &t->s->events.a[i];

        if (strcmp(strtab_get(&t->s->strings, ev->metric), GPU_TAKEN_MARK))
            continue;
        for (size_t k = 0; k < t->devices.n; k++) {
            struct gpu_device *d = &t->devices.a[k];

            if (is_of(t, d, leader_of(t->s, ev->task)))
                gpu_ranges_add(&d->unseen, last_end(t, d, ev->ts), ev->ts + ev->dur);
        }
    }
    for (size_t k = 0; k < t->devices.n; k++)
        gpu_ranges_settle(&t->devices.a[k].unseen);
}

uint64_t gpu_unseen_until(const struct gpu_device *d, uint64_t from, uint64_t to)
{
    uint64_t until = from;

    for (size_t i = gpu_ranges_find(&d->unseen, from); i < d->unseen.list.n; i++) {
        if (d->unseen.list.a[i].start >= to)
            break;
        until = d->unseen.list.a[i].end;
    }
    return until < to ? until : to;
}

uint64_t gpu_unseen_lost(const struct store *s)
{
    return store_counter(s, "gpu.dropped", 0) + store_counter(s, "gpu.bad_times", 0);
}
