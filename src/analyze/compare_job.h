/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a comparison share. */
#ifndef WPROF_ANALYZE_COMPARE_JOB_H
#define WPROF_ANALYZE_COMPARE_JOB_H

#include "analyze/compare.h"
#include "base/buf.h"
#include "base/map.h"
#include "model/stacks.h"
#include "model/strtab.h"

/* A frame by what it is called, whatever its address, line or build. */
struct compare_key {
    uint32_t name, module; /* strings of the job's; Python: module is the file */
    uint8_t kind;
    uint8_t on;     /* sides that have it: bits */
    uint32_t group; /* of modules; 0: none */
    uint32_t twin;  /* the key on the other side that it was matched with: it has moved; 0: none */
};

/* A figure of one run. */
struct compare_measure {
    uint32_t name; /* string of the job's */
    enum comparison_unit unit;
    int total;
    double value;
    size_t first, n; /* its parts in `parts`, by time: the lengths of steps */
};

/* What has no stack but a name, of one run. */
struct compare_named {
    uint32_t name; /* string of the job's */
    uint64_t ns, times;
};

enum { COMPARE_NAMED_LEVELS = 2 }; /* kernels, operators */

/* What asked for kernels, each below the one outside of it; calls of the runtime's API are left out. */
struct compare_asker {
    uint32_t up;   /* index + 1; 0: none */
    uint32_t name; /* string of the job's */
};

/* Kernels of one name that were asked for from one place. */
struct compare_asked {
    uint32_t by; /* index of the asker + 1; 0: not known */
    uint32_t kernel;
    uint64_t ns;
};

/* Where a run's steps begin; none: it has too few. */
struct compare_steps {
    VEC(uint64_t) starts; /* CLOCK_MONOTONIC ns, rising */
};

/* Time of what has a name, by slices of one run. */
struct compare_slices {
    size_t n;     /* 0: too little ran */
    size_t steps; /* made of so many; 0: of time, from `from` on for ns */
    uint64_t from, ns;
    double *value;  /* name * n + slice: ns */
    double *weight; /* by slice: of all names */
};

/* What a run's recording says of how it was made, as far as it does. */
enum {
    COMPARE_SEEN_TIER,
    COMPARE_SEEN_EVENT,
    COMPARE_SEEN_RATE,
    COMPARE_SEEN_COLLECTORS,
    COMPARE_SEEN,
};

struct compare_run {
    int side;
    char *label, *program; /* program: the file that the command ran; NULL: not told */
    struct profile p;
    uint32_t *key; /* profile frame -> key id; [0] 0 */
    uint64_t sum;  /* of the metric */
    double per;    /* what it is divided by */
    double scale;  /* of a sample: ns, or 1 */
    double weight; /* what one sample counts in `sum`: its period where it was imported with one, else 1; 0:
                    * it was measured, not sampled */
    uint64_t ns;   /* how long it took; 0: not known */
    VEC(struct compare_measure) measures;
    struct {
        VEC(struct compare_named) list;
        struct compare_slices *slices; /* by place in the list; NULL: there are several runs a side */
    } named[COMPARE_NAMED_LEVELS];
    VEC(struct compare_asker) askers;
    VEC(struct compare_asked) asked;
    VEC(double) parts;
    struct graph *topology;   /* of the program; NULL: none */
    char *process;            /* how its process is called there; NULL: not known */
    char *session_id;         /* NULL: it is none */
    char *seen[COMPARE_SEEN]; /* in words; NULL: not told */
    double frameless;         /* the share of `sum` in stacks without a frame to compare */
    int failed;      /* how its command ended, where that was no success; 0: it was, or is not known */
    int whole;       /* it was recorded until its command ended */
    double nameless; /* in those with code of the recorded program that has no name */
};

struct compare {
    struct compare_opts o;
    struct strtab strings;
    VEC(struct compare_key) keys; /* id is index + 1 */
    struct index key_of;          /* by name, module and kind */
    struct strtab modules;
    VEC(struct compare_run) runs; /* those of the base side first, once all are there */
    size_t n[COMPARISON_SIDES];
    struct comparison *out;
    double freedom; /* runs on both sides - 2 */
    int same_clock; /* a sample is of the same time in every run */
};

/* The value of a count of a run is count * scale / per. */
struct compare_divisor {
    uint64_t sum; /* of everything */
    double per, scale, weight;
};

/* Rows before they are tested: counts[row * runs + run]. */
struct compare_rows {
    enum comparison_level level;
    size_t n, runs;
    uint64_t *counts;
    const uint32_t *of; /* key -> row + 1; 0: none. NULL: not made of keys */
    int self;
    int samples;                   /* what is counted varies as samples do; else it is time */
    enum comparison_unit unit;     /* of the values */
    struct compare_divisor *whole; /* of each run */
    const struct compare_slices *slices[COMPARISON_SIDES]; /* of one run a side, what has names; else NULL */
    const uint32_t *name[COMPARISON_SIDES];                /* row -> its name in these + 1; 0: none */
};

/* compare_names.c: the name and module that frames are matched by. */
void compare_frame_name(const struct profile *p, uint32_t frame, struct buf *name, struct buf *module);
void compare_take_keys(struct compare *c, struct compare_run *run);
void compare_take_program(struct compare_run *run, const struct session *s);
void compare_match_moved(struct compare *c);
/* Code of the recorded program that has no name; while runs are added. */
int compare_is_nameless(const struct compare *c, uint32_t key);
uint32_t compare_key_of(const struct compare *c, const struct compare_run *run, uint32_t frame);
/* The same for rows: a module has what ran in it, so each sample is in its row of that run alone. */
uint32_t compare_row_key(const struct compare *c, const struct compare_rows *rows,
                         const struct compare_run *run, uint32_t frame);
void compare_key_label(const struct compare *c, uint32_t key, struct buf *out);

/* compare_tests.c: errors, p and q of those rows that are heavy enough, into values; share[row][side]. tested
 * says which. */
struct compare_tested {
    struct comparison_value *values;
    double *share; /* row * 2 + side: means over the runs */
    uint8_t *tested;
};
void compare_test(struct compare *c, const struct compare_rows *rows, struct compare_tested *t);
int compare_wanted(const struct compare *c, const char *name);

/* compare_blocks.c: for one run a side, the standard error of the value on that side of n of the rows, by
 * row; 0: not known. Gives the number of blocks; 0: nothing is known. */
size_t compare_block_errors(const struct compare *c, const struct compare_run *run,
                            const struct compare_rows *rows, const uint32_t *list, size_t n, double *error);

/* compare_slices.c: from and to: where what is to be added begins and ends. */
void compare_find_steps(struct compare_steps *steps, const struct session *s);
void compare_steps_release(struct compare_steps *steps);
struct compare_slices *compare_slices_new(const struct compare_steps *steps, size_t names, size_t events,
                                          uint64_t from, uint64_t to);
void compare_slices_free(struct compare_slices *x);
void compare_slices_add(struct compare_slices *x, const struct compare_steps *steps, size_t name, uint64_t ts,
                        uint64_t ns);
char *compare_slices_words(const struct compare_slices *base,
                           const struct compare_slices *new); /* how it is tested by them */

/* compare_rows.c, compare_tree.c, compare_named.c */
void compare_rows_init(struct compare *c, struct compare_rows *rows,
                       enum comparison_level level); /* of stacks */
void compare_rows_release(struct compare_rows *rows);
void compare_sort_rows(struct comparison *out, enum comparison_level level);
void compare_take_named(struct compare *c, struct compare_run *run, const struct session *s);
void compare_make_named(struct compare *c);
/* "ProfilerStep#1011" without the number: it is another one in each run. */
uint32_t compare_operator_name(struct compare *c, const char *name);
void compare_make_rows(struct compare *c);
void compare_make_tree(struct compare *c);
void compare_add_row(struct compare *c, const struct compare_rows *rows, const struct compare_tested *t,
                     size_t i, struct comparison_row *row);

/* compare_callers.c: of rows that may be other names for what was there before, who has them called, and
 * whether these take more time with them. Callers are numbers below `callers`; 0: nobody. */
struct compare_callers {
    double *inner[COMPARISON_SIDES]; /* by caller: to be filled in; what it takes with what is told for it */
    struct map pairs;                /* {row, caller} -> weight on the new side */
    uint8_t *alone;                  /* by row: of some of it there is no caller */
    size_t rows;
};
void compare_callers_init(struct compare_callers *x, size_t callers, size_t rows);
void compare_callers_add(struct compare_callers *x, size_t row, uint32_t caller, uint64_t weight);
/* By row: the caller who has most of it; 0: it is growth. Owned by the caller of this; releases x. */
uint32_t *compare_callers_find(struct compare_callers *x, double limit);
/* By how much callers may grow: so much of the base side's whole as the gate lets through. */
double compare_callers_limit(const struct compare *c, const struct compare_divisor *whole);

/* compare_asked.c: of rows that are kernels picked instead of others: who asked for them, a string; by row,
 * 0: they are none of these, or it takes longer with them. Owned by the caller. */
void compare_take_asked(struct compare *c, struct compare_run *run, const struct session *s,
                        const uint32_t *kernel_of); /* of each of the session's works; 0: it is none */
uint32_t *compare_find_instead(const struct compare *c, const struct compare_rows *rows,
                               const uint32_t *names, const uint64_t *times);
int compare_is_call(const char *function); /* of the API of an accelerator's runtime or driver */

/* compare_within.c: of rows that are new functions, whose callers do no more than before with them: the key
 * of the one that calls it most; by row, 0: it is none of these. Owned by the caller. */
uint32_t *compare_find_within(const struct compare *c, const struct compare_rows *rows,
                              const struct compare_tested *t, const uint32_t *names);

/* compare_figures.c */
void compare_take_figures(struct compare *c, struct compare_run *run, const struct session *s);
void compare_make_figures(struct compare *c);

/* compare_topology.c */
void compare_take_topology(struct compare_run *run, const struct session *s);
void compare_make_topology(struct compare *c);

/* compare_seen.c: notes where runs were not recorded alike; whether the gate's rows can be judged all the
 * same (0: `why` says it). */
void compare_take_seen(const struct compare *c, struct compare_run *run, const struct session *s);
void compare_release_seen(struct compare_run *run);
void compare_note_seen(struct compare *c);
int compare_sees_alike(const struct compare *c, struct buf *why);

/* compare_gate.c */
void compare_judge(struct compare *c);

#endif
