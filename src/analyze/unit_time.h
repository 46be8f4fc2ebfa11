/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the time of a step or request went into, moment by moment: whoever worked on it, a thread that joined
 * it or else the one that began it, was on a CPU, or waited for one, or for the GIL, or was blocked; and
 * where it was blocked by another thread, what that one did meanwhile. So every ns of a unit has one cause,
 * also where units overlap.
 */
#ifndef WPROF_ANALYZE_UNIT_TIME_H
#define WPROF_ANALYZE_UNIT_TIME_H

#include "analyze/gpu_host.h"
#include "analyze/units.h"
#include "model/waits.h"

/* Blocked ones are UNIT_BLOCKED + enum wait_reason. */
enum {
    UNIT_RAN,     /* a thread that works on it was on a CPU */
    UNIT_OTHER,   /* another thread was, for which it waited */
    UNIT_GIL,     /* waiting for Python's GIL, itself or the thread that it waited for */
    UNIT_NO_CPU,  /* ready to run, itself or that thread */
    UNIT_CALLED,  /* in a call of a framework or the GPU's API: a trace alone tells no more */
    UNIT_UNSEEN,  /* nothing tells */
    UNIT_BLOCKED, /* itself or that thread, by nobody who is known */
    UNIT_CAUSES = UNIT_BLOCKED + WAIT_OTHER + 1,
};

const char *unit_cause_key(unsigned cause);  /* "gil", "blocked: disk": in JSON; static */
const char *unit_cause_name(unsigned cause); /* "waits for the GIL": for people; static */

struct unit_piece {
    unsigned cause;
    uint32_t
        task; /* whose doing it is: the GIL's holder, the thread that was waited for ... ; 0: not known */
    uint32_t stack; /* where that was; 0: not known */
    int queued;     /* before any thread took it up that others gave it to */
    uint64_t from, to;
};

typedef void (*unit_each)(void *arg, const struct unit_piece *p);

struct unit_time {
    const struct store *s;
    const struct units *u;
    struct gpu_host host;
    uint64_t left; /* pieces that may still be told, of all units together: chains of waits may be long */
};

/* Neither may change meanwhile. */
void unit_time_init(struct unit_time *t, const struct session *s, const struct units *u);
void unit_time_release(struct unit_time *t);

/* The pieces cover all of the unit's time, in order; what is beyond `left` is UNIT_UNSEEN. */
void unit_time_walk(struct unit_time *t, size_t unit, unit_each each, void *arg);

#endif
