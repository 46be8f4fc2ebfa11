/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that are blocked already when the recording begins: nobody sees them leave their CPU. The kernel's
 * side sends their registers and its own frames; the user's part is read from their memory, as long as they
 * stand still. With many of them that is spread over turns.
 */
#ifndef WPROF_COLLECT_OFFCPU_BEFORE_H
#define WPROF_COLLECT_OFFCPU_BEFORE_H

#include "collect/offcpu_pending.h"
#include "collect/trace.h"

/* The CPU time that looking may take: at the beginning, in each turn of 200 ms, and at the end. */
#define OFFCPU_BEFORE_FIRST_NS 50000000ull
#define OFFCPU_BEFORE_TURN_NS  20000000ull
#define OFFCPU_BEFORE_LAST_NS  500000000ull

struct offcpu_before {
    struct trace *trace;
    struct offcpu_threads *threads;
    VEC(uint32_t) tids; /* to be looked at: their pending record is a WIRE_BLOCKED_BEFORE */
    size_t next;        /* of those */
    struct buf record;
    struct py_stack *python; /* NULL, and the next two as well: nobody was looked at */
    struct py_process *memory;
    uint8_t *stack;
};

void offcpu_before_init(struct offcpu_before *b, struct trace *t, struct offcpu_threads *threads);
void offcpu_before_release(struct offcpu_before *b);

void offcpu_before_add(struct offcpu_before *b, uint32_t tid);

/* Looks at those that were added, until ns of CPU time are over; sets `before` of whoever has not moved. */
void offcpu_before_look(struct offcpu_before *b, uint64_t ns);

/* That wait has ended: 1 where its stack is known. */
int offcpu_before_end(struct offcpu_pending *p, uint16_t *flags);

#endif
