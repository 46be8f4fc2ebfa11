/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of GPUs: when they were idle and why, what ran on each stream; and of threads: what they asked for.
 */
#include "analyze/gpu_slots.h"
#include "analyze/timeline_job.h"

#include <stdio.h>
#include <string.h>

enum { STREAM_ROWS = 6, CALL_ROWS = 8 }; /* on a page */

static uint8_t call_state(const struct timeline_job *j, const struct gpu_work *w)
{
    if (w->op == GPU_OPERATOR)
        return TIMELINE_OPERATOR;
    if (w->op == GPU_OVERHEAD)
        return TIMELINE_OVERHEAD;
    if (w->op == GPU_SYNC || strstr(strtab_get(&j->s->store.strings, w->name), "Synchronize"))
        return TIMELINE_SYNC;
    return TIMELINE_CALL;
}

void timeline_gpu_init(struct timeline_job *j)
{
    gpu_trace_init(&j->gpu, j->s);
    j->device_process = mem_calloc(j->gpu.devices.n + 1, sizeof(*j->device_process));
    j->work_of = mem_calloc(j->s->store.gpus.list.n + 1, sizeof(*j->work_of));
    j->call_states = mem_calloc(j->s->store.gpus.list.n + 1, sizeof(*j->call_states));
    for (uint32_t id = 1; id <= j->s->store.gpus.list.n; id++)
        j->call_states[id] = call_state(j, gpu_works_get(&j->s->store.gpus, id));
    if (j->gpu.devices.n)
        gpu_host_init(&j->host, &j->s->store);
}

void timeline_gpu_release(struct timeline_job *j)
{
    if (j->gpu.devices.n)
        gpu_host_release(&j->host);
    gpu_trace_release(&j->gpu);
    gpu_memory_release(&j->memory);
    map_release(&j->call_span);
    vec_release(&j->gap_parts);
    vec_release(&j->launched);
    free(j->device_process);
    free(j->work_of);
    free(j->call_states);
}

/* ---- plans ---- */

static uint32_t name(struct timeline_job *j, const char *text)
{
    return strtab_add(&j->t->stacks.strings, text);
}

static struct lane_plan *plan_lane(struct timeline_job *j, uint32_t device, enum timeline_lane_kind kind,
                                   const char *text)
{
    struct lane_plan *plan = timeline_plan_lane(j, 0, kind);

    plan->events = NULL;
    plan->nevents = 0;
    plan->device = device + 1;
    plan->lane.name = name(j, text);
    return plan;
}

/* Contexts are told where streams of one number are of several. */
static void plan_stream(struct timeline_job *j, const struct gpu_device *d, const struct gpu_stream *x)
{
    struct lane_plan *plan;
    int alone = 1;
    char *text;

    for (uint32_t i = d->stream; i < d->stream + d->nstreams; i++)
        alone &= &j->gpu.streams.a[i] == x || j->gpu.streams.a[i].stream != x->stream;
    if (alone)
        text = mem_printf("stream %u", x->stream);
    else
        text = mem_printf("stream %u, context %u", x->stream, x->context);
    plan = plan_lane(j, x->device, TIMELINE_STREAM, text);
    plan->stream = x;
    plan->lane.stream = x->stream;
    free(text);
}

static int is_of(const struct timeline_job *j, const struct event *ev, const struct gpu_device *d)
{
    const struct gpu_work *w = gpu_work_of(&j->gpu, ev);

    return w->op == GPU_OPERATOR && w->rank == d->rank && w->device && w->device == d->device;
}

/* Annotations that no thread made, but a device. They are few, and the first of those of no task. */
static void plan_ranges(struct timeline_job *j, uint32_t device)
{
    for (size_t i = j->calls.first[0]; i < j->calls.first[1]; i++) {
        struct lane_plan *plan;

        if (!is_of(j, job_event(j, j->calls.list[i]), &j->gpu.devices.a[device]))
            continue;
        plan = plan_lane(j, device, TIMELINE_RANGES, "annotations");
        plan->events = j->calls.list + j->calls.first[0];
        plan->nevents = j->calls.first[1] - j->calls.first[0];
        return;
    }
}

void timeline_gpu_plan(struct timeline_job *j)
{
    for (uint32_t i = 0; i < j->gpu.devices.n; i++) {
        const struct gpu_device *d = &j->gpu.devices.a[i];

        plan_lane(j, i, TIMELINE_IDLING, "idle");
        plan_ranges(j, i);
        for (uint32_t k = d->stream; k < d->stream + d->nstreams; k++)
            plan_stream(j, d, &j->gpu.streams.a[k]);
    }
    j->t->many_ranks = j->gpu.ranks;
    if (j->gpu.devices.n && !j->gpu.ranks)
        j->t->rank = j->gpu.devices.a[0].rank;
}

uint8_t *timeline_calls(const struct gpu_works *works)
{
    uint8_t *calls = mem_calloc(works->list.n + 1, 1);

    for (uint32_t id = 1; id <= works->list.n; id++) {
        unsigned op = gpu_works_get(works, id)->op;

        calls[id] = op >= GPU_RUNTIME && op < GPU_OPS && op != GPU_ALLOC && op != GPU_FREE;
    }
    return calls;
}

void timeline_calls_plan(struct timeline_job *j, uint32_t task)
{
    if (j->calls.first[task] < j->calls.first[task + 1])
        timeline_plan_lane(j, task, TIMELINE_CALLS)->lane.name = name(j, "calls");
}

uint32_t timeline_gpu_process(struct timeline_job *j, uint32_t device)
{
    const struct gpu_device *d = &j->gpu.devices.a[device];
    char text[32] = "GPU";

    if (j->device_process[device])
        return j->device_process[device];
    if (d->rank)
        snprintf(text, sizeof(text), "rank %u GPU", d->rank - 1);
    j->device_process[device] = (uint32_t)j->t->processes.n;
    *vec_push(&j->t->processes) =
        (struct timeline_process){.pid = d->device ? d->device - 1u : 0, .name = name(j, text), .device = 1};
    return j->device_process[device];
}

/* ---- what ran ---- */

static struct raw_span raw_of(const struct timeline_job *j, uint32_t event, uint8_t state)
{
    const struct event *ev = job_event(j, event);

    return (struct raw_span){.start = job_time(j, ev->ts),
                             .end = job_time(j, ev->ts + ev->dur),
                             .event = event + 1,
                             .state = state,
                             .flags = ev->flags & EVENT_OPEN ? TIMELINE_OPEN : 0};
}

static void add_stream(struct timeline_job *j, const struct lane_plan *plan)
{
    static const uint8_t states[GPU_CLASSES] = {[GPU_COMPUTE] = TIMELINE_KERNEL,
                                                [GPU_COMMUNICATE] = TIMELINE_COMMUNICATION,
                                                [GPU_MOVE] = TIMELINE_COPY};
    struct timeline_rows rows = {.most = j->o->max_spans ? STREAM_ROWS : UINT16_MAX};

    for (uint32_t i = plan->stream->first; i < plan->stream->first + plan->stream->n; i++) {
        const struct event *ev = gpu_event(&j->gpu, &j->gpu.ran.a[i]);
        struct raw_span r = raw_of(j, j->gpu.ran.a[i].event, states[gpu_class_of(&j->gpu, ev)]);

        r.depth = timeline_row(&rows, &r);
        *vec_push(&j->raws) = r;
    }
    vec_release(&rows);
}

static void add_ranges(struct timeline_job *j, const struct lane_plan *plan)
{
    struct timeline_rows rows = {.most = j->o->max_spans ? STREAM_ROWS : UINT16_MAX};

    for (size_t i = 0; i < plan->nevents; i++) {
        struct raw_span r;

        if (!is_of(j, job_event(j, plan->events[i]), &j->gpu.devices.a[plan->device - 1]))
            continue;
        r = raw_of(j, plan->events[i], TIMELINE_OPERATOR);
        r.depth = timeline_row(&rows, &r);
        *vec_push(&j->raws) = r;
    }
    vec_release(&rows);
}

/* ---- idle time ---- */

/* What the host did in a gap. */
struct most {
    uint64_t ns[TIMELINE_IDLE_CAUSES], longest[TIMELINE_IDLE_CAUSES];
    uint32_t event[TIMELINE_IDLE_CAUSES]; /* + 1, of the longest piece */
};

_Static_assert((int)GPU_HOST_STATES == TIMELINE_IDLE_LAUNCH && (int)GPU_HOST_RAN == TIMELINE_IDLE_RAN &&
                   (int)GPU_HOST_UNSEEN == TIMELINE_IDLE_UNSEEN,
               "the causes begin as the host's states");

struct gap_look {
    const struct timeline_job *j;
    uint32_t task;
    struct most most;
};

static void add_cause(struct most *m, enum timeline_idle cause, uint32_t event, uint64_t ns)
{
    m->ns[cause] += ns;
    if (ns > m->longest[cause]) {
        m->longest[cause] = ns;
        m->event[cause] = event;
    }
}

static void add_piece(void *arg, enum gpu_host_state state, const struct event *ev, uint64_t from,
                      uint64_t to)
{
    struct gap_look *g = arg;
    const struct store *s = &g->j->s->store;
    const struct wake_lane *samples = &g->j->host.samples;
    uint32_t event = ev ? (uint32_t)(ev - s->events.a) + 1 : 0, i;

    if (state == GPU_HOST_RAN) { /* a sample tells where */
        i = wake_lane_find(samples, s, g->task, from);
        if (i < samples->first[g->task + 1] && s->events.a[samples->order[i]].ts < to)
            event = samples->order[i] + 1;
    }
    add_cause(&g->most, (enum timeline_idle)state, event, to - from);
}

/* Of the cause of most of it; the other causes become its parts. */
static struct raw_span idle_span(struct timeline_job *j, const struct gpu_run *next,
                                 const struct gpu_gap *gap)
{
    const struct event *call = gpu_launch(&j->gpu, next);
    struct gap_look g = {.j = j, .task = call ? call->task : 0};
    uint64_t asked = !call ? gap->end : call->ts < gap->end ? call->ts : gap->end;
    unsigned cause = 0;

    if (call && call->ts <= gap->start) {
        add_cause(&g.most, TIMELINE_IDLE_IN_TIME, next->launch, gap->end - gap->start);
    } else {
        gpu_host_during(&j->host, g.task, gap->start, asked, add_piece, &g);
        add_cause(&g.most, TIMELINE_IDLE_LAUNCH, next->launch, gap->end - asked);
    }
    for (unsigned c = 1; c < TIMELINE_IDLE_CAUSES; c++)
        cause = g.most.ns[c] > g.most.ns[cause] ? c : cause;
    for (unsigned c = 0; c < TIMELINE_IDLE_CAUSES; c++)
        if (c != cause && g.most.ns[c])
            *vec_push(&j->gap_parts) =
                (struct gap_part){(uint32_t)j->raws.n, (uint8_t)(TIMELINE_IDLE + c), g.most.ns[c]};
    return (struct raw_span){.start = job_time(j, gap->start),
                             .end = job_time(j, gap->end),
                             .event = g.most.event[cause],
                             .state = (uint8_t)(TIMELINE_IDLE + cause)};
}

static void add_idle(struct timeline_job *j, const struct lane_plan *plan)
{
    const struct gpu_device *d = &j->gpu.devices.a[plan->device - 1];
    struct gpu_slot *a = gpu_slots(&j->gpu, d->first, d->n);
    uint64_t busy_to = 0;
    struct gpu_gap gap;

    for (uint32_t at = 0; gpu_gap_next(&j->gpu, a, d->n, &at, &busy_to, &gap);) {
        struct raw_span r = idle_span(j, &j->gpu.ran.a[a[gap.next].run], &gap);

        *vec_push(&j->raws) = r;
    }
    free(a);
}

/* ---- calls ---- */

/* The outer of two that begin together first. */
static int outer_first(const void *pa, const void *pb)
{
    const struct raw_span *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* The depth of a call is how many others go on at its start. What is too deep for a page is left out. */
static void nest(struct timeline_job *j, size_t first)
{
    size_t most = j->o->max_spans ? CALL_ROWS : UINT16_MAX, kept = first;
    VEC(uint64_t) open = {0};

    for (size_t i = first; i < j->raws.n; i++) {
        struct raw_span r = j->raws.a[i];

        while (open.n && open.a[open.n - 1] <= r.start)
            open.n--;
        r.depth = (uint16_t)open.n;
        *vec_push(&open) = r.end;
        if (r.depth < most)
            j->raws.a[kept++] = r;
        else
            j->t->left_calls++;
    }
    j->raws.n = kept;
    vec_release(&open);
}

static void add_calls(struct timeline_job *j, const struct lane_plan *plan)
{
    size_t first = j->raws.n;
    int mixed = 0;

    for (size_t i = 0; i < plan->nevents; i++) {
        uint8_t state = j->call_states[job_event(j, plan->events[i])->attr];

        *vec_push(&j->raws) = raw_of(j, plan->events[i], state);
        mixed |= i && outer_first(&j->raws.a[j->raws.n - 2], &j->raws.a[j->raws.n - 1]) > 0;
    }
    if (mixed)
        qsort(j->raws.a + first, j->raws.n - first, sizeof(*j->raws.a), outer_first);
    nest(j, first);
}

void timeline_gpu_lane(struct timeline_job *j, struct lane_plan *plan)
{
    timeline_raws_begin(j, plan);
    if (plan->lane.kind == TIMELINE_STREAM)
        add_stream(j, plan);
    else if (plan->lane.kind == TIMELINE_IDLING)
        add_idle(j, plan);
    else if (plan->lane.kind == TIMELINE_RANGES)
        add_ranges(j, plan);
    else
        add_calls(j, plan);
    timeline_raws_end(j, plan);
    plan->lane.to = j->t->end;
}

/* ---- spans ---- */

static uint32_t take_work(struct timeline_job *j, uint32_t id)
{
    struct gpu_work w = *gpu_works_get(&j->s->store.gpus, id);

    if (!j->work_of[id]) {
        w.name = w.name ? name(j, strtab_get(&j->s->store.strings, w.name)) : 0;
        *vec_push(&j->t->works) = w;
        j->work_of[id] = (uint32_t)j->t->works.n;
    }
    return j->work_of[id];
}

void timeline_gpu_span(struct timeline_job *j, struct timeline_span *span, uint32_t event)
{
    const struct event *ev = job_event(j, event);
    const struct gpu_work *w = gpu_work_of(&j->gpu, ev);
    uint32_t index = (uint32_t)j->t->spans.n;

    if (!w)
        return;
    span->work = take_work(j, ev->attr);
    span->name = j->t->works.a[span->work - 1].name;
    if (w->op == GPU_ALLOC || w->op == GPU_FREE)
        return;
    span->correlation = ev->value;
    if (gpu_on_device(w))
        *vec_push(&j->launched) = (struct launched){index, event};
    else if (span->state < TIMELINE_IDLE && ev->value)
        *map_put(&j->call_span, event) = (uint64_t)index + 1;
}

void timeline_gpu_link(struct timeline_job *j)
{
    uint8_t *shown = mem_calloc(j->s->store.events.n / 8 + 1, 1); /* a bit an event: most are not */
    struct map span_of = {0};                                     /* event that ran -> its span + 1 */

    for (size_t i = 0; i < j->launched.n; i++) {
        uint32_t event = j->launched.a[i].event;

        *map_put(&span_of, event) = j->launched.a[i].span + 1ull;
        shown[event / 8] |= (uint8_t)(1 << event % 8);
    }
    for (size_t i = 0; i < j->gpu.ran.n && j->launched.n; i++) {
        const struct gpu_run *r = &j->gpu.ran.a[i];
        int is_shown = r->launch && shown[r->event / 8] >> r->event % 8 & 1;
        const uint64_t *span = is_shown ? map_get(&span_of, r->event) : NULL;
        const uint64_t *call = span ? map_get(&j->call_span, r->launch - 1) : NULL;

        if (call)
            j->t->spans.a[*span - 1].launch = (uint32_t)*call;
    }
    map_release(&span_of);
    free(shown);
}
