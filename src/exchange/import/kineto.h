/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's profiler writes: what the parts of its importer share. */
#ifndef WPROF_EXCHANGE_KINETO_H
#define WPROF_EXCHANGE_KINETO_H

#include "exchange/import/import.h"
#include "exchange/import/lanes.h"
#include "exchange/import/trace_reader.h"

/* Of PyTorch without Kineto (kineto_plain.c). A function that was run; also what an arrow begins at. */
struct kineto_function {
    uint32_t task, name; /* strtab */
    uint64_t ts;         /* ns, as in the file */
    size_t event;
};

/* An arrow's end, or a kernel: what it may end at. */
struct kineto_arrow {
    uint64_t id; /* + 1 */
    uint64_t ts; /* ns, as in the file */
    size_t seq;  /* in the file's order */
    size_t event;
    uint16_t device; /* + 1 */
};

struct kineto_plain {
    VEC(struct kineto_function) functions, launches;
    struct map begins; /* an arrow's id + 1 -> its launch's index + 1 */
    VEC(struct kineto_arrow) kernels, ends;
};

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
    struct map sizes;         /* correlation -> bytes that the call was asked to copy or set: AMD's */
    struct kineto_plain plain;
};

/* kineto_event.c: takes what the reader has read, or counts why not. A trace_reader's event(). */
void kineto_event(void *kineto);

/* kineto_memory.c: a memory timeline, from behind its first row's '[' to its end. */
int kineto_memory(void *kineto, struct json_stream *js, struct err *e);

/* Of an event of PyTorch without Kineto: whether it is one, and takes it; a trace_reader's event(), too. When
 * all are read and nested: kernels get the thread and the stack that their arrows begin in. */
int kineto_is_plain(const struct kineto *k);
void kineto_plain(struct kineto *k);
void kineto_plain_launches(struct kineto *k);
void kineto_plain_release(struct kineto *k);

/* A row of the file's table. */
uint32_t kineto_work(struct kineto *k, const struct gpu_work *w);

/* Where a copy or a set went from and to, by its name. */
void kineto_set_places(struct gpu_work *w, const char *name);

/* Whether the event's name is numbered, as "ProfilerStep#12" is: its names in stacks and as a mark. */
int kineto_numbered(struct kineto *k, uint32_t *word, uint32_t *mark);
void kineto_mark(struct kineto *k, const struct event *at); /* marks it, where it is */

#endif
