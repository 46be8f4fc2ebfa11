/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collector is. One file in src/collect, one line in collectors.def:
 *     COLLECTOR(cpu)   ->   extern const struct collector_ops collector_cpu;
 * The recorder opens all, lets them get ready, starts them, opens the gate, polls, and stops in reverse
 * order.
 */
#ifndef WPROF_MODEL_COLLECTOR_H
#define WPROF_MODEL_COLLECTOR_H

#include "base/err.h"
#include "base/vec.h"
#include "model/session.h"
#include "model/store.h"

#include <stdint.h>
#include <sys/types.h>

struct trace;
struct store_visit;
struct rings;
struct looks;
struct graph;
struct topology_opts;

/* The ways to record: A with BPF, B with perf events of own processes, C from outside. */
enum { TIER_A = 1, TIER_B = 2, TIER_C = 4 };

/* Whether the command was told to load the agent for GPUs (record/gpu_env.h). */
enum gpu_env {
    GPU_ENV_NONE,
    GPU_ENV_SET,
    GPU_ENV_TAKEN,      /* another injection was set, and is left alone */
    GPU_ENV_NVTX_TAKEN, /* the same of NVTX alone: ours records the rest */
    GPU_ENV_NO_AGENT,   /* our library is not there */
};

/* What the recorder gives every collector; outlives them. */
struct record_ctx {
    struct store *store; /* collectors add frames, stacks, tasks and push events; the recorder flushes */
    struct meta *meta;   /* for languages, notes */
    VEC(pid_t)
    targets;   /* the gated child, -p's, a control group's; as seen from wprof's pid namespace; whole tree
                  followed; grows when a process enters the control group: collectors see to it when they are
                  polled */
    int grows; /* a control group's: they may become more, on other CPUs, too */
    int whole_machine; /* -a: targets is empty */
    int launched;      /* targets[0] is our own gated child */
    pid_t front;       /* with --sudo whoever launched it, and us; 0: nobody */
    enum gpu_env gpu_env;
    int gpu_calls;         /* calls of CUDA's libraries are to be seen from outside: nothing is launched */
    const char *event;     /* -e, NULL: cycles where there is a PMU, else cpu-clock */
    uint64_t frequency;    /* Hz */
    unsigned tier;         /* the one in use: TIER_A, TIER_B or TIER_C; 0: not chosen, collectors see */
    uint64_t start_mono;   /* set when the gate opens */
    uint64_t end_mono;     /* set when the recording ends, before collectors stop */
    uint64_t (*now)(void); /* CLOCK_MONOTONIC ns */
    uint64_t ring; /* ns: only the end is kept, of that length; figures and sums are wanted each turn. 0: all
                      is kept */
    uint64_t min_block;                   /* ns: shorter waits are summed, not listed */
    struct rings *rings;                  /* the same of tier B (collect/rings.h), */
    struct looks *looks;                  /* and of tier C (collect/looks.h) */
    const struct topology_opts *topology; /* record/topology.h; NULL: the defaults */
    struct graph *graph; /* of the collector topology, which owns it, from its stop() on; else NULL */
    int session_dir;     /* descriptor of the session's directory; 0: not made yet */
    struct trace
        *trace; /* what tier A's collectors share (collect/trace.h); NULL as long as none has asked */
};

struct collector; /* the collector's own state */

struct collector_ops {
    const char *name;
    const char *summary;
    int on_by_default;
    int (*by_default)(void); /* asked instead, where it depends on the machine; may be NULL */
    unsigned tiers; /* in which it works; 0: in all. Several of one name are one collector, by tier */

    /* Makes everything ready (BPF loaded, events open, nothing counting). NULL with `e`: left out, and said.
     */
    struct collector *(*open)(struct record_ctx *ctx, struct err *e);
    /* The session's directory is there, and the command does not run yet: what it is to find is made now,
     * for start() may come much later (--delay, --start-on, --capture). NULL: nothing. */
    int (*ready)(struct collector *c, struct err *e);
    int (*start)(struct collector *c, struct err *e); /* when the recording begins */
    int (*fd)(struct collector *c); /* readable when poll() has work; -1: none, poll by time */
    int (*poll)(struct collector *c, struct err *e); /* drains into the store; never blocks */
    void (*ended)(struct collector *c); /* the command has ended and is not waited for yet: what /proc tells
                                           of it is there for the last time; NULL: of no interest */
    int (*stop)(struct collector *c, struct err *e); /* no more events; drains the rest; sets its counters */
    void (*counters)(struct collector *c);           /* sets its counters in the store, also while running */
    const char *(*detail)(struct collector *c);      /* one phrase for meta.json and the summary */
    int (*alive)(struct collector *c);               /* targets still alive (-p); NULL: does not know */
    /* Names the ids of strings, frames, stacks and waits that it holds: model/store_visit.h. NULL: it can't,
     * and with
     * --ring what nobody uses any more stays in memory. What collectors share is visited for each of them. */
    void (*ids)(struct collector *c, struct store_visit *v);
    void (*free)(struct collector *c);
};

#define COLLECTOR(name) extern const struct collector_ops collector_##name;
#include "collect/collectors.def"
#undef COLLECTOR

#endif
