/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow steps or requests of a kind against the typical ones: how their times are distributed, and what
 * those at the upper end spend more time in than those in the middle.
 */
#ifndef WPROF_ANALYZE_UNIT_SLOW_H
#define WPROF_ANALYZE_UNIT_SLOW_H

#include "analyze/places.h"
#include "analyze/unit_time.h"
#include "model/comparison.h"

/* Times of those that are over, ns; quantiles by nearest rank, the median as steps_median() has it. */
struct unit_figures {
    size_t n, open; /* open: begun and not over, in no figure */
    size_t slow;    /* half as long again as the median, or more */
    uint64_t sum, mean, median, p95, p99, max;
};

void unit_figures(struct unit_figures *f, const struct units *u, const struct units_choice *choice);

/* A side of the comparison: sums over its units. */
struct unit_side {
    VEC(size_t) units; /* indices into the list of all */
    uint64_t ns, queued, gpu_idle;
    uint64_t cause[UNIT_CAUSES];
    struct map stacks; /* cause << 32 | stack -> ns */
    struct map tasks;  /* cause << 32 | task -> ns */
};

struct unit_slow {
    struct unit_figures figures;
    double quantile;   /* the slow ones are those from there on: 0.95 */
    uint64_t from, to; /* lengths between which the typical ones lie: the quartiles */
    uint64_t slow;     /* length of the shortest slow one; 0: none takes half as long again as the median */
    int gpu;           /* there are devices */
    struct unit_side side[COMPARISON_SIDES]; /* COMPARISON_BASE: typical, COMPARISON_NEW: slow */
    unsigned order[UNIT_CAUSES];             /* causes that there are, the one that grew most first */
    size_t ncauses;
};

/* 1; 0: there are too few, or none is slow, and all but the figures is empty. Release it in any case. */
int unit_slow_init(struct unit_slow *x, const struct session *s, const struct units *u,
                   const struct units_choice *choice);
void unit_slow_release(struct unit_slow *x);

double unit_slow_each(const struct unit_slow *x, int side, uint64_t sum); /* of a sum, for one unit */
double unit_slow_more(const struct unit_slow *x,
                      unsigned cause);           /* ns, of one slow unit beside a typical one */
double unit_slow_all(const struct unit_slow *x); /* the same of all its time */

/* Slow ones compute so much more that they wait for CPUs more, too, as whoever computes does on a machine
 * that others use: that follows, and is no cause. */
int unit_slow_queue_follows(const struct unit_slow *x);
/* What a cause is to blame for: its own growth, with what follows. */
double unit_slow_blame(const struct unit_slow *x, unsigned cause);

/* Where most of a cause's time was in the slow ones: a node of the places; 0: nothing tells. */
uint32_t unit_slow_place(const struct unit_slow *x, const struct places *p, unsigned cause, uint32_t *line);

/* The thread with most of it; 0: none is known. */
uint32_t unit_slow_task(const struct unit_slow *x, unsigned cause);

/* As a differential profile, by cause, then stack: `out` is zeroed, with a tree and names alone. kind:
 * "request". */
void unit_slow_compare(const struct unit_slow *x, const struct session *s, const char *kind,
                       struct comparison *out);

#endif
