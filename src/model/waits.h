/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a blocked span waited for and who ended it: the side table at `attr` of EVENT_OFFCPU events (and of
 * EVENT_GIL, whose waker is the holder). Equal waits have one id.
 */
#ifndef WPROF_MODEL_WAITS_H
#define WPROF_MODEL_WAITS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/event.h"

#include <stdint.h>

enum wait_reason {
    WAIT_UNKNOWN,
    WAIT_SLEEP, /* nanosleep, timers */
    WAIT_DISK,  /* uninterruptible: storage */
    WAIT_FUTEX, /* mutex, condition variable, semaphore */
    WAIT_POLL,  /* poll, select, epoll */
    WAIT_PIPE,
    WAIT_SOCKET,
    WAIT_FAULT, /* page fault */
    WAIT_LOCK,  /* a lock inside the kernel, file locks */
    WAIT_CHILD, /* waitpid and its kin */
    WAIT_GIL,
    WAIT_OTHER, /* a system call that is none of these; `what` names it */
};

const char *waits_reason(unsigned reason); /* "futex"; "unknown" for numbers beyond */
const char *
waits_state(unsigned reason); /* what a thread is then, for people: "asleep", "waiting for a disk" */

struct wait {
    uint32_t waker_task;  /* task id; 0: unknown, or an interrupt; with irq: who sent what that brought */
    uint32_t waker_stack; /* stack id, root first; 0: none */
    uint32_t what;  /* strtab: "futex 0x7f..", "pipe:[123] <- python3[42]", "waitpid 17"; 0: not named */
    uint8_t reason; /* enum wait_reason */
    uint8_t irq;    /* 1: woken from hard or soft interrupt context: [irq] */
    uint16_t pad;
};

struct waits {
    VEC(struct wait) list; /* wait id is index + 1 */
    struct index index;
};

void waits_release(struct waits *w);
uint32_t waits_add(struct waits *w, const struct wait *key); /* finds or adds; identity: all fields */

static inline const struct wait *waits_get(const struct waits *w, uint32_t id)
{
    return id && id <= w->list.n ? &w->list.a[id - 1] : NULL;
}

/* What stands below where threads waited for the GIL, in profiles, above who held it and where; and for one
 * that is not known. */
#define WAIT_HELD_BY    "[held by]"
#define WAIT_BY_UNKNOWN "[unknown]"

/* Of an event that is a wait. NULL: nothing is known of it, as of a sum of short ones, which many have ended.
 */
static inline const struct wait *waits_of_event(const struct waits *w, const struct event *ev)
{
    return ev->flags & EVENT_SHORT ? NULL : waits_get(w, ev->attr);
}

/* Of a wait, which may be NULL; numbers beyond those we know are unknown. */
static inline unsigned wait_reason_of(const struct wait *w)
{
    return w && w->reason <= WAIT_OTHER ? w->reason : WAIT_UNKNOWN;
}

#endif
