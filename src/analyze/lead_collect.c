/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a lead did. */
#include "analyze/crew.h"

#include "base/mem.h"

#include <stddef.h>
#include <stdlib.h>

/* ---- lanes ---- */

static int by_from(const void *pa, const void *pb)
{
    const struct lead_thread *a = pa, *b = pb;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

static int by_lane(const void *pa, const void *pb)
{
    const struct lead_thread *a = pa, *b = pb;

    return a->lane != b->lane ? (a->lane < b->lane ? -1 : 1) : by_from(pa, pb);
}

/* Each is in the first lane that is free when it begins. */
static void give_lanes(struct lead *l)
{
    VEC(uint64_t) until = {0};

    qsort(l->threads.a, l->threads.n, sizeof(*l->threads.a), by_from);
    for (size_t i = 0; i < l->threads.n; i++) {
        struct lead_thread *t = &l->threads.a[i];

        while (t->lane < until.n && until.a[t->lane] > t->from)
            t->lane++;
        if (t->lane == until.n)
            vec_push(&until);
        until.a[t->lane] = t->to;
    }
    vec_release(&until);
    qsort(l->threads.a, l->threads.n, sizeof(*l->threads.a), by_lane);
}

/* ---- what they did ---- */

/* An event and where it belongs. */
struct item {
    uint32_t thread, event;
    uint64_t ts;
};

typedef VEC(struct item) items;

static int by_place(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

static int by_start(const void *pa, const void *pb)
{
    const struct lead_span *a = pa, *b = pb;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* A later one begins where the one before it ends, should both claim the time. */
static void part(struct lead *l)
{
    size_t n = 0;

    if (l->spans.n)
        qsort(l->spans.a, l->spans.n, sizeof(*l->spans.a), by_start);
    for (size_t i = 0; i < l->spans.n; i++) {
        struct lead_span x = l->spans.a[i];
        struct lead_range *own = &l->threads.a[x.thread].spans;

        if (own->end > own->first && x.start < l->spans.a[n - 1].end)
            x.start = l->spans.a[n - 1].end;
        if (x.end <= x.start)
            continue;
        if (own->end == own->first)
            own->first = own->end = n;
        own->end++;
        l->spans.a[n++] = x;
    }
    l->spans.n = n;
}

static void add_span(struct lead *l, const struct session *s, size_t i, uint32_t thread,
                     const struct crew_idle *idle)
{
    const struct event *ev = &s->store.events.a[i];
    uint64_t begin = s->meta.start_mono, end = s->meta.end_mono;
    uint64_t from = ev->ts > begin ? ev->ts : begin, to = ev->ts + ev->dur < end ? ev->ts + ev->dur : end;

    uint8_t kind = ev->kind == EVENT_RUNQ ? LEAD_QUEUE : LEAD_WAIT;

    if (to <= from)
        return;
    if (kind == LEAD_WAIT && idle && crew_idle_is(idle, ev))
        kind = LEAD_IDLE;
    *vec_push(&l->spans) = (struct lead_span){from, to, (uint32_t)i, thread, kind};
}

static void add_events(struct lead *l, const struct session *s, const struct crew_idle *idle, items *samples,
                       items *shorts)
{
    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];
        int off = ev->kind == EVENT_OFFCPU || ev->kind == EVENT_RUNQ;
        uint32_t thread = ev->task <= s->store.tasks.list.n ? l->thread_of[ev->task] : 0;

        l->any_waits |= off;
        if (!thread--)
            continue;
        if (ev->kind == EVENT_SAMPLE)
            *vec_push(samples) = (struct item){thread, (uint32_t)i, ev->ts};
        if (!off)
            continue;
        l->waits = 1;
        if (ev->flags & EVENT_SHORT) {
            l->short_ns += ev->dur;
            *vec_push(shorts) = (struct item){thread, (uint32_t)i, ev->ts};
        } else {
            add_span(l, s, i, thread, idle);
        }
    }
}

static void mark_tasks(struct lead *l, const struct store *s)
{
    struct map index = {0};

    for (uint32_t i = 0; i < l->threads.n; i++)
        *map_put(&index, s->tasks.list.a[l->threads.a[i].task - 1].tid + 1ull) = i + 1;
    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];
        const uint64_t *thread = map_get(&index, t->tid + 1ull);

        /* A tid that was used again is rare enough to look for. */
        for (uint32_t k = thread ? (uint32_t)*thread : 0; k; k--)
            if (task_same_thread(t, &s->tasks.list.a[l->threads.a[k - 1].task - 1])) {
                l->thread_of[i + 1] = k;
                l->cpu_ns += t->cpu_ns;
                break;
            }
    }
    map_release(&index);
}

/* How long they were there. A delay may begin before a worker is first seen: it begins when it is started. */
static void measure(struct lead *l)
{
    for (size_t i = 0; i < l->threads.n; i++) {
        struct lead_thread *t = &l->threads.a[i];

        if (l->crew && t->spans.first < t->spans.end) {
            uint64_t from = l->spans.a[t->spans.first].start, to = l->spans.a[t->spans.end - 1].end;

            t->from = from < t->from ? from : t->from;
            t->to = to > t->to ? to : t->to;
        }
        l->life_ns += t->to - t->from;
    }
    for (size_t i = 0; i < l->spans.n; i++)
        if (l->spans.a[i].kind == LEAD_IDLE)
            l->idle_ns += l->spans.a[i].end - l->spans.a[i].start;
    l->life_ns = l->life_ns > l->idle_ns ? l->life_ns - l->idle_ns : 0;
}

/* By thread, by time; `range`: where in a thread it is told which of them are its. */
static void order(items *list, struct lead *l, size_t range, lead_events *out)
{
    if (list->n)
        qsort(list->a, list->n, sizeof(*list->a), by_place);
    for (size_t i = 0; i < list->n; i++) {
        struct lead_range *own = (struct lead_range *)((char *)&l->threads.a[list->a[i].thread] + range);

        own->first = own->end ? own->first : i;
        own->end = i + 1;
        *vec_push(out) = list->a[i].event;
    }
}

void lead_collect(struct lead *l, const struct session *s, const struct crew_idle *idle)
{
    uint64_t wall = s->meta.end_mono - s->meta.start_mono;
    items samples = {0}, shorts = {0};

    give_lanes(l);
    mark_tasks(l, &s->store);
    add_events(l, s, idle, &samples, &shorts);
    part(l);
    measure(l);
    l->lanes = wall ? (uint32_t)((l->life_ns + wall - 1) / wall) : 1;
    l->lanes = l->lanes ? l->lanes : 1;
    order(&samples, l, offsetof(struct lead_thread, samples), &l->samples);
    order(&shorts, l, offsetof(struct lead_thread, shorts), &l->shorts);
    vec_release(&samples);
    vec_release(&shorts);
}
