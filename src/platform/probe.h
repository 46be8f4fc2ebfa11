/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be recorded here, what not, why, and what grants it: `wprof doctor`, and the words of a recording
 * that fails. Files are read (probe_facts.h), calls are really made (probe_calls.h), and what both mean is
 * said here; a number such as kernel.perf_event_paranoid is shown, never trusted.
 */
#ifndef WPROF_PLATFORM_PROBE_H
#define WPROF_PLATFORM_PROBE_H

#include "base/err.h"
#include "base/vec.h"
#include "platform/probe_calls.h"

enum probe_state {
    PROBE_OK,
    PROBE_LIMITED, /* works, but something is lost: `costs` says what */
    PROBE_NO,
    PROBE_UNKNOWN, /* could not be found out */
};

const char *probe_state_name(enum probe_state s); /* "ok", "limited", "no", "unknown" */

/* One thing that was looked at. Strings are owned. */
struct probe_item {
    const char *id; /* "kernel", "perf_events": static */
    enum probe_state state;
    char *seen;  /* never NULL */
    char *costs; /* what is lost by it; NULL: nothing */
    char
        *grant; /* the command that changes it, or in words what does; NULL: nothing to do, or nothing does */
};

/* A way to record. The state is what this machine allows; whether wprof has it is in_build. */
struct probe_tier {
    char letter;      /* 'A', 'B', 'C' */
    const char *name; /* static */
    int in_build;
    enum probe_state state;
    char *why; /* what it gives, or why it does not work; never NULL */
    char *grant;
};

enum { PROBE_TIERS = 3 };

struct probe {
    struct probe_calls calls;
    struct probe_tier tiers[PROBE_TIERS]; /* the best first */
    VEC(struct probe_item) items;
};

/*
 * Looks at this machine as this process sees it; root NULL. Or at the files in a copy of some machine's
 * /proc, /sys and so on under `root`, where the answers of its kernel are those in the file root/answers, and
 * unknown without. Makes a few dozen short-lived processes when root is NULL. Never fails.
 */
void probe_run(struct probe *p, const char *root);
void probe_release(struct probe *p);

/* The best tier that works here and that this build has; NULL: nothing can be recorded. */
const struct probe_tier *probe_best(const struct probe *p);

/* Appends an item; strings are taken over. */
void probe_add(struct probe *p, const struct probe_item *item);

/* What this build can do, of what it looks for (probe_build.def). */
enum probe_part {
#define PART(id, there) PROBE_PART_##id,
#include "platform/probe_build.def"
#undef PART
};
int probe_part(enum probe_part part);

/*
 * The message for a recording with tier A that the kernel refused with errnum while it did `what` ("load
 * BPF"): why, and what grants it, in doctor's words. Returns -1.
 */
int probe_explain(struct err *e, int errnum, const char *what);
/* Adds to `e`, for a recording with that tier: why it does not work here, if it doesn't, and what grants it.
 * Always -1. */
int probe_explain_tier(struct err *e, char letter);

#endif
