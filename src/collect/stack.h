/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's stack, from what the kernel's side sent to the store's stack id: finished, put together, named.
 */
#ifndef WPROF_COLLECT_STACK_H
#define WPROF_COLLECT_STACK_H

#include "collect/intern.h"
#include "collect/python.h"
#include "collect/runtime.h"
#include "collect/who.h"
#include "model/session.h"
#include "unwind/finish.h"
#include "unwind/py_merge.h"

#include <stdint.h>

enum { STACK_NATIVE = WIRE_NATIVE_MAX + FINISH_DEPTH };

struct stack_taker {
    struct intern intern;
    struct pythons pythons;
    struct track *track;
    uint32_t truncated, lost; /* marker frames; 0: not needed so far */
    uint64_t nostack;         /* samples whose user part was lost */
    uint64_t kernel_lost;     /* those whose kernel part could not be had */
    struct py_merge_stats merged;
    struct map memo; /* hash of what the kernel's side sent, walked whole -> struct taken */

    /* The sample at hand. */
    struct process *process;
    uint32_t n;
    struct walk_frame frames[STACK_NATIVE];
    struct py_native spans[STACK_NATIVE];
    struct py_slot slots[STACK_NATIVE + WIRE_PYTHON_MAX];
    uint64_t visited; /* the last pass of stack_taker_ids() */
};

void stack_taker_init(struct stack_taker *k, struct store *s, struct meta *m, struct bpfside *b,
                      struct track *t);
struct store_visit;
void stack_taker_ids(struct stack_taker *k,
                     struct store_visit *v); /* model/store_visit.h; more than once is fine */
void stack_taker_release(struct stack_taker *k);

/* The stack's id, and the EVENT_ flags in *flags. p NULL: a kernel thread. */
uint32_t stack_take(struct stack_taker *k, struct process *p, const struct wire_sample *s, uint16_t *flags);

#endif
