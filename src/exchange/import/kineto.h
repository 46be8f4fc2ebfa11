/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's profiler writes: what the parts of its importer share. */
#ifndef WPROF_EXCHANGE_KINETO_H
#define WPROF_EXCHANGE_KINETO_H

#include "exchange/import/import.h"
#include "exchange/import/lanes.h"
#include "exchange/import/trace_reader.h"

/* One file. */
struct kineto {
    struct trace_reader r;
    struct store *s;
    struct meta *m;
    struct lanes lanes;
    struct gpu_works works;   /* of this file, without the rank: events' attr until it is read */
    VEC(uint32_t) frames;     /* of each of those: its frame in stacks, 0: none */
    size_t first, first_task; /* the first event, and task, of this file */
    int64_t base;             /* ns since the epoch that times are relative to */
    int rank, world;          /* -1, 0: not told */
    char *backend, *device;   /* "nccl", "NVIDIA A100"; NULL */
    size_t devices;           /* in deviceProperties */
    int python;               /* Python functions were among them */
    char *unknown;            /* the first category that we don't know */
    int timeline;             /* it is a memory timeline */
};

/* kineto_event.c: takes what the reader has read, or counts why not. A trace_reader's event(). */
void kineto_event(void *kineto);

/* kineto_memory.c: a memory timeline, from behind its first row's '[' to its end. */
int kineto_memory(void *kineto, struct json_stream *js, struct err *e);

/* A row of the file's table. */
uint32_t kineto_work(struct kineto *k, const struct gpu_work *w);

#endif
