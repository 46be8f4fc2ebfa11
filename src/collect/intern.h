/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From raw stacks to the store's: each part is a run of raw frames, put together innermost first; equal raw
 * stacks of one process image are resolved once and found by their hash after that.
 */
#ifndef WPROF_COLLECT_INTERN_H
#define WPROF_COLLECT_INTERN_H

#include "base/map.h"
#include "base/vec.h"
#include "model/store.h"
#include "unwind/modules.h"
#include "unwind/process.h"

#include <stdint.h>

struct raw_frame {
    uint8_t kind;   /* enum frame_kind */
    uint8_t exact;  /* native, kernel: addr is a pc, not a return address */
    uint32_t frame; /* Python, marker: the store's frame, already known */
    uint64_t addr;  /* native, kernel */
};

/* A frame of the stack that a process had last, outermost first, and the stack's id up to it. */
struct intern_step {
    struct raw_frame raw;
    uint32_t id;
};

enum { INTERN_LASTS = 16 }; /* processes whose last stack is kept; a power of two */

struct intern_last {
    uint64_t of; /* hash of the process and its epoch; 0: none */
    VEC(struct intern_step) steps;
};

struct intern {
    struct store *store;
    struct modules *modules; /* that the processes' mappings name */
    uint32_t kernel_module;
    struct map kernel; /* address -> frame */
    struct map memo;   /* hash of a raw stack -> stack id */
    struct intern_last last[INTERN_LASTS];
    VEC(struct raw_frame) raw; /* the one being put together, innermost first */
};

void intern_init(struct intern *n, struct store *s, struct modules *m); /* both are borrowed */
void intern_release(struct intern *n);

static inline void intern_begin(struct intern *n)
{
    vec_clear(&n->raw);
}

static inline struct raw_frame *intern_push(struct intern *n)
{
    return vec_push(&n->raw);
}

struct store_visit;
void intern_ids(struct intern *n, struct store_visit *v); /* model/store_visit.h */

/* A frame that is a text in brackets. */
uint32_t intern_marker(struct intern *n, const char *text);

/* The stack id of what was pushed. p: whose native addresses they are; NULL: there are none. */
uint32_t intern_end(struct intern *n, struct process *p);

#endif
