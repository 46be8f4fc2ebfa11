/* SPDX-License-Identifier: Apache-2.0 */
/* What the timeline's builders share, inside of timeline*.c. */
#ifndef WPROF_ANALYZE_TIMELINE_JOB_H
#define WPROF_ANALYZE_TIMELINE_JOB_H

#include "analyze/fold_frames.h"
#include "analyze/gpu_host.h"
#include "analyze/gpu_memory.h"
#include "analyze/gpu_trace.h"
#include "analyze/timeline.h"

/* A span before it is thinned out and its stack is taken over. */
struct raw_span {
    uint64_t start, end;
    uint32_t event; /* index + 1; 0: of none, the thread was running */
    uint16_t depth;
    uint8_t state, flags;
};

typedef VEC(struct raw_span) raw_spans;

/* Of a gap of a device's what is not of the state that most of it is of. */
struct gap_part {
    uint32_t raw; /* index */
    uint8_t state;
    uint64_t ns;
};

/* From a store's stacks to the timeline's, as they are asked for. */
struct timeline_stacks {
    struct timeline *t;
    const struct store *s;
    struct fold_frames frames;
    struct fold_opts fold;
    struct index children;
    uint32_t *node_of;     /* by stack id; 0: not made */
    VEC(uint32_t) pending; /* stacks on the way to one that is there */
    size_t max_nodes;
};

void timeline_stacks_init(struct timeline_stacks *x, struct timeline *t, const struct store *s,
                          const struct timeline_opts *o);
void timeline_stacks_release(struct timeline_stacks *x);
/* The node; 0 for none, and where there is no room for more: counted in the timeline. */
uint32_t timeline_stacks_take(struct timeline_stacks *x, uint32_t stack);

/* A lane to be, with the events that are its own. */
struct lane_plan {
    struct timeline_lane lane;
    uint32_t task;            /* id of its first image; 0: the machine's */
    uint32_t order;           /* place among its kind: order of appearance */
    const uint32_t *events;   /* of the task, by time */
    size_t nevents, weight;   /* how many there are, how many count */
    uint32_t metric;          /* string id of the store */
    uint16_t cpu;             /* of a metric that each CPU has */
    size_t metrics, nmetrics; /* of the job's metric_events */
    size_t raw, nraw;         /* of the job's raw spans */
    uint32_t device;          /* of the job's gpu.devices, + 1; 0: none */
    const struct gpu_stream *stream;
    uint32_t pool; /* of the job's memory, + 1; 0: another lane */
};

/* A span of something that ran on a device. */
struct launched {
    uint32_t span, event;
};

/* Of each task, by time: what lies between first[task] and first[task + 1]. */
struct timeline_events {
    uint32_t *list; /* indices */
    size_t *first;
};

struct timeline_job {
    struct timeline *t;
    const struct session *s;
    const struct timeline_opts *o;
    uint64_t start;                       /* CLOCK_MONOTONIC */
    struct timeline_events events, calls; /* but those of accelerators; what was asked of them */
    uint64_t begin;                       /* of what was seen, in the session's time */
    uint32_t
        *thread_of; /* task id -> first task of the same thread: each program that it executes is a task */
    uint32_t *image_of;   /* first task of a thread -> the last, whose name it bears */
    uint32_t *task_of;    /* thread -> index into t->tasks + 1 */
    uint32_t *process_of; /* leader's thread -> index into t->processes */
    VEC(struct lane_plan) plans;
    raw_spans raws;
    VEC(struct gap_part) gap_parts; /* by raw span */
    VEC(uint32_t) metric_events;    /* indices, lane by lane and by time */
    uint64_t task_end;              /* when the last metric of task_end_of was measured */
    uint32_t task_end_of;
    uint8_t *metric_ids; /* string id of the store -> enum metric_id */
    struct timeline_stacks stacks;
    struct gpu_trace gpu;
    struct gpu_memory memory;
    struct gpu_host host;          /* where there is a device */
    uint32_t *device_process;      /* device -> index into t->processes; 0: not made */
    uint32_t *work_of;             /* work id -> index into t->works + 1 */
    uint8_t *call_states;          /* work id -> its calls' state */
    struct map call_span;          /* event of a call -> its span + 1 */
    VEC(struct launched) launched; /* whose call's span is to be found */
};

static inline const struct event *job_event(const struct timeline_job *j, uint32_t index)
{
    return &j->s->store.events.a[index];
}

/* ns since the session's start; 0 for what began before it. */
static inline uint64_t job_time(const struct timeline_job *j, uint64_t mono)
{
    return mono > j->start ? mono - j->start : 0;
}

void timeline_tasks_init(struct timeline_job *j);
void timeline_tasks_release(struct timeline_job *j);
uint32_t job_leader(const struct timeline_job *j, uint32_t task); /* the process's main thread; 0 for 0 */
uint32_t job_process(struct timeline_job *j, uint32_t task);      /* index; makes it */
uint32_t job_task(struct timeline_job *j, uint32_t task);         /* index + 1; makes it; 0 for 0 */

/* Appends the plan's raw spans: what a thread did, or the marks of a process; fills in the lane's figures. */
void timeline_thread(struct timeline_job *j, struct lane_plan *plan);
void timeline_marks(struct timeline_job *j, struct lane_plan *plan);

/* Rows of a lane in which spans may overlap: each stands in the first that is free at its start; where rows
 * are bounded, what is too much shares the last. */
struct timeline_rows {
    uint64_t *a; /* each row's end */
    size_t n, cap, most;
};

uint16_t timeline_row(struct timeline_rows *rows, const struct raw_span *r);
/* Begins and ends the plan's raw spans: these, then, come in the order of their depth and time. */
void timeline_raws_begin(struct timeline_job *j, struct lane_plan *plan);
void timeline_raws_end(struct timeline_job *j, struct lane_plan *plan);

/* Lanes of GPUs, and of a thread's calls. */
void timeline_gpu_init(struct timeline_job *j);
void timeline_gpu_release(struct timeline_job *j);
void timeline_gpu_plan(struct timeline_job *j);
void timeline_calls_plan(struct timeline_job *j, uint32_t task);
uint8_t *timeline_calls(const struct gpu_works *works); /* by id: whether it is one; owned by the caller */
uint32_t timeline_gpu_process(struct timeline_job *j, uint32_t device); /* index; makes it */
void timeline_gpu_lane(struct timeline_job *j, struct lane_plan *plan);
/* The same of memory on devices, whose lanes are of metrics. */
void timeline_memory_plan(struct timeline_job *j);
void timeline_memory(struct timeline_job *j, struct lane_plan *plan, uint64_t bin);
/* Appends a point of a lane; those of one bin become one, the highest. */
void timeline_point(struct timeline_job *j, uint64_t ts, uint64_t value, uint64_t bin, uint64_t *last);
/* Fills in what a span of an accelerator's event has besides its stack. */
void timeline_gpu_span(struct timeline_job *j, struct timeline_span *span, uint32_t event);
/* From what ran to the calls that are shown. */
void timeline_gpu_link(struct timeline_job *j);

/* Plans the lanes of the metrics among a task's events, each with its own events. */
void timeline_metrics_plan(struct timeline_job *j, uint32_t task);
/* Appends the plan's points; those of one bin (ns, 0: none) become one, the highest. */
void timeline_metric(struct timeline_job *j, struct lane_plan *plan, uint64_t bin);
/* Appends a plan with the task's events, or its calls. */
struct lane_plan *timeline_plan_lane(struct timeline_job *j, uint32_t task, enum timeline_lane_kind kind);

/* From raw spans and events to the timeline's spans, ticks and points, in the order of the plans; thinned out
 * as the options say. */
void timeline_thin(struct timeline_job *j);

#endif
