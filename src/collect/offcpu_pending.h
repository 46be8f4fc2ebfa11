/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a thread's span before it is over: the stack where it left its CPU, kept as it came (most
 * spans turn out short and need none), and who woke it.
 */
#ifndef WPROF_COLLECT_OFFCPU_PENDING_H
#define WPROF_COLLECT_OFFCPU_PENDING_H

#include <linux/types.h>

#include "base/buf.h"
#include "base/map.h"
#include "bpf/wire.h"

#include <stdint.h>

struct offcpu_waker {
    uint64_t ts; /* when it woke; 0: nobody */
    uint32_t task, stack;
    uint64_t kernel; /* hash of its kernel frames */
    uint8_t irq;
    uint8_t unwalked; /* only they are in stack, since the wait was short */
};

struct offcpu_pending {
    struct buf blocked; /* a struct wire_sample, of time head.ts; empty: none */
    struct offcpu_waker waker;
    uint32_t before; /* the stack that it was found with when the recording began; 0: none */
    uint16_t before_flags;
    uint32_t before_owner; /* of the mutex that it waited for then */
};

struct offcpu_threads {
    struct map by_tid; /* -> struct offcpu_pending * */
};

void offcpu_threads_release(struct offcpu_threads *t);
struct offcpu_pending *offcpu_pending_get(struct offcpu_threads *t, uint32_t tid);  /* made when new */
struct offcpu_pending *offcpu_pending_find(struct offcpu_threads *t, uint32_t tid); /* or NULL */
void offcpu_pending_drop(struct offcpu_threads *t, uint32_t tid);

/* Copies a record without its `skip` innermost kernel frames. */
void offcpu_copy(struct buf *to, const struct wire_sample *s, uint32_t skip);

#endif
