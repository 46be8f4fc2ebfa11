/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/metrics_series.h"

#include "model/store_visit.h"

void metrics_out_init(struct metrics_out *o, struct store *s)
{
    *o = (struct metrics_out){.store = s};
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        o->names[id] = strtab_add(&s->strings, metrics_get((enum metric_id)id)->name);
}

void metrics_out_ids(struct metrics_out *o, struct store_visit *v)
{
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        store_visit_string(v, &o->names[id]);
}

static void put(struct metrics_out *o, struct metrics_key key, uint64_t ts, uint64_t dur, uint64_t value)
{
    *vec_push(&o->store->events) = (struct event){.ts = ts,
                                                  .dur = dur,
                                                  .value = value,
                                                  .task = key.task,
                                                  .metric = o->names[key.id],
                                                  .cpu = key.cpu,
                                                  .kind = EVENT_METRIC};
    o->events++;
}

void metrics_begin(struct metrics_series *s, uint64_t ts, uint64_t value)
{
    *s = (struct metrics_series){value, ts, ts, 1};
}

void metrics_count(struct metrics_out *o, struct metrics_series *s, struct metrics_key key, uint64_t ts,
                   uint64_t value)
{
    if (!s->known) {
        metrics_begin(s, ts, value);
        return;
    }
    ts = ts > s->at ? ts : s->at; /* of a moment before the last reading, and only read now */
    if (value <= s->value) {
        s->value = value;
        s->at = ts;
        return;
    }
    if (s->at > s->from)
        put(o, key, s->from, s->at - s->from, 0);
    put(o, key, s->at, ts - s->at, value - s->value);
    metrics_begin(s, ts, value);
}

void metrics_level(struct metrics_out *o, struct metrics_series *s, struct metrics_key key, uint64_t ts,
                   uint64_t value)
{
    if (o->gated && key.task)
        return;
    if (!s->known || s->value != value)
        put(o, key, ts, 0, value);
    metrics_begin(s, ts, value);
}

void metrics_end(struct metrics_out *o, struct metrics_series *s, struct metrics_key key)
{
    if (s->known && s->at > s->from && metrics_get(key.id)->kind == METRIC_COUNTER)
        put(o, key, s->from, s->at - s->from, 0);
    s->known = 0;
}
