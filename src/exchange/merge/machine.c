/* SPDX-License-Identifier: Apache-2.0 */
/* What several recordings have measured of one machine at a time is there once. */
#include "base/hash.h"
#include "exchange/merge/ids.h"
#include "model/metrics.h"

#include <stdlib.h>
#include <string.h>

static struct merge_series *series_of(struct merge *m, const struct event *ev)
{
    uint64_t *at = map_put(&m->machines, hash_mix((uint64_t)ev->task << 32 | ev->metric, ev->cpu));

    if (!*at) {
        *vec_push(&m->series) = (struct merge_series){0};
        *at = m->series.n;
    }
    return &m->series.a[*at - 1];
}

int merge_machine_keep(struct merge *m, const struct merge_part *p, const struct event *ev)
{
    struct merge_series *s = series_of(m, ev);
    size_t part = (size_t)(p - m->parts.a);
    uint64_t end = ev->ts + ev->dur, middle = ev->ts + ev->dur / 2;
    struct merge_read *last;

    for (size_t i = 0; i < s->list.n; i++) {
        const struct merge_read *r = &s->list.a[i];

        if (r->part != part && middle >= r->from && middle <= r->to) {
            m->left.readings++;
            return 0;
        }
    }
    last = s->list.n ? &s->list.a[s->list.n - 1] : NULL;
    if (!last || last->part != part) {
        *vec_push(&s->list) = (struct merge_read){ev->ts, end, part};
        return 1;
    }
    last->from = ev->ts < last->from ? ev->ts : last->from;
    last->to = end > last->to ? end : last->to;
    return 1;
}

/* What a session tells of a control group is of the task that the first one of that group told it of. */
void merge_groups_add(struct merge_ids *x, struct map *of)
{
    static const char prefix[] = METRICS_GROUP_COUNTER;

    for (size_t i = 0; i < x->from->counters.n && !x->from->origins.list.n; i++) {
        const char *name = strtab_get(&x->from->strings, x->from->counters.a[i].name);
        uint32_t task;
        uint64_t *at;

        if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
            continue;
        task = (uint32_t)strtoul(name + sizeof(prefix) - 1, NULL, 10);
        at = map_put(&x->m->groups, hash_mix(x->from->counters.a[i].value, x->part->domain));
        *at = *at ? *at : merge_task(x, task);
        *map_put(of, task) = *at;
    }
}

void merge_machine_release(struct merge *m)
{
    for (size_t i = 0; i < m->series.n; i++)
        vec_release(&m->series.a[i].list);
    vec_release(&m->series);
    map_release(&m->machines);
    map_release(&m->groups);
}
