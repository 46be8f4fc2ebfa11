/* SPDX-License-Identifier: Apache-2.0 */
/* Followed processes and what code they have where, as of the moment up to which events have been applied. */
#ifndef WPROF_UNWIND_PROCESS_H
#define WPROF_UNWIND_PROCESS_H

#include <linux/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire.h"

#include <stdint.h>

struct mapping {
    uint64_t start, end;
    uint64_t bias;  /* run-time minus ELF address */
    uint64_t pgoff; /* where in the file it begins */
    uint32_t file;  /* id in struct modules; 0: JIT code */
    uint32_t pad;
};

struct process {
    uint32_t tgid, ns_tgid, own_tgid; /* in the initial pid namespace, wprof's, its own innermost */
    uint64_t start;                   /* as of wire_task */
    uint32_t image;                   /* execs so far, as the kernel's side counts them */
    VEC(struct mapping) maps;         /* sorted by start, not overlapping */
    uint32_t slice;                   /* what the kernel's side searches, 0: nothing */
    uint32_t epoch;                   /* + 1 whenever an address may have changed its meaning */
    struct map frames;                /* address -> frame id in the store, of this epoch */
    uint32_t jit_module;              /* in the store; 0: no JIT frame yet */
    uint32_t leader;                  /* task id in the store, 0: none yet */
    uint64_t rescan_ns;               /* when /proc was last read */
    uint64_t perf_map_tried;          /* CLOCK_MONOTONIC ns: when its perf map was last looked for */
    uint8_t dirty;                    /* the kernel's side hasn't got these mappings yet */
    uint8_t gone;                     /* it ended: freed at the next turn */
    uint8_t outside;                  /* no target: it is known since it woke one */
    uint8_t has_perf_map;
    uint8_t runtime; /* enum jit_runtime */
    uint8_t jvm_fp;  /* a JVM that was told to keep frame pointers */
    uint8_t stale;   /* records of its mappings may be lost: read /proc when an address is unknown */
    struct process_python *python; /* collect/python.h; NULL: none known; freed with free() */
};

struct processes {
    VEC(struct process *) list;
    struct map by_tgid, by_ns; /* -> pointer */
};

void processes_release(struct processes *ps);
struct process *processes_find(const struct processes *ps, uint32_t tgid);
struct process *processes_find_ns(const struct processes *ps, uint32_t ns_tgid);
/* A new one, without mappings; replaces what had the tgid before. */
struct process *processes_add(struct processes *ps, const struct wire_task *t);
void processes_remove(struct processes *ps, struct process *p); /* frees p */

/* Does code that it made at run time keep frame pointers? A perf map tells of a run-time that wants to be
 * profiled; Python's own (python -X perf) are found by their eval loops. */
int process_jit_keeps_fp(const struct process *p);

/* Enters [start, end), replacing what it overlaps. */
void process_map(struct process *p, const struct mapping *m);
void process_unmap_all(struct process *p);                                    /* at exec */
void process_copy_maps(struct process *to, const struct process *from);       /* at fork */
const struct mapping *process_lookup(const struct process *p, uint64_t addr); /* NULL: in none */

#endif
