/* SPDX-License-Identifier: Apache-2.0 */
/* The one fixed shape of everything that has a time. Rare fields go to a side table at `attr`; a new source
 * never widens this. */
#ifndef WPROF_MODEL_EVENT_H
#define WPROF_MODEL_EVENT_H

#include <stdint.h>

enum event_kind {
    EVENT_NONE,
    EVENT_SAMPLE, /* on CPU: value = samples: 1 as taken, more where one stands for several (sums, imports) */
    EVENT_OFFCPU, /* blocked: dur; attr: of struct waits; value = spans: 1, more where short ones are summed
                   */
    EVENT_RUNQ,   /* runnable, not running: dur; value as above */
    EVENT_GIL,    /* from the first blocking to when it is got: dur; attr: as EVENT_OFFCPU's, the waker is the
                     holder */
    EVENT_GPU,
    EVENT_MARKER,
    EVENT_METRIC,
};

/* How the stack was got (EVENT_SAMPLE and others with a stack). */
enum {
    EVENT_ROOT = 1,           /* the walk reached the thread's start (kernel threads: always) */
    EVENT_TRUNCATED = 2,      /* deeper than the limit */
    EVENT_SCANNED = 4,        /* a frame was found by scanning for a return address */
    EVENT_FINISHED = 8,       /* completed in user space: the row was missing in BPF */
    EVENT_PYTHON = 16,        /* the thread ran Python: its state has frames, or they could not be read */
    EVENT_PYTHON_FRAMES = 32, /* and at least one Python frame was read */
    EVENT_FRAMEPTR = 64,      /* a frame was found by frame pointer */
    EVENT_USER = 128,         /* the CPU was in user mode */
    EVENT_OPEN = 256,         /* a span that was not over when the recording ended */
    EVENT_SHORT =
        512, /* the sum of a thread's spans that were too short to list, of one reason, from ts on */
    EVENT_PREEMPTED = 1024, /* EVENT_RUNQ: the CPU was taken from it, or given away; else it had been woken */
    EVENT_YIELD = 2048,     /* with EVENT_PREEMPTED: given away, by sched_yield(2) */
    EVENT_GIL_HELD = 4096,  /* the thread held its interpreter's GIL: when sampled, when it left the CPU */
    EVENT_GIL_READ = 8192,  /* whether it did was read */
    EVENT_JOINED = 16384,   /* EVENT_MARKER: the thread worked on that piece of work, which others began */
};

struct event {
    uint64_t ts;  /* ns of CLOCK_MONOTONIC, the start */
    uint64_t dur; /* ns, 0 for an instant */
    uint64_t value;
    uint32_t task, stack;
    uint32_t metric; /* strtab: the perf event's name, the metric's name; 0: the kind says it */
    uint32_t attr;
    uint16_t cpu;
    uint16_t flags;
    uint16_t kind;
    uint16_t pad;
};

_Static_assert(sizeof(struct event) == 48, "struct event is what a session holds millions of");

#endif
