/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the metrics collector measures, and how its events are read. A counter's event stands for an interval:
 * ts .. ts + dur, value: the increase in it (dur 0: what was known late of the time before). A gauge's event
 * is a moment: dur 0, and the value holds until the next one; equal values are not repeated. The intervals of
 * one counter follow each other without a gap as long as it could be read: an event with value 0 is a
 * measured zero, no event is "not measured".
 */
#ifndef WPROF_MODEL_METRICS_H
#define WPROF_MODEL_METRICS_H

#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

enum metric_unit {
    METRIC_NS,
    METRIC_BYTES,
    METRIC_COUNT,
    METRIC_RATIO, /* in millionths */
    METRIC_HZ,
    METRIC_MILLIWATT,
    METRIC_CELSIUS,
};

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER };

/* Whose it may be: bits. */
enum {
    METRIC_MACHINE = 1, /* task 0 */
    METRIC_PROCESS = 2, /* task: the process's leader */
    METRIC_THREAD = 4,  /* task: the thread */
    METRIC_CPU = 8,     /* the event's cpu counts: one series for each */
    METRIC_GPU = 32,    /* with METRIC_CPU: the number is a GPU's, as NVML counts them */
    METRIC_CGROUP = 16, /* task: the leader of the first target in that control group */
};

enum metric_id {
    METRIC_NONE,
#define METRIC(id, name, title, unit, kind, of, what) METRIC_ID_##id,
#include "model/metrics.def"
#undef METRIC
    METRIC_IDS
};

struct metric {
    const char *name, *title, *what;
    uint8_t unit, kind, of;
};

#define METRIC_ANY_CPU 0xffff   /* an event's cpu: which one isn't known */
#define METRIC_MILLION 1000000u /* of METRIC_RATIO */

/* Of an id below METRIC_IDS and above METRIC_NONE. */
const struct metric *metrics_get(enum metric_id id);

/* METRIC_NONE: no metric of ours, of another recorder or a newer wprof. */
enum metric_id metrics_find(const char *name);

/* A counter of the store, with the id of the task that a control group's figures bear behind it: a number
 * that all recordings of one boot have for that group. */
#define METRICS_GROUP_COUNTER "metrics.cgroup."

/* "ns", "bytes", "count", "ratio", "Hz", "mW", "C". */
const char *metrics_unit_name(unsigned unit);

/* What the number of a series of METRIC_CPU is one of: "CPU". */
static inline const char *metrics_part(const struct metric *m)
{
    return m->of & METRIC_GPU ? "GPU" : "CPU";
}

/* What a counter's increase is as a rate: per second, in the counter's unit. 0 where dur is 0. */
double metrics_rate(const struct event *ev);

/* A value of a gauge, an amount, or with per_second a counter's rate, for people: "1.5 MiB/s", "75 %" (of a
 * CPU; of the time), "2.60 GHz". */
char *metrics_spell(char *out, size_t n, const struct metric *m, double value, int per_second);

/* The numbers that graphs show: value * factor, in `label`: "%", "bytes/s", "MHz". */
struct metric_scale {
    double factor;
    const char *label;
};
struct metric_scale metrics_scale(unsigned unit, int per_second);

#endif
