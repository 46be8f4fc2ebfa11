/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_host.h"

#include <stdlib.h>

static int is_span(const struct event *ev)
{
    return !(ev->flags & EVENT_SHORT);
}

/* ---- calls, taken apart ---- */

static int is_call(const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = gpu_works_get(&s->gpus, ev->attr);

    return w && (w->op == GPU_RUNTIME || w->op == GPU_DRIVER || w->op == GPU_SYNC || w->op == GPU_OPERATOR);
}

/* The outer of two that begin together comes first. */
static int by_start(const void *pa, const void *pb)
{
    const struct gpu_host_piece *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

static void add_piece(struct gpu_host *h, uint32_t event, uint64_t *at, uint64_t to)
{
    if (to <= *at)
        return;
    *vec_push(&h->pieces) = (struct gpu_host_piece){*at, to, event};
    *at = to;
}

/* Each moment is of the innermost call. */
static void flatten(struct gpu_host *h, const struct gpu_host_piece *calls, size_t n)
{
    VEC(struct gpu_host_piece) open = {0};
    uint64_t at = 0;

    for (size_t i = 0; i <= n; i++) {
        uint64_t now = i < n ? calls[i].start : UINT64_MAX;

        while (open.n && open.a[open.n - 1].end <= now) {
            add_piece(h, open.a[open.n - 1].event, &at, open.a[open.n - 1].end);
            open.n--;
        }
        if (i == n)
            break;
        if (open.n)
            add_piece(h, open.a[open.n - 1].event, &at, now);
        at = now > at ? now : at;
        *vec_push(&open) = calls[i];
    }
    vec_release(&open);
}

static void take_calls(struct gpu_host *h)
{
    size_t tasks = h->s->tasks.list.n;
    VEC(struct gpu_host_piece) calls = {0};
    struct wake_lane lane;

    wake_lane_init(&lane, h->s, 1 << EVENT_GPU, NULL);
    h->first = mem_calloc(tasks + 2, sizeof(*h->first));
    for (uint32_t task = 0; task <= tasks; task++) {
        h->first[task] = (uint32_t)h->pieces.n;
        vec_clear(&calls);
        for (uint32_t i = lane.first[task]; task && i < lane.first[task + 1]; i++) {
            const struct event *ev = &h->s->events.a[lane.order[i]];

            if (ev->dur && is_call(h->s, ev))
                *vec_push(&calls) = (struct gpu_host_piece){ev->ts, ev->ts + ev->dur, lane.order[i]};
        }
        if (calls.n)
            qsort(calls.a, calls.n, sizeof(*calls.a), by_start);
        flatten(h, calls.a, calls.n);
    }
    h->first[tasks + 1] = (uint32_t)h->pieces.n;
    vec_release(&calls);
    wake_lane_release(&lane);
}

/* ---- */

void gpu_host_init(struct gpu_host *h, const struct store *s)
{
    *h = (struct gpu_host){.s = s};
    wake_lane_init(&h->spans, s, 1 << EVENT_OFFCPU | 1 << EVENT_RUNQ, is_span);
    wake_lane_init(&h->gil, s, 1 << EVENT_GIL, is_span);
    wake_lane_init(&h->samples, s, 1 << EVENT_SAMPLE, NULL);
    h->states = h->spans.first[s->tasks.list.n + 1] > 0;
    if (!h->states)
        take_calls(h);
}

void gpu_host_release(struct gpu_host *h)
{
    wake_lane_release(&h->spans);
    wake_lane_release(&h->gil);
    wake_lane_release(&h->samples);
    vec_release(&h->pieces);
    free(h->first);
    h->first = NULL;
}

struct look {
    const struct gpu_host *h;
    uint32_t task;
    gpu_host_each each;
    void *arg;
};

static void tell(const struct look *l, enum gpu_host_state state, const struct event *ev, uint64_t from,
                 uint64_t to)
{
    if (from < to)
        l->each(l->arg, state, ev, from, to);
}

static void called(const struct look *l, uint64_t from, uint64_t to)
{
    const struct gpu_host *h = l->h;
    uint32_t low = h->first[l->task], high = h->first[l->task + 1], end = high;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (h->pieces.a[mid].end <= from)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < end && h->pieces.a[low].start < to; low++) {
        const struct gpu_host_piece *p = &h->pieces.a[low];
        uint64_t a = p->start > from ? p->start : from, b = p->end < to ? p->end : to;

        tell(l, GPU_HOST_UNSEEN, NULL, from, a);
        tell(l, GPU_HOST_CALLED, &h->s->events.a[p->event], a, b);
        from = b;
    }
    tell(l, GPU_HOST_UNSEEN, NULL, from, to);
}

/* What neither the scheduler nor the GIL kept from it. */
static void ran(const struct look *l, uint64_t from, uint64_t to)
{
    const struct wake_lane *samples = &l->h->samples;

    if (l->h->states || samples->first[l->task] < samples->first[l->task + 1])
        tell(l, GPU_HOST_RAN, NULL, from, to);
    else
        called(l, from, to);
}

/* Spans of a lane, and between them what `otherwise` tells. */
static void walk(const struct look *l, const struct wake_lane *lane, uint64_t from, uint64_t to,
                 void (*otherwise)(const struct look *l, uint64_t from, uint64_t to))
{
    uint32_t i = wake_lane_find(lane, l->h->s, l->task, from), end = lane->first[l->task + 1];

    if (i > lane->first[l->task]) /* one that began before may last */
        i--;
    for (; i < end; i++) {
        const struct event *ev = &l->h->s->events.a[lane->order[i]];
        uint64_t a = ev->ts > from ? ev->ts : from, b = ev->ts + ev->dur < to ? ev->ts + ev->dur : to;

        if (ev->ts >= to)
            break;
        if (b <= a)
            continue;
        if (from < a)
            otherwise(l, from, a);
        tell(l,
             ev->kind == EVENT_GIL    ? GPU_HOST_GIL
             : ev->kind == EVENT_RUNQ ? GPU_HOST_QUEUED
                                      : GPU_HOST_BLOCKED,
             ev, a, b);
        from = b;
    }
    if (from < to)
        otherwise(l, from, to);
}

static void scheduled(const struct look *l, uint64_t from, uint64_t to)
{
    walk(l, &l->h->spans, from, to, ran);
}

void gpu_host_during(const struct gpu_host *h, uint32_t task, uint64_t from, uint64_t to, gpu_host_each each,
                     void *arg)
{
    struct look l = {h, task, each, arg};

    if (task && task <= h->s->tasks.list.n)
        walk(&l, &h->gil, from, to, scheduled);
    else
        tell(&l, GPU_HOST_UNSEEN, NULL, from, to);
}

/* "[stack over budget]", and nothing else. */
static int is_marker(const struct store *s, uint32_t stack)
{
    const struct stack_node *n = stacks_get(&s->stacks, stack);
    const struct frame *f = n && !n->parent ? frames_get(&s->frames, n->frame) : NULL;

    return !n || (f && f->kind == FRAME_MARKER);
}

/* Of the lane's events of the span's thread before it and after `since` the last with a stack; else since. */
static const struct event *known_before(const struct wake_lane *lane, const struct store *s,
                                        const struct event *span, const struct event *since)
{
    for (uint32_t i = wake_lane_find(lane, s, span->task, span->ts); i > lane->first[span->task]; i--) {
        const struct event *ev = &s->events.a[lane->order[i - 1]];

        if (since && ev->ts <= since->ts)
            break;
        if (!is_marker(s, ev->stack))
            return ev;
    }
    return since;
}

uint32_t gpu_host_stack(const struct gpu_host *h, const struct event *span)
{
    const struct event *at;

    if (!is_marker(h->s, span->stack))
        return span->stack;
    if (span->kind != EVENT_RUNQ || !(span->flags & EVENT_PREEMPTED))
        return 0;
    at = known_before(&h->samples, h->s, span, NULL);
    at = known_before(&h->spans, h->s, span, at);
    return at ? at->stack : 0;
}
