/* SPDX-License-Identifier: Apache-2.0 */
/* What others did while the main thread waited for them. */
#ifndef WPROF_ANALYZE_RULES_CHASE_H
#define WPROF_ANALYZE_RULES_CHASE_H

#include "analyze/rules/check.h"

struct chase {
    struct place_time where; /* of those at the end of each chain */
    struct map by_task;      /* task id -> ns */
    uint64_t told;           /* ns of the waits for which a chain is known */
    uint64_t woken; /* ns of waits for which only who ended them is known, and where: it was not recorded */
    uint64_t asked; /* ns of all of them */
    uint64_t inferred;              /* part of told: nobody saw who ended the wait */
    uint64_t other_process;         /* part of told: it ended in another process */
    uint64_t state[WAIT_OTHER + 1]; /* part of told: blocked for that reason; the rest ran, or none knows */
};

void chase_init(struct chase *c, const struct rule_data *d);
void chase_release(struct chase *c);
void chase_wait(struct chase *c, const struct rule_data *d, size_t span); /* the main thread's */

/* Where that does not tell: the samples of the processes that the main thread's process started. */
void chase_children(struct chase *c, const struct rule_data *d);

/* How sure what it tells is. */
enum finding_certainty chase_certainty(const struct chase *c);

/* What those are called that did most of it; NULL: they are of several names. */
const char *chase_comm(const struct chase *c, const struct rule_data *d);

/* What most of them were: "asleep"; NULL: they ran, or this and that. Static. */
const char *chase_state(const struct chase *c);

/* "python3[12], python3[13]": those with a tenth of the time, or "20 of cc1". Gives how many. */
size_t chase_name(const struct chase *c, const struct rule_data *d, struct buf *out);

#endif
