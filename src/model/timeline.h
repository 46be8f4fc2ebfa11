/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline view: what each thread did when, what was measured, what was marked; over one clock. Times are
 * ns since the session's start. Renderers and exporters see nothing else.
 */
#ifndef WPROF_MODEL_TIMELINE_H
#define WPROF_MODEL_TIMELINE_H

#include "base/vec.h"
#include "model/gpu.h"
#include "model/metrics.h"
#include "model/profile.h"
#include "model/waits.h"

#include <stdint.h>

/* Why a device was idle: what the thread did that asked for what ran next, for most of the time. */
enum timeline_idle {
    TIMELINE_IDLE_RAN,
    TIMELINE_IDLE_QUEUED,
    TIMELINE_IDLE_BLOCKED,
    TIMELINE_IDLE_GIL,
    TIMELINE_IDLE_CALLED, /* in some call: only a trace tells */
    TIMELINE_IDLE_UNSEEN,
    TIMELINE_IDLE_LAUNCH,  /* from the call that asks for it to its start */
    TIMELINE_IDLE_IN_TIME, /* it had asked before: the device waited for something of its own */
    TIMELINE_IDLE_CAUSES,
};

/* What a thread is doing, or a device. */
enum timeline_state {
    TIMELINE_RUNNING,
    TIMELINE_RUNNABLE,  /* was woken, waits for a CPU */
    TIMELINE_PREEMPTED, /* the CPU was taken from it, or given away */
    TIMELINE_WAITING,   /* + enum wait_reason */
    TIMELINE_MARK = TIMELINE_WAITING + WAIT_OTHER + 1,
    TIMELINE_KERNEL, /* from here on: GPUs and what is asked of them */
    TIMELINE_COMMUNICATION,
    TIMELINE_COPY,
    TIMELINE_CALL,
    TIMELINE_SYNC, /* in a call that waits for a device */
    TIMELINE_OPERATOR,
    TIMELINE_OVERHEAD,
    TIMELINE_IDLE, /* + enum timeline_idle */
    TIMELINE_STATES_END = TIMELINE_IDLE + TIMELINE_IDLE_CAUSES - 1,
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
    uint32_t launch;      /* index + 1 of the call that asked for it, on a device; 0: not shown */
    uint32_t work;        /* index + 1 into works: of devices and calls; 0: none */
    uint64_t correlation; /* what a call and what it asked for share; 0: none */
    uint16_t depth; /* row in the lane: threads: 0 what the scheduler did, 1 waits for the GIL; marks: as it
                       takes */
    uint8_t state, flags;
    uint8_t share[TIMELINE_CLASSES]; /* of a merged one: parts of 255; of lanes that are no thread's how much
                                        of its time something went on: parts of 65535, in the first two */
};

/* How much of a span was of one state: of those of devices, where it was of several. */
struct timeline_part {
    uint32_t span; /* index */
    uint8_t state;
    uint64_t ns;
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
    uint32_t pid, name; /* number 0 is the machine, pid 0; of a GPU its number, "GPU" or "rank 3 GPU" */
    int device;         /* it is a GPU */
};

/* Of a device: when it was idle, annotations as they showed on it, and each stream; what is too much at a
 * time for one row takes more. Of a thread: its calls, an inner one in the row below. */
enum timeline_lane_kind {
    TIMELINE_THREAD,
    TIMELINE_METRIC,
    TIMELINE_MARKS,
    TIMELINE_STREAM,
    TIMELINE_IDLING,
    TIMELINE_CALLS,
    TIMELINE_RANGES
};

struct timeline_lane {
    uint16_t depth; /* rows of spans */
    uint8_t kind;
    uint32_t process;         /* index */
    uint32_t task;            /* index + 1; of threads and calls */
    uint8_t metric;           /* enum metric_id; 0: one without a unit */
    uint32_t name;            /* string: the thread's, the metric's, "stream 7"; of marks 0 */
    uint32_t stream;          /* of streams: its number */
    uint32_t first, n;        /* of spans, or of points */
    uint32_t tick, nticks;    /* of ticks */
    uint64_t from, to;        /* when the thread was there, the metric was measured */
    uint64_t short_n;         /* waits that were too short to be recorded apart ... */
    uint64_t short_wait_ns;   /* ... their sum ... */
    uint64_t short_queued_ns; /* ... and that of delays: both lie in what looks like running */
};

/* Lanes stand process by process: marks, idle time, annotations, streams, threads with their calls, metrics.
 * A lane's spans are sorted by depth, then time; those of one depth do not overlap. */
struct timeline {
    struct profile stacks; /* strings, frames and nodes alone; node 0 is no stack */
    uint64_t end;
    uint64_t from, to; /* what is to be seen at first; to 0: all of it */
    VEC(struct timeline_process) processes;
    VEC(struct timeline_task) tasks;
    VEC(struct timeline_lane) lanes;
    VEC(struct timeline_span) spans;
    VEC(struct timeline_part) parts; /* by span */
    VEC(struct timeline_tick) ticks;
    VEC(struct timeline_point) points;
    VEC(struct gpu_work) works;    /* names are strings of `stacks` */
    int rank;                      /* of all devices, + 1; 0: none is told, or they differ */
    int many_ranks;                /* they differ */
    int states;                    /* switches were recorded: what is no wait and no delay is running */
    uint64_t resolution;           /* shorter spans are merged, 0: none is ... */
    uint64_t apart_from, apart_to; /* ... but those in here; apart_to 0: there is no such part */
    uint64_t merged_spans;         /* spans that are parts of merged ones */
    uint64_t merged_ticks;         /* ticks that are counted in others */
    uint64_t left_lanes;           /* threads without a lane, for there are too many */
    uint64_t left_metrics;         /* lanes of metrics that are left out, the same */
    uint64_t left_stacks;          /* spans and ticks whose stack was left out */
    uint64_t left_calls;           /* calls that are too deep within others to be shown */
    uint64_t lost_spans;           /* lost while recording: they look like running */
};

void timeline_release(struct timeline *t);

/* The parts of a span, how many; 0: it is all of its state. They add up to the time in which something went
 * on. */
size_t timeline_parts(const struct timeline *t, uint32_t span, const struct timeline_part **parts);

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
