/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our programs in the kernel: loading, maps, rings, what they cost. The only file that knows libbpf is bpf.c.
 * Errors say what is missing and what would grant it.
 */
#ifndef WPROF_PLATFORM_BPF_H
#define WPROF_PLATFORM_BPF_H

#include "base/err.h"
#include "base/vec.h"

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "bpf/wire_flow.h"

extern const int bpfside_present; /* 0: built without libbpf, nothing loads */

struct bpfside; /* the loaded object */

struct bpfside_settings {
    int whole_machine;
    uint32_t cpus;       /* possible CPUs: numbers are below this */
    uint32_t rows;       /* capacity of the row array */
    uint32_t ring_bytes; /* of the samples' ring: a power of two */
    int gpu_calls;       /* the program for calls of CUDA's libraries is wanted */
};

/* Opens, loads and verifies everything; nothing runs yet. NULL with `e` set. */
struct bpfside *bpfside_new(const struct bpfside_settings *how, struct err *e);
void bpfside_free(struct bpfside *b); /* detaches */

int bpfside_follow(struct bpfside *b, struct err *e); /* attaches fork, exec, exit */
int bpfside_sample(struct bpfside *b, int perf_fd,
                   struct err *e);           /* attaches the sampler and enables the event */
void bpfside_sample_stop(struct bpfside *b); /* detaches all samplers */

/* Off-CPU time. Start attaches and enters the threads that are there; it fails where the kernel has refused
 * those programs. Rest sends registers of those that are blocked, whose stacks were to be taken when they are
 * back. Stop detaches and sends the spans that are still open. */
int bpfside_off_start(struct bpfside *b, const struct wire_off_config *how, struct err *e);
int bpfside_off_rest(struct bpfside *b, struct err *e);
int bpfside_off_stop(struct bpfside *b, struct err *e);
void bpfside_off_stats(struct bpfside *b, struct wire_off_stats *sum);

/* What followed threads use. Start attaches and enters the threads that are there; it fails where the kernel
 * has refused those programs. From then on each one's end is a record WIRE_USED. A look appends each thread
 * that is there. */
struct bpfside_used {
    VEC(struct wire_used) list;
};
int bpfside_used_start(struct bpfside *b, struct err *e);
int bpfside_used_look(struct bpfside *b, struct bpfside_used *out, struct err *e);
void bpfside_used_stop(struct bpfside *b); /* detaches; a look still works */

/* Bytes and messages of followed threads by socket, and by pipe where these are wanted: every system call of
 * the machine gets slower by it. Start attaches; it fails where the kernel has refused those programs. `take`
 * appends all; empty: the sums begin again, at the cost of what is just being counted. `made`: how many there
 * are since they were last emptied. */
struct bpfside_flow {
    struct wire_flow_key key;
    struct wire_flow flow;
};
struct bpfside_flows {
    VEC(struct bpfside_flow) list;
};
enum { BPFSIDE_FLOWS_MAX = 16384 }; /* what the map holds: bpf/flow.bpf.c */
int bpfside_flows_start(struct bpfside *b, int pipes, struct err *e);
int bpfside_flows_take(struct bpfside *b, int empty, struct bpfside_flows *out, struct err *e);
/* 1: the kernel has no tracepoints for them: they are counted where functions return, without sendfile(2). */
int bpfside_flows_by_exits(const struct bpfside *b);
size_t bpfside_flows_made(const struct bpfside *b);
void bpfside_flows_stop(struct bpfside *b); /* detaches; what was counted can still be taken */
int bpfside_flows_cost(struct bpfside *b, uint64_t *ns, uint64_t *runs); /* -1: not known */

/* Calls of functions by followed processes, at uprobes. */
int bpfside_gpu_ready(const struct bpfside *b, struct err *e); /* -1: the kernel has refused the program */
/* The function `name` of the file at `path`, in every process: its calls are counted as number `which`. */
int bpfside_gpu_attach(struct bpfside *b, const char *path, const char *name, uint32_t which, struct err *e);
void bpfside_gpu_calls(struct bpfside *b, uint32_t which, struct wire_gpu_calls *sum);
void bpfside_gpu_stop(struct bpfside *b); /* detaches; what was counted can still be read */

/* All threads of the machine, now. The vector is appended to. */
struct bpfside_threads {
    VEC(struct wire_thread) list;
};
int bpfside_threads(struct bpfside *b, struct bpfside_threads *out, struct err *e);

/* The user's registers of all threads of the machine, as of when each last entered the kernel: for those that
 * are blocked, where they will return to. Needs no object: loads what it takes, 5 ms. Appended to. */
struct bpfside_regs {
    VEC(struct wire_regs) list;
};
int bpfside_regs(struct bpfside_regs *out, struct err *e);

/* The descriptors of pipes and sockets of followed processes, or all of the machine. Appended to. */
struct bpfside_holders {
    VEC(struct wire_holder) list;
};
int bpfside_holders(struct bpfside *b, int all, struct bpfside_holders *out, struct err *e);

/* Followed processes. All give 0, or -errno: -ENOENT for one that isn't there, -EEXIST with add, -E2BIG when
 * full. */
int bpfside_add_proc(struct bpfside *b, uint32_t tgid, const struct wire_proc *p);
int bpfside_set_proc(struct bpfside *b, uint32_t tgid, const struct wire_proc *p); /* one that is there */
int bpfside_get_proc(struct bpfside *b, uint32_t tgid, struct wire_proc *p);

/* Of processes that run CPython; all give 0 or -errno. */
int bpfside_set_layout(struct bpfside *b, uint32_t i, const struct py_layout *l);
int bpfside_set_python(struct bpfside *b, uint32_t tgid, const struct py_proc *p);
void bpfside_del_python(struct bpfside *b, uint32_t tgid);

/* Shared memory, writable. */
struct wire_mapping *bpfside_mappings(struct bpfside *b, size_t *n);
struct wire_table *bpfside_tables(struct bpfside *b, size_t *n);
int bpfside_write_rows(struct bpfside *b, uint32_t first, const struct unw_row *rows, uint32_t n,
                       struct err *e);

/* Rings. Readable (epoll) when BPF found it worth a wakeup. Draining calls `each` for every record that is
 * there; returns how many. */
typedef void bpfside_record(void *arg, const void *record, size_t n);
int bpfside_fd(const struct bpfside *b);
int bpfside_drain_control(struct bpfside *b, bpfside_record *each, void *arg);
int bpfside_drain_samples(struct bpfside *b, bpfside_record *each, void *arg);

void bpfside_lost(struct bpfside *b, struct wire_lost *sum);

/* Time spent in our programs since loading and runs of them; say: each program's share goes to the debug log.
 */
void bpfside_cost(struct bpfside *b, int say, uint64_t *ns, uint64_t *runs);
/* Of the programs for off-CPU time alone. */
int bpfside_off_cost(struct bpfside *b, uint64_t *ns, uint64_t *runs);

#endif
