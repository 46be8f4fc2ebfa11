/* SPDX-License-Identifier: Apache-2.0 */
/* From readings to events: how model/metrics.h wants them. */
#ifndef WPROF_COLLECT_METRICS_SERIES_H
#define WPROF_COLLECT_METRICS_SERIES_H

#include "model/metrics.h"
#include "model/store.h"

#include <stdint.h>

/* Where the events go. */
struct metrics_out {
    struct store *store;
    uint32_t names[METRIC_IDS]; /* strtab */
    uint64_t events;
    int gated; /* the command is behind its gate: what it has is not its own yet, and levels of it are left
                  out */
};

void metrics_out_init(struct metrics_out *o, struct store *s);

struct store_visit;
void metrics_out_ids(struct metrics_out *o, struct store_visit *v); /* model/store_visit.h */

/* One metric of one thing. A run of intervals in which nothing was added becomes one event. */
struct metrics_series {
    uint64_t value; /* as it was last read */
    uint64_t from;  /* where the interval begins that no event stands for yet */
    uint64_t at;    /* when it was last read */
    uint8_t known;
};

/* Whose. */
struct metrics_key {
    enum metric_id id;
    uint32_t task;
    uint16_t cpu;
};

/* What is known to have begun with `value` at `ts`: a process that was born then has used nothing. */
void metrics_begin(struct metrics_series *s, uint64_t ts, uint64_t value);
/* A counter's reading: the first one, unless metrics_begin() came before, is what it began with. One that
 * fell back begins anew. */
void metrics_count(struct metrics_out *o, struct metrics_series *s, struct metrics_key key, uint64_t ts,
                   uint64_t value);
void metrics_level(struct metrics_out *o, struct metrics_series *s, struct metrics_key key, uint64_t ts,
                   uint64_t value);
/* No more readings come: a counter's last idle interval. */
void metrics_end(struct metrics_out *o, struct metrics_series *s, struct metrics_key key);

#endif
