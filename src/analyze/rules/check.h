/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of rules.def share. Each is in a file by theme in this folder. */
#ifndef WPROF_ANALYZE_RULES_CHECK_H
#define WPROF_ANALYZE_RULES_CHECK_H

#include "analyze/rule.h"
#include "base/mem.h"
#include "base/units.h"

#include <string.h>

/* Who claims time before whom: what names a cause, what is a cause in general, what only says where. */
enum {
    RULE_WEIGHT_LAST = FINDING_ONLY_WHERE,
    RULE_WEIGHT_GENERAL = 4,
    RULE_WEIGHT = 8,
    RULE_WEIGHT_CAUSE = 12,
    RULE_WEIGHT_UNITS = 13
};

struct rule_run {
    const struct rule *rule;
    const struct rule_settings *set;
    struct findings *out;
    unsigned found;
    int not_checked;
    char *detail;
};

void rule_data_init(struct rule_data *d, const struct session *s, const struct graph *topology);
void rule_data_release(struct rule_data *d);
void rule_own_check(struct findings *f, const struct rule_own *own, const struct rule_data *d);

#define RULE(row, id, needs, thresholds, title, why, check)                                                  \
    void check(struct rule_run *r, const struct rule_data *d);
#include "analyze/rules.def"
#undef RULE

/* ---- texts ---- */

/* Room for the quantities of one sentence. */
struct words {
    char text[12][64];
    unsigned n;
};

const char *words_ns(struct words *w, uint64_t ns);
const char *words_share(struct words *w, double share);
const char *words_count(struct words *w, uint64_t n);

/* "1 wait", "3 waits" */
const char *words_plural(struct words *w, uint64_t n, const char *one);

/* ---- time of the main thread, or of those who work while it waits ---- */

/* "The main thread", "A worker"; within a sentence: "the main thread", "a worker". Static. */
const char *lead_noun(const struct rule_data *d);
const char *lead_noun_in(const struct rule_data *d);

/* The lane of a thread's claims; 0: there is one alone. */
uint32_t lead_lane(const struct rule_data *d, uint32_t thread);

/* Pieces of it, and what they are. */
struct lead_time {
    VEC(struct finding_claim) claims;
    uint64_t ns;                 /* waits and delays, and the time on a CPU that samples stand for */
    uint64_t wait_ns, sample_ns; /* parts of it */
    uint64_t longest;            /* of the waits and delays */
    size_t waits, samples;       /* waits: listed ones */
    uint64_t short_ns, short_n;  /* part of wait_ns: of those too short to be listed */
    struct place_time where;     /* by stack */
};

void lead_time_init(struct lead_time *t, const struct rule_data *d);
void lead_time_release(struct lead_time *t);
/* Adds the i-th of the lead's spans, the i-th of its samples. */
void lead_time_wait(struct lead_time *t, const struct rule_data *d, size_t i);
void lead_time_sample(struct lead_time *t, const struct rule_data *d, size_t i);
/* Adds the waits of a reason (or LEAD_SHORT_QUEUE) that were too short to be listed: some of the time between
 * the listed ones. */
void lead_time_short(struct lead_time *t, const struct rule_data *d, unsigned reason);
/* "3 waits", and how many of them were too short to be listed. */
const char *lead_time_waits(struct words *w, const struct lead_time *t);
/* Adds all waits and samples whose stack is among these (by stack id). */
void lead_time_stacks(struct lead_time *t, const struct rule_data *d, const uint8_t *stacks);
/* Samples alone, and of them those from `from` (CLOCK_MONOTONIC) on. */
void lead_time_samples(struct lead_time *t, const struct rule_data *d, const uint8_t *stacks, uint64_t from);

/* More than half of it is in stacks with one of these functions. */
int lead_time_mostly_in(const struct lead_time *t, const struct rule_data *d, const struct place_match *m,
                        size_t n);

/* Most of its waits, which are for a disk, are for data on the way there; and what to do about it. */
int lead_time_writes(const struct lead_time *t, const struct rule_data *d);
extern const char lead_writes_advice[];

double lead_time_share(const struct lead_time *t,
                       const struct rule_data *d); /* of the wall time; of several, of each one's */

/* When the imports that the program began with were over: CLOCK_MONOTONIC; its start, where there were none.
 */
uint64_t imports_over(const struct rule_data *d);

/* The finding claims it, on average where there are several; its process is the main thread's. */
void finding_of_lead(struct finding *x, const struct lead_time *t, const struct rule_data *d);

/* Of all findings: whose time those of several threads sum up. */
void lead_tell(struct findings *f, const struct rule_data *d);

/* Its line and stack are those of the node. */
void finding_at(struct finding *x, const struct rule_data *d, const struct place_time *t, uint32_t node);

/* The wait of a span of the lead; NULL: a delay, or nothing is known. */
const struct wait *lead_wait(const struct rule_data *d, const struct lead_span *x);
const struct event *lead_event(const struct rule_data *d, const struct lead_span *x);

/* Of a server that waits for requests only the time in which there are any costs anything: the other time
 * leaves what findings claim. */
void units_clip(struct findings *f, const struct rule_data *d);

/* CPUs that the recorded processes used on average; 0: not known. */
double cpus_used(const struct rule_data *d);

/* CPUs of the machine that anything used on average; what the recorded processes used where that was not
 * measured. */
double cpus_busy(const struct rule_data *d);

#endif
