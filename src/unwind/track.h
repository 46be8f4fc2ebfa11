/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the targets: which processes there are, what code they have mapped, and hands both to the walker in
 * the kernel. Two sources tell of changes, perf's rings (mappings) and our programs' control ring (fork,
 * exec, exit); they are merged by time and applied up to a sample's time before that sample is looked at.
 */
#ifndef WPROF_UNWIND_TRACK_H
#define WPROF_UNWIND_TRACK_H

#include "base/err.h"
#include "model/store.h"
#include "platform/bpf.h"
#include "platform/perf_event.h"
#include "unwind/modules.h"
#include "unwind/process.h"

#include <stdint.h>
#include <sys/types.h>

/* What the collector wants to hear. Any may be NULL. */
struct track_hooks {
    void *arg;
    void (*fork)(void *arg, struct process *child, const struct wire_fork *r); /* the parent may be gone */
    void (*exec)(void *arg, struct process *p);          /* a new program: its mappings are gone */
    void (*image)(void *arg, const struct wire_exec *r); /* the same exec, a little later, at its end */
    void (*exit)(void *arg, struct process *p, const struct wire_exit *r); /* of a thread; p may be NULL */
    void (*mapped)(void *arg, struct process *p, uint32_t file,
                   const struct mapping *m); /* an ELF file's code */
    void (*pycode)(void *arg, const struct wire_pycode *r);
};

struct track_stats {
    uint64_t lost_records;   /* of the kernel about mappings */
    uint64_t tables, rows;   /* published */
    uint64_t tables_refused; /* no room for them */
    uint64_t slices_refused; /* the same */
    uint64_t tables_ns;      /* CPU time of making tables */
};

struct track;

/* Opens the perf rings and attaches to fork, exec, exit. The objects given must outlive it. cache may be
 * NULL. b NULL: there is no kernel's side; the caller tells of all changes. */
struct track *track_new(struct bpfside *b, struct unw_cache *cache, int whole_machine,
                        const struct track_hooks *hooks, struct err *e);
void track_free(struct track *t);

/* Follows the processes `pids` (as wprof sees them) and their descendants. Those that don't exist are left
 * out; gives how many processes are followed, or -1. */
int track_follow(struct track *t, const pid_t *pids, size_t n, struct err *e);

int track_watch(const struct track *t, int epoll_fd, struct err *e); /* adds what wakes */

/* A change that the caller has heard of: of mappings and images, or a record of the control ring's types. */
void track_tell(struct track *t, const struct perf_record *r);
void track_tell_control(struct track *t, const void *record, size_t n);

/* Reads all rings' records; gives the time up to which they are complete. */
uint64_t track_gather(struct track *t);
void track_apply(struct track *t, uint64_t ts); /* those up to ts; UINT64_MAX: all */

/* Publishes what changed: new slices, finished tables. Frees processes that ended. Call it once a turn, at
 * its end. */
void track_publish(struct track *t);

/* The process of a task that was sampled; found in /proc when it is new. */
struct process *track_process(struct track *t, const struct wire_task *task, uint32_t image);

/* Reads /proc again for mappings that we may have missed; rarely, so it may do nothing. 1: something changed.
 */
int track_rescan(struct track *t, struct process *p);

/* A walk came through this file's code: have its table made, if it isn't. */
void track_want_table(struct track *t, uint32_t file);

struct modules *track_modules(struct track *t);
const struct processes *track_processes(const struct track *t);
void track_stats(struct track *t, struct track_stats *out);

#endif
