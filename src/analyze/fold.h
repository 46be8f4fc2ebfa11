/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the profile view from a session's events. */
#ifndef WPROF_ANALYZE_FOLD_H
#define WPROF_ANALYZE_FOLD_H

#include "base/err.h"
#include "model/profile.h"
#include "model/session.h"

struct fold_opts {
    const char *metric; /* "oncpu"; NULL: oncpu */
    int no_tasks;       /* leave out the process and thread frames at the root */
    int lines;          /* keep code lines apart (else a function is one frame, whatever its line) */
    int inlines;        /* inlined functions as frames of their own */
    int kernel_suffix;  /* "_[k]" behind kernel functions */
    int jit_suffix;     /* "_[j]" behind JIT code's */
    int addrs;    /* imported functions without a name apart, with their address: "[libc.so.6 <7f26>]" */
    int verbatim; /* imported functions whose name is blank stay so; else they are called by their library */
    int pids;     /* processes and threads of one name apart: "python3 (1234)" */
    int pid_suffix; /* processes apart, as perf script's collapsers call them: "java-1234", "java-?" */
    int tid_suffix; /* threads apart, likewise: "java-1234/1235" */
    int samples;    /* also fill p->samples */
    int self_alone; /* no totals, which stay NULL, and no links from nodes to children: for trees of millions
                     */
    int gil;        /* only what threads did while they held the GIL */
    uint64_t idle_ns;  /* oncpu: time off the CPU counts as well, a sample for that many ns; 0: it doesn't */
    uint32_t pid, tid; /* only this process / thread, 0: all */
    uint32_t had;      /* kinds of events, bits: that there is none of them is no error: cut.h */
    const uint32_t *units;   /* each event's root above its process, a string of the store: split.h; NULL */
    struct stacks *spent;    /* the store's own, not needed any more: its memory may be used; NULL */
    uint64_t from_ns, to_ns; /* only this part, ns since the session's start; to_ns 0: to the end */
};

/* Frames that have no name become "[module+0x1234]". `p` is initialised; release with profile_release(). An
 * unknown metric is an error that names those the session has. */
int fold_profile(struct profile *p, const struct session *s, const struct fold_opts *o, struct err *e);

/* The same from a store that is being recorded (sealing): start_mono is the session's start. */
int fold_store(struct profile *p, const struct store *s, uint64_t start_mono, const struct fold_opts *o,
               struct err *e);

/* Whether the session has events of that metric; 0 for an unknown one. */
int fold_has(const struct store *s, const char *metric);

/* What is looked at where nobody says what: "oncpu"; without samples, the first that there is of "gpu",
 * "offcpu", "gil", "spans", "alloc". */
const char *fold_first(const struct store *s);

/* Folded text of one metric, one line a stack with a non-zero self value, sorted: "a;b;c 12\n". `;` and
 * control bytes inside a name become `_`. */
void fold_text(const struct profile *p, size_t metric, struct buf *out);

#endif
