/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of wprof report: one line each in rules.def, the evaluation in rules/. A rule looks at what
 * struct rule_data holds and adds findings, or says what it lacks. wprof-rules(7) is made of the same table.
 */
#ifndef WPROF_ANALYZE_RULE_H
#define WPROF_ANALYZE_RULE_H

#include "analyze/gpu_figures.h"
#include "analyze/gpu_host.h"
#include "analyze/gpu_trace.h"
#include "analyze/lead_running.h"
#include "analyze/metrics_sums.h"
#include "analyze/places.h"
#include "analyze/units.h"
#include "analyze/wake_chain.h"
#include "base/err.h"
#include "model/findings.h"
#include "model/graph.h"
#include "model/session.h"

/* What a rule needs, bits; a rule whose needs are not met isn't evaluated. */
enum {
    NEED_SAMPLES = 1,        /* of time on the CPU */
    NEED_OFFCPU = 2,         /* waits, with their reasons */
    NEED_LEAD = 4,           /* a main thread, whose time is the wall time */
    NEED_METRICS = 8,        /* once a second */
    NEED_MARKS = 16,         /* steps or requests */
    NEED_TOPOLOGY = 32,      /* a graph */
    NEED_GPU = 64,           /* what an accelerator did: kernels, copies, calls */
    NEED_NVML = 128,         /* an accelerator's clocks, power, memory over time */
    NEED_RANKS = 256,        /* sessions of several ranks of one run */
    NEED_LLC = 512,          /* reads of the last cache and its misses */
    NEED_CUDA_FRAMES = 1024, /* stacks with CUDA: frames, as AIProf's have them */
    NEED_GIL = 2048,         /* waits for Python's GIL */
};

/* What the rules look at; made once for all of them. */
struct rule_data {
    const struct session *s;
    const struct graph *topology; /* NULL: there is none */
    unsigned has;                 /* NEED_ bits */
    struct lead lead;             /* whose time is the wall time: one thread's, or some that work */
    struct lead_running running;  /* when these were on a CPU */
    uint64_t start, wall_ns;      /* of the recording: CLOCK_MONOTONIC; 0: no times */
    uint64_t period_ns;           /* of CPU time that a sample stands for; 0: not known */
    struct metrics_sums sums;
    struct units units;
    uint32_t step_kind; /* string of units: their main kind; 0: none */
    struct places places;
    struct gpu_trace *gpu;       /* ran.n 0: nothing ran on an accelerator */
    struct gpu_figures *figures; /* one a device of `gpu` */
    struct gpu_host *host;       /* made by whoever needs it first: s NULL until then */
    struct wake_chain *chain;    /* has a budget, which each use lessens */
};

struct rule_run; /* one rule being evaluated: what the functions below take */

struct rule {
    const char *id, *title, *why, *thresholds; /* thresholds: "share=20% seconds=10" */
    unsigned row, needs;
    void (*check)(struct rule_run *r, const struct rule_data *d);
};

extern const struct rule rules[];
extern const size_t nrules;

const struct rule *rule_find(const char *id); /* NULL: none */
const char *rule_need_name(unsigned bit);     /* "gpu" */
const char *rule_need_help(unsigned bit);     /* "what an accelerator did: ..." */

/* ---- settings ---- */

struct rule_value {
    char *name; /* "gil-wait.share" */
    double value;
};

/* A rule of the user's: frames that match the pattern, from a share of CPU time on. */
struct rule_own {
    char *name, *pattern, *advice;
    double share;
};

struct rule_settings {
    VEC(struct rule_value) values;
    VEC(struct rule_own) own;
    VEC(const char *) only; /* ids; none: all */
};

void rule_settings_release(struct rule_settings *x);
/* "rule.threshold", "25%" | "2.5" | "10ms"; or "own.NAME", "PATTERN > SHARE : ADVICE". -1 with `e`: no such
 * rule or threshold, no value. The later one wins. */
int rule_set(struct rule_settings *x, const char *name, const char *value, struct err *e);
/* Only this rule, and others chosen so; "own.NAME", too. -1 with `e`. */
int rule_only(struct rule_settings *x, const char *id, struct err *e);
double rule_setting(const struct rule_settings *x, const struct rule *rule, const char *threshold);
/* The number and its unit, as the table has it: "20 %", "10 ms", "25". */
char *rule_spell(char *out, size_t n, const struct rule *rule, const char *threshold, double value);
/* The thresholds' names in the order of the table; 0 past the last. */
size_t rule_threshold_name(const struct rule *rule, size_t i, char *name, size_t n);

/* ---- what checks do ---- */

double rule_threshold(const struct rule_run *r, const char *name); /* shares 0..1, times in seconds */
struct finding *rule_found(struct rule_run *r);                    /* valid until the next one */
void rule_not_checked(struct rule_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rule_note(struct rule_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* detail of a clean one */

/* Evaluates all of them (or those chosen) into `f`, which is zeroed by the caller, and settles it. topology:
 * borrowed, NULL: none. */
void rules_run(struct findings *f, const struct session *s, const struct graph *topology,
               const struct rule_settings *set);

#endif
