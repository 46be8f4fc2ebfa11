/* SPDX-License-Identifier: Apache-2.0 */
/* Who used the CPUs: processes by the name of their program, all of one name together. */
#ifndef WPROF_ANALYZE_PROGRAMS_H
#define WPROF_ANALYZE_PROGRAMS_H

#include "analyze/metrics_sums.h"
#include "base/buf.h"

struct program {
    uint32_t comm; /* string of the store */
    size_t processes;
    uint64_t cpu_ns, delay_ns, samples; /* delay_ns: run queue */
    uint64_t faults;                    /* minor ones */
};

struct programs {
    VEC(struct program) list; /* the most CPU time first */
    uint64_t cpu_ns, delay_ns, faults;
};

void programs_init(struct programs *p, const struct session *s, const struct metrics_sums *sums);
void programs_release(struct programs *p);

/* What a task's process is called: a string of the store; 0: not known. */
uint32_t programs_comm(const struct store *s, uint32_t task);

/* The whole machine was recorded, not processes of it. */
int programs_of_machine(const struct meta *m);

enum programs_by { PROGRAMS_DELAY, PROGRAMS_FAULTS };

/* "cc1 (39 processes) 65.2 %, sh 20.1 %": those with most of it, three at the most and none with less than a
 * tenth. Appended; nothing where it was not measured. */
void programs_name(const struct programs *p, const struct store *s, enum programs_by by, struct buf *out);

#endif
