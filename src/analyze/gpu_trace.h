/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's accelerator events in order: device by device, stream by stream, by time, each with the call
 * that asked for it. What all figures of src/analyze/gpu_*.c are made from.
 */
#ifndef WPROF_ANALYZE_GPU_TRACE_H
#define WPROF_ANALYZE_GPU_TRACE_H

#include "analyze/gpu_ranges.h"
#include "base/buf.h"
#include "model/session.h"

struct gpu_stream {
    uint32_t process; /* task id of the leader; 0: not known */
    uint32_t context, stream;
    uint32_t device;   /* index */
    uint32_t first, n; /* of `ran` */
};

struct gpu_device {
    uint16_t rank, device;     /* as in struct gpu_work */
    uint32_t stream, nstreams; /* of `streams` */
    uint32_t first, n;         /* of `ran` */
    struct gpu_ranges unseen;  /* gpu_unseen.h */
};

/* Something that ran on a device. */
struct gpu_run {
    uint32_t event;  /* of the store */
    uint32_t launch; /* the event of the call that asked for it + 1; 0: not known */
};

/* What is odd, counted and left out of the figures as each says. */
struct gpu_odd {
    uint64_t no_work;    /* without a row in the side table: left out */
    uint64_t unknown;    /* of an operation that this program does not know: left out */
    uint64_t no_device;  /* ran on a device that isn't told: a device of its own */
    uint64_t no_time;    /* took no time */
    uint64_t unlaunched; /* ran, asked for by no call that was seen */
    uint64_t early;      /* began before the call that asked for it: clocks that differ */
};

/* What something that ran on a device does: kernels and graphs compute, unless their name says communication;
 * copies and sets move. Holistic Trace Analysis divides so: its computation, communication, memory. */
enum gpu_class { GPU_COMPUTE, GPU_COMMUNICATE, GPU_MOVE, GPU_CLASSES };

struct gpu_trace {
    const struct store *s;
    uint64_t start, end; /* of the session, CLOCK_MONOTONIC */
    VEC(struct gpu_run) ran;
    VEC(struct gpu_stream) streams;
    VEC(struct gpu_device) devices;
    uint8_t *classes; /* work id -> enum gpu_class */
    struct gpu_odd odd;
    uint64_t calls; /* events on the host */
    int ranks;      /* more than one */
};

/* The session must not change meanwhile. */
void gpu_trace_init(struct gpu_trace *t, const struct session *s);
void gpu_trace_release(struct gpu_trace *t);

/* "GPU 0", "rank 3 GPU 0". */
void gpu_device_label(const struct gpu_device *d, struct buf *out);

static inline const struct event *gpu_event(const struct gpu_trace *t, const struct gpu_run *r)
{
    return &t->s->events.a[r->event];
}

static inline const struct event *gpu_launch(const struct gpu_trace *t, const struct gpu_run *r)
{
    return r->launch ? &t->s->events.a[r->launch - 1] : NULL;
}

/* NULL: it has no row, and is none of those that ran. */
static inline const struct gpu_work *gpu_work_of(const struct gpu_trace *t, const struct event *ev)
{
    return gpu_works_get(&t->s->gpus, ev->attr);
}

static inline enum gpu_class gpu_class_of(const struct gpu_trace *t, const struct event *ev)
{
    return (enum gpu_class)t->classes[ev->attr];
}

#endif
