/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an agent's log (bpf/wire_gpu.h) to the store's events: one log is of one process. The file is the
 * target's to write, so everything in it is checked, and what makes no sense ends the reading of its block.
 * Ids of the log are kept with their meaning; the store's ids are but remembered, and forgotten when they
 * move.
 */
#ifndef WPROF_COLLECT_GPU_LOG_H
#define WPROF_COLLECT_GPU_LOG_H

#include <linux/types.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire_gpu.h"
#include "collect/gpu_clock.h"
#include "collect/gpu_devices.h"
#include "model/store.h"
#include "unwind/py_code.h"

#include <stdint.h>

/* Who has asked for what on the device, by correlation id: the latest of each place. */
struct gpu_asked {
    uint32_t correlation, tid, stack; /* tid 0: free. stack: the log's */
};

struct gpu_log_work {
    struct gpu_wire_work wire;
    uint32_t store; /* 0: not entered, as below */
};

struct gpu_log_module {
    uint32_t path; /* text */
    uint8_t build_id_len, build_id[20];
    uint32_t store;
};

struct gpu_log_code {
    uint32_t name, file; /* texts */
    struct py_code code; /* its lines */
};

struct gpu_log_frame {
    uint32_t module, code; /* one of them; neither: native, in no file */
    uint64_t addr;
    int32_t lasti;
    uint32_t store;
};

struct gpu_log_stack {
    uint32_t parent, frame;
    uint32_t store;
};

/* An NVTX range under way. */
struct gpu_log_mark {
    uint32_t id, text; /* of the store: a text of the log may be void before the range ends */
    uint32_t tid;
    uint64_t ts;
};

/* What has become of the agent. */
struct gpu_log_states {
    uint32_t seen[GPU_STATES];   /* how often */
    uint64_t number[GPU_STATES]; /* the last one's */
    uint64_t ts[GPU_STATES];
};

struct gpu_log {
    struct store *store;
    uint32_t rank;         /* + 1; 0: none */
    VEC(uint32_t) devices; /* the process's number -> the session's + 1; 0: it has not said */
    struct gpu_devices
        *shared; /* of all processes; NULL: each device has the number that its process gives it */
    uint32_t (*task)(void *arg, struct gpu_log *l, uint32_t tid); /* the store's, of one of its threads */
    void *arg;
    uint64_t begin, end; /* CLOCK_MONOTONIC: events outside are left out, and counted; end 0: open */
    uint32_t pid;        /* as the process itself sees it; 0: the log has not begun */
    uint64_t pid_space;  /* inode of its pid namespace; 0: not known */
    struct gpu_clock clock;
    uint64_t told_to; /* when the last flush began whose records are all here, CLOCK_MONOTONIC */
    struct buf texts;
    VEC(size_t) text; /* offset of each, NUL-terminated */
    VEC(struct gpu_log_work) works;
    VEC(struct gpu_log_module) modules;
    VEC(struct gpu_log_code *) codes;
    VEC(struct gpu_log_frame) frames;
    VEC(struct gpu_log_stack) stacks;
    VEC(struct gpu_log_mark) marks;
    struct gpu_asked *asked;
    struct map nodes; /* of graphs: -> the log's stack where it was made */
    struct gpu_log_states states;
    uint64_t counts[GPU_COUNTS_N];
    uint64_t events;
    uint64_t marked;    /* calls of NVTX */
    uint64_t on_device; /* kernels, copies, sets, graphs */
    uint64_t unasked;   /* of them: whose call is not known */
    uint64_t outside;   /* the recording's window */
    uint64_t damaged;   /* blocks */
};

void gpu_log_init(struct gpu_log *l, struct store *s);
void gpu_log_release(struct gpu_log *l);

/* One block of type GPU_WIRE_BLOCK. */
void gpu_log_block(struct gpu_log *l, const void *p, size_t n);
void gpu_log_end(struct gpu_log *l, uint64_t ts); /* ranges that are open end at ts */

struct store_visit;
void gpu_log_ids(struct gpu_log *l, struct store_visit *v); /* model/store_visit.h */

/* ---- between gpu_log*.c ---- */

const char *gpu_log_text(const struct gpu_log *l, uint32_t id);
uint32_t gpu_log_store_stack(struct gpu_log *l, uint32_t id);
uint32_t gpu_log_store_work(struct gpu_log *l, uint32_t id);

#endif
