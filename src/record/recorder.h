/* SPDX-License-Identifier: Apache-2.0 */
/* One recording from the gate to the sealed session: what `wprof record` does, without its words. */
#ifndef WPROF_RECORD_RECORDER_H
#define WPROF_RECORD_RECORDER_H

#include "model/collector.h"
#include "record/sink.h"
#include "record/topology.h"
#include "record/window.h"

/* What is known of a sealed recording. Borrowed, valid during recorder_hooks.done. */
struct recorder_report {
    const char *path; /* the session's directory */
    const struct meta *meta;
    struct store *store;
    uint64_t samples, bytes;
    uint64_t seal_ns; /* from the end of recording to the sealed session */
};

struct recorder_hooks {
    void *arg;
    void (*graph)(void *arg, struct graph *g); /* what there is of a topology, before `derive`; may be NULL */
    sink_derive derive;                        /* names frames, makes derived files; may be NULL */
    void (*done)(void *arg, const struct recorder_report *r); /* sealed; the command may still be running */
};

struct recorder_opts {
    const char *dir; /* NULL: a new name under the current directory */
    int force, keep_going, quiet;
    int as_caller; /* `record --sudo`: the session is made with the rights of who called sudo, not root's */
    const char *event;  /* NULL: the collector's choice */
    uint64_t frequency; /* Hz */
    const struct topology_opts *topology;
    uint64_t min_block;            /* ns: shorter waits are summed, not listed */
    struct window_opts window;     /* when to record */
    uint64_t ring;                 /* ns: only the last so much is kept; 0: everything */
    int kill;                      /* end the command when its recording is over before it is */
    uint64_t max_size;             /* bytes, 0: no bound */
    const char *collect, *without; /* comma-separated names, or NULL */
    int whole_graphs;              /* of GPUs: gpu_env.h */
    int jit_names, jvm; /* run-times are to tell the names of what they compile; ask JVMs for them */
    const char *tier;   /* "A", "B" or "C"; NULL: the best that works */
    int (*choose_tier)(struct record_ctx *ctx, const char *forced, struct err *e); /* tiers.h; NULL: none */
    void (*release_tier)(struct record_ctx *ctx);
    /* One of the four. */
    const char *front; /* the collecting half of `record --sudo`: its front end's socket (half.h) */
    char *const *argv; /* NULL: nothing is launched */
    const char *const *pids;
    size_t npids;
    const char *cgroup, *container; /* cgroup_find.h, cgroup_container.h */
    int whole_machine;
    const struct collector_ops *const *collectors; /* that there are */
    size_t ncollectors;
    struct recorder_hooks hooks;
};

/*
 * Returns what record exits with: the command's code (128 + n for a signal), 0 for others, or 125, 126, 127
 * with `e` when the command was not run. What goes wrong once the command runs is said in the log and does
 * not change its code.
 */
int recorder_run(const struct recorder_opts *o, struct err *e);

#endif
