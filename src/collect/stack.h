/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's stack, from what the kernel's side sent to the store's stack id: finished, put together, named.
 */
#ifndef WPROF_COLLECT_STACK_H
#define WPROF_COLLECT_STACK_H

#include "collect/intern.h"
#include "collect/runtime.h"
#include "collect/who.h"
#include "model/session.h"
#include "unwind/finish.h"

#include <stdint.h>

struct stack_taker {
    struct intern intern;
    struct track *track;
    struct bpfside *bpf;
    struct meta *meta;
    uint32_t truncated, lost;                                 /* marker frames; 0: not needed so far */
    uint64_t nostack;                                         /* samples whose user part was lost */
    struct walk_frame frames[WIRE_NATIVE_MAX + FINISH_DEPTH]; /* of the sample at hand */
    uint32_t n;
};

void stack_taker_init(struct stack_taker *k, struct store *s, struct meta *m, struct bpfside *b,
                      struct track *t);
void stack_taker_release(struct stack_taker *k);

/* The stack's id, and the EVENT_ flags in *flags. p NULL: a kernel thread. */
uint32_t stack_take(struct stack_taker *k, struct process *p, const struct wire_sample *s, uint16_t *flags);

/* What happens to processes, as far as stacks are concerned. */
void stack_forked(struct stack_taker *k, struct process *child, const struct process *parent);
void stack_execed(struct stack_taker *k, struct process *p);
void stack_mapped(struct stack_taker *k, struct process *p, uint32_t file, const struct mapping *m);
void stack_pycode(struct stack_taker *k, const struct wire_pycode *r);

#endif
