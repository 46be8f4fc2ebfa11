/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline view: what each thread did when, what was measured, what was marked; over one clock. Times are
 * ns since the session's start. Renderers and exporters see nothing else.
 */
#ifndef WPROF_MODEL_TIMELINE_H
#define WPROF_MODEL_TIMELINE_H

#include "base/vec.h"
#include "model/metrics.h"
#include "model/profile.h"
#include "model/waits.h"

#include <stdint.h>

/* What a thread is doing. */
enum timeline_state {
    TIMELINE_RUNNING,
    TIMELINE_RUNNABLE,  /* was woken, waits for a CPU */
    TIMELINE_PREEMPTED, /* the CPU was taken from it, or given away */
    TIMELINE_WAITING,   /* + enum wait_reason */
    TIMELINE_MARK = TIMELINE_WAITING + WAIT_OTHER + 1,
    TIMELINE_STATES,
};

/* The coarse states, whose shares a merged span has. */
enum timeline_class { TIMELINE_RUNS, TIMELINE_QUEUES, TIMELINE_WAITS, TIMELINE_CLASSES };

enum timeline_flag {
    TIMELINE_OPEN = 1, /* not over when the recording ended */
    TIMELINE_IRQ = 2,  /* ended by an interrupt */
};

struct timeline_span {
    uint64_t start, end;
    uint32_t stack;       /* node of `stacks`: where it began; 0: none */
    uint32_t name;        /* string: what was waited for, the mark's text; 0: none */
    uint32_t waker;       /* index into tasks + 1: who ended it; 0: not known */
    uint32_t waker_stack; /* node of `stacks`, 0: none */
    uint32_t merged;      /* how many this stands for, where they were too short to show; 0: it is one */
    uint16_t depth; /* row in the lane: threads: 0 what the scheduler did, 1 waits for the GIL; marks: as it
                       takes */
    uint8_t state, flags;
    uint8_t share[TIMELINE_CLASSES]; /* of a merged one: parts of 255 */
};

/* A moment when a thread was seen on CPU. */
struct timeline_tick {
    uint64_t ts;
    uint32_t stack;
    uint32_t n; /* samples it stands for */
};

/* A metric's value from here on; counters as their increase per second. */
struct timeline_point {
    uint64_t ts, value;
};

struct timeline_task {
    uint32_t pid, tid; /* in wprof's own pid namespace */
    uint32_t name;     /* string */
    uint32_t process;  /* index into processes */
    uint32_t lane;     /* index + 1; 0: it has none */
};

struct timeline_process {
    uint32_t pid, name; /* number 0 is the machine, pid 0 */
};

enum timeline_lane_kind { TIMELINE_THREAD, TIMELINE_METRIC, TIMELINE_MARKS };

struct timeline_lane {
    uint16_t depth; /* rows of spans */
    uint8_t kind;
    uint32_t process;         /* index */
    uint32_t task;            /* index + 1; of threads */
    uint8_t metric;           /* enum metric_id; 0: one without a unit */
    uint32_t name;            /* string: the thread's, the metric's; of marks 0 */
    uint32_t first, n;        /* of spans, or of points */
    uint32_t tick, nticks;    /* of ticks */
    uint64_t from, to;        /* when the thread was there, the metric was measured */
    uint64_t short_n;         /* waits that were too short to be recorded apart ... */
    uint64_t short_wait_ns;   /* ... their sum ... */
    uint64_t short_queued_ns; /* ... and that of delays: both lie in what looks like running */
};

/* Lanes stand process by process: marks, threads, metrics. A lane's spans are sorted by depth, then time;
 * those of one depth do not overlap. */
struct timeline {
    struct profile stacks; /* strings, frames and nodes alone; node 0 is no stack */
    uint64_t end;
    uint64_t from, to; /* what is to be seen at first; to 0: all of it */
    VEC(struct timeline_process) processes;
    VEC(struct timeline_task) tasks;
    VEC(struct timeline_lane) lanes;
    VEC(struct timeline_span) spans;
    VEC(struct timeline_tick) ticks;
    VEC(struct timeline_point) points;
    int states;            /* switches were recorded: what is no wait and no delay is running */
    uint64_t resolution;   /* shorter spans are merged, 0: none is */
    uint64_t merged_spans; /* spans that are parts of merged ones */
    uint64_t merged_ticks; /* ticks that are counted in others */
    uint64_t left_lanes;   /* threads without a lane, for there are too many */
    uint64_t left_metrics; /* lanes of metrics that are left out, the same */
    uint64_t left_stacks;  /* spans and ticks whose stack was left out */
    uint64_t lost_spans;   /* lost while recording: they look like running */
};

void timeline_release(struct timeline *t);

/* Its waker is not who ended it, but who held the GIL that it waited for. */
static inline int timeline_held(const struct timeline_span *s)
{
    return s->state == TIMELINE_WAITING + WAIT_GIL && s->depth;
}

/* "running", "preempted", "futex" ... */
const char *timeline_state_name(unsigned state);
enum timeline_class timeline_class(unsigned state);

/* How a metric's lane is drawn; { 1, "" } of one without a unit. */
struct metric_scale timeline_scale(const struct timeline_lane *lane);

/* The innermost frame of a stack that is no kernel's, as profile_frame_label() puts it; else the innermost.
 * Nothing for 0. */
void timeline_place(const struct timeline *t, uint32_t stack, struct buf *out);

#endif
