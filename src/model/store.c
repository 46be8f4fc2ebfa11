/* SPDX-License-Identifier: Apache-2.0 */
#include "model/store.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void store_release(struct store *s)
{
    strtab_release(&s->strings);
    frames_release(&s->frames);
    stacks_release(&s->stacks);
    tasks_release(&s->tasks);
    waits_release(&s->waits);
    gpu_works_release(&s->gpus);
    origins_release(&s->origins);
    vec_release(&s->events);
    event_kinds_release(&s->kinds);
    vec_release(&s->counters);
}

void store_replace_events(struct store *s, struct store *from)
{
    event_kinds_release(&s->kinds);
    vec_release(&s->events);
    vec_swap(&s->events, &from->events);
}

void store_set_counter(struct store *s, const char *name, uint64_t value)
{
    uint32_t id = strtab_add(&s->strings, name);

    for (size_t i = 0; i < s->counters.n; i++) {
        if (s->counters.a[i].name == id) {
            s->counters.a[i].value = value;
            return;
        }
    }
    *vec_push(&s->counters) = (struct counter){id, value};
}

uint64_t store_counter(const struct store *s, const char *name, uint64_t otherwise)
{
    for (size_t i = 0; i < s->counters.n; i++)
        if (!strcmp(strtab_get(&s->strings, s->counters.a[i].name), name))
            return s->counters.a[i].value;
    return otherwise;
}

struct moment {
    uint64_t ts;
    uint32_t event;
};

static int by_moment(const void *pa, const void *pb)
{
    const struct moment *a = pa, *b = pb;

    return a->ts != b->ts ? (a->ts < b->ts ? -1 : 1) : (a->event > b->event) - (a->event < b->event);
}

void store_by_time(const struct store *s, uint32_t *events, size_t n)
{
    struct moment *sorted;
    size_t i = 1;

    while (i < n && s->events.a[events[i - 1]].ts <= s->events.a[events[i]].ts)
        i++;
    if (i >= n)
        return;
    sorted = mem_alloc(n * sizeof(*sorted));
    for (i = 0; i < n; i++)
        sorted[i] = (struct moment){s->events.a[events[i]].ts, events[i]};
    qsort(sorted, n, sizeof(*sorted), by_moment);
    for (i = 0; i < n; i++)
        events[i] = sorted[i].event;
    free(sorted);
}
