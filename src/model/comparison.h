/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The comparison view: runs of a program beside runs of another version of it. Renderers see nothing else.
 * What is compared stands in rows, a list of them for each level; a change is `new` minus `base`, so it is
 * above 0 where the new side takes more.
 */
#ifndef WPROF_MODEL_COMPARISON_H
#define WPROF_MODEL_COMPARISON_H

#include "base/vec.h"
#include "model/profile.h"

#include <stdint.h>

enum { COMPARISON_BASE, COMPARISON_NEW, COMPARISON_SIDES };

enum comparison_level {
    COMPARISON_FUNCTIONS,
    COMPARISON_STACKS,
    COMPARISON_MODULES,
    COMPARISON_PROCESSES,
    COMPARISON_KERNELS,   /* what ran on accelerators, by name: time there */
    COMPARISON_OPERATORS, /* a framework's operators, by name: time on the host */
    COMPARISON_LEVELS,
};

/* How numbers of a row or figure read. */
enum comparison_unit { COMPARISON_SHARE, COMPARISON_NS, COMPARISON_BYTES, COMPARISON_COUNT };

/* One quantity on both sides: means over the runs. */
struct comparison_value {
    double base, new, change;
    double low, high; /* confidence interval of the change at 1 - alpha; NAN: not tested */
    double p, q;      /* NAN: not tested */
    int significant;  /* q <= alpha */
};

struct comparison_row {
    char *name, *module; /* module "": none. Stacks: the folded text */
    char *was;           /* where it is on the base side, if that is another module or name; NULL */
    char *within;     /* a new function that the base side had as a part, or a callee, of this one: no growth;
                         NULL */
    const char *kind; /* "python", "native" ...; "" */
    uint32_t frame;   /* of functions: the tree's frame; else 0 */
    struct comparison_value value;
    double cost;                       /* the change by the whole of the base side */
    uint64_t weight[COMPARISON_SIDES]; /* samples, or ns, in all runs together */
    uint64_t times[COMPARISON_SIDES];  /* how often it ran in them; 0: not counted */
};

/* Of a whole run: wall, CPU, steps ... */
struct comparison_figure {
    char *name;
    const char *method; /* how it was tested: "t test", "permutation" ...; "not tested: one run" */
    enum comparison_unit unit;
    int total;    /* a gate on the whole program looks at it */
    double *runs; /* of each run, those of the base side first */
    struct comparison_value value;
};

/* A figure of whole runs has another level from a commit on. */
struct comparison_step {
    char *figure, *commit; /* the first of the new level */
    double before, after, p;
};

struct comparison_side {
    const char *label; /* "base", "new" */
    VEC(char *) runs;  /* the sessions' paths */
    uint64_t weight;   /* samples, or ns, in all runs together */
    double per;        /* seconds, steps ... in all runs together; share: the weight */
};

/* Whether a gate holds. */
enum comparison_verdict {
    COMPARISON_NO_GATE,
    COMPARISON_PASSES,
    COMPARISON_FAILS,
    COMPARISON_NO_JUDGEMENT, /* nothing that could be judged */
};

struct comparison {
    struct comparison_side side[COMPARISON_SIDES];
    char *metric, *unit;                 /* "oncpu", "samples" */
    char *per;                           /* "sample", "second", "step", "100 (given)" */
    const char *what;                    /* "total" or "self" */
    char *method;                        /* a sentence: how functions were tested */
    const char *certainty;               /* "high", "medium", "low" */
    double alpha, min_share, fail_above; /* fail_above 0: no gate */
    double overdispersion;               /* variance found by that of independent samples; NAN: not known */
    struct {
        VEC(struct comparison_row) rows; /* those tested and those on one side alone; greatest change first */
        uint64_t tested, light;          /* different tests; rows below min_share, which are left out */
        uint64_t weight[COMPARISON_SIDES]; /* of everything, in all runs together */
        enum comparison_unit unit;         /* of the rows' values */
        char *method; /* a sentence: how these were tested, where that is not as the functions; else NULL */
    } level[COMPARISON_LEVELS];
    VEC(struct comparison_figure) figures;
    VEC(struct comparison_step) steps; /* of runs of several commits; else none */
    VEC(char *) notes;
    VEC(char *) topology; /* lines: "+ node Process(x)" */
    enum comparison_verdict verdict;
    char *because; /* a sentence on the verdict */
    /* Stacks of both sides as metrics "base" and "new": sums over the runs, as they were counted. Empty where
     * nobody asked for it. */
    struct profile tree;
};

void comparison_release(struct comparison *c);

/* What a row of it is: "function"; and several: "functions". */
const char *comparison_level_name(enum comparison_level level);
const char *comparison_level_names(enum comparison_level level);

#endif
