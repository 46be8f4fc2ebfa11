/* SPDX-License-Identifier: Apache-2.0 */
/* Perf's samples in a store, whichever way they came: as text, or as perf.data. The root of a stack is the
 * comm of its thread, as others fold perf's samples; threads are those of their process otherwise. Of several
 * events one is taken. */
#ifndef WPROF_EXCHANGE_PERF_SAMPLES_H
#define WPROF_EXCHANGE_PERF_SAMPLES_H

#include "base/buf.h"
#include "base/map.h"
#include "exchange/import/import.h"
#include "exchange/import/tokens.h"
#include "model/session.h"
#include "model/store.h"

/* Whose a sample is, as far as it was told. */
struct perf_who {
    uint64_t pid, tid;
    int pid_told;
};

struct perf_samples {
    struct store *s;
    struct meta *m;
    struct import_stats *st;
    struct tokens tasks;   /* "comm pid/tid" -> task id */
    struct map leaders;    /* pid -> id of the task that leads it, its latest */
    struct map unseen;     /* ids of leaders that have had no sample: called as the thread that came first */
    uint32_t event;        /* strtab: the one that is taken; 0: none yet */
    struct buf event_name; /* the same, or what was asked for */
    struct strtab others;  /* the names of those that are left out */
};

/* Of perf.data, or printed with perf script's --show-*-events. */
#define PERF_SAMPLES_RECORD "record that says nothing of stacks|records that say nothing of stacks"

/* asked: the name of the event that is wanted; NULL: any. */
void perf_samples_init(struct perf_samples *x, struct store *s, struct meta *m, struct import_stats *st,
                       const char *asked);
void perf_samples_release(struct perf_samples *x);

/* The length of an event's name without its modifiers: "cycles:u" is cycles, "sched:sched_switch" all of it.
 */
size_t perf_event_bare(const char *name, size_t n);

/* The task of a sample. who: "comm pid/tid", what tells tasks apart, with TOKENS_PAD readable bytes behind
 * it; a space in the comm becomes '_'. */
uint32_t perf_samples_task(struct perf_samples *x, const char *who, size_t who_n, size_t comm_n,
                           const struct perf_who *ids);

/* One sample more. */
void perf_samples_add(struct perf_samples *x, const struct event *sample);

/* So many samples of another event than the one that is taken. */
void perf_samples_other(struct perf_samples *x, const char *event, size_t n, uint64_t count);

/* What is known at the end: the event, what else there was. -1 with `e`: there was no sample. expected: what
 * would have been one. */
int perf_samples_describe(struct perf_samples *x, const char *expected, struct err *e);

#endif
