/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the Chrome trace exporter share. */
#ifndef WPROF_EXCHANGE_CHROME_H
#define WPROF_EXCHANGE_CHROME_H

#include "base/json.h"
#include "base/map.h"
#include "model/timeline.h"

struct chrome {
    struct json_writer json;
    const struct timeline *t;
    uint64_t flows;
    uint8_t *calls;       /* task + 1: it has a lane of calls */
    unsigned devices;     /* how many there are */
    struct map runtime;   /* correlations of calls of the runtime, by process */
    struct map ids;       /* the same, of all calls -> the number that they have here, from 1 */
    int many_callers;     /* calls of several processes: their correlations may be the same */
    int has_steps;        /* the trace tells its steps itself: ProfilerStep#12 */
    uint64_t left_driver; /* calls of the driver's that the runtime's calls made */
    uint64_t left_frees;  /* of memory whose size is not known */
    uint32_t *over;       /* lane -> number of its second row, as a thread of the device */
};

static inline double chrome_us(uint64_t ns)
{
    return (double)ns / 1000;
}

static inline const char *chrome_string(const struct chrome *w, uint32_t id)
{
    return strtab_get(&w->t->stacks.strings, id);
}

/* Devices of one rank, or of a program that has none, are told by their number alone. */
static inline int chrome_one_rank(const struct timeline *t)
{
    return !t->many_ranks;
}

uint32_t chrome_pid(const struct chrome *w, uint32_t process);

/* Opens an event; thread 0 is none, for what belongs to the process. */
void chrome_begin(struct chrome *w, const char *phase, const char *name, uint32_t pid, uint32_t tid);
void chrome_stack(struct chrome *w, uint32_t stack);

/*
 * chrome_gpu.c: streams and calls as PyTorch's profiler (libkineto) writes them, which Holistic Trace
 * Analysis reads: calls with args.correlation, what ran under its device's number with args device, context,
 * stream and correlation, arrows of the category ac2g between them, steps as user_annotation ProfilerStep#N.
 */
void chrome_gpu_look(struct chrome *w);
void chrome_gpu_lane(struct chrome *w, const struct timeline_lane *lane);
void chrome_gpu_steps(struct chrome *w);
void chrome_gpu_release(struct chrome *w);
/* Readers want what is on one track one after the other, or nested: what runs at a time on one stream has
 * other tracks. The number of a lane's row, from 1 on. */
uint32_t chrome_gpu_row(const struct chrome *w, const struct timeline_lane *lane, unsigned depth);

/* chrome_memory.c: what was allocated and given back, as instants "[memory]", in libkineto's way, too. */
struct session;
void chrome_memory(struct chrome *w, const struct session *s);

/* Appends what ran as readers know it: "Memcpy HtoD (Pinned -> Device)", a kernel's own name. */
struct gpu_work;
void chrome_gpu_name(const char *name, const struct gpu_work *work, struct buf *out);

#endif
