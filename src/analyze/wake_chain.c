/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/wake_chain.h"

#include "analyze/waits_top.h"
#include "base/mem.h"

#include <stdlib.h>

/* Two periods of 99 Hz: a sample that is no further away tells what a thread did that ran. */
#define NEAR_NS 20000000ull

/* Events looked at for one wait, and for all: some seconds of work at most. */
enum { LEFT_OF_ONE = 2000, LEFT_OF_ALL = 50000000 };

/* ---- the events of a thread ---- */

static int is_span(const struct event *ev)
{
    return !(ev->flags & EVENT_SHORT);
}

static int is_sample(const struct event *ev)
{
    return ev->stack != 0;
}

void wake_lane_init(struct wake_lane *l, const struct store *s, unsigned kinds,
                    int (*is)(const struct event *ev))
{
    size_t tasks = s->tasks.list.n, n = 0;
    uint32_t *next = mem_calloc(tasks + 2, sizeof(*next));
    VEC(uint32_t) found = {0}; /* events are many, and looked through once */

    l->first = mem_calloc(tasks + 2, sizeof(*l->first));
    store_each(s, i, kinds)
        if ((!is || is(&s->events.a[i])) && s->events.a[i].task <= tasks)
            *vec_push(&found) = (uint32_t)i;
    for (size_t i = 0; i < found.n; i++)
        next[s->events.a[found.a[i]].task]++;
    for (size_t t = 0; t <= tasks; t++) {
        l->first[t] = (uint32_t)n;
        n += next[t];
        next[t] = l->first[t];
    }
    l->first[tasks + 1] = (uint32_t)n;
    l->order = mem_calloc(n + 1, sizeof(*l->order));
    for (size_t i = 0; i < found.n; i++)
        l->order[next[s->events.a[found.a[i]].task]++] = found.a[i];
    vec_release(&found);
    for (size_t t = 0; t <= tasks; t++)
        store_by_time(s, l->order + l->first[t], l->first[t + 1] - l->first[t]);
    free(next);
}

void wake_lane_release(struct wake_lane *l)
{
    free(l->first);
    free(l->order);
    *l = (struct wake_lane){0};
}

uint32_t wake_lane_find(const struct wake_lane *l, const struct store *s, uint32_t task, uint64_t ts)
{
    uint32_t lo = l->first[task], hi = l->first[task + 1];

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (s->events.a[l->order[mid]].ts < ts)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void wake_chain_init(struct wake_chain *c, const struct store *s)
{
    *c = (struct wake_chain){.s = s, .left = LEFT_OF_ALL};
    wake_lane_init(&c->spans, s, 1 << EVENT_OFFCPU, is_span);
    wake_lane_init(&c->gils, s, 1 << EVENT_GIL, is_span);
    wake_lane_init(&c->samples, s, 1 << EVENT_SAMPLE, is_sample);
}

void wake_chain_release(struct wake_chain *c)
{
    wake_lane_release(&c->spans);
    wake_lane_release(&c->gils);
    wake_lane_release(&c->samples);
}

/* ---- one wait ---- */

struct walk {
    struct wake_chain *c;
    uint32_t waiter;
    struct wake_step steps[WAKE_STEPS];
    unsigned n;
    uint64_t told;
    unsigned left;
    wake_each each;
    void *arg;
};

static int look(struct walk *w)
{
    if (!w->left || !w->c->left)
        return 0;
    w->left--;
    w->c->left--;
    return 1;
}

static void tell(struct walk *w, uint64_t ns)
{
    if (!ns)
        return;
    w->each(w->arg, w->steps, w->n, ns);
    w->told += ns;
}

/* Between two samples, of which `next` is the later one: the nearer one; UINT32_MAX where both are far. */
static uint32_t nearest(const struct walk *w, uint32_t task, uint32_t next, uint64_t from, uint64_t to)
{
    const struct wake_lane *l = &w->c->samples;
    uint64_t before = NEAR_NS, after = NEAR_NS;

    if (next > l->first[task])
        before = from - w->c->s->events.a[l->order[next - 1]].ts;
    if (next < l->first[task + 1])
        after = w->c->s->events.a[l->order[next]].ts - to;
    if (before >= NEAR_NS && after >= NEAR_NS)
        return UINT32_MAX;
    return before < after ? next - 1 : next;
}

/* The thread was not blocked from `from` to `to`: its samples share that time, or it was where the nearest
 * one was. */
static void ran(struct walk *w, uint32_t task, uint64_t from, uint64_t to)
{
    const struct wake_lane *l = &w->c->samples;
    uint32_t first, end;
    uint64_t ns, done = 0;

    if (from >= to || w->n == WAKE_STEPS)
        return;
    first = wake_lane_find(l, w->c->s, task, from);
    end = wake_lane_find(l, w->c->s, task, to);
    ns = to - from;
    if (first == end) {
        first = nearest(w, task, end, from, to);
        end = first == UINT32_MAX ? first : first + 1;
    }
    for (uint32_t i = first; i < end && look(w); i++) {
        uint64_t until = ns / (end - first) * (i - first + 1);

        if (i + 1 == end)
            until = ns;
        w->steps[w->n++] = (struct wake_step){task, w->c->s->events.a[l->order[i]].stack, NULL};
        tell(w, until - done);
        w->n--;
        done = until;
    }
}

static int in_chain(const struct walk *w, uint32_t task)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->steps[i].task == task)
            return 1;
    return task == w->waiter;
}

static void during(struct walk *w, uint32_t task, uint64_t from, uint64_t to);

/* Whoever held the GIL that a thread waited for at that time, for most of the wait; 0: not known. */
static uint32_t holder(const struct wake_chain *c, uint32_t task, uint64_t ts)
{
    uint32_t i = wake_lane_find(&c->gils, c->s, task, ts + 1);
    const struct event *ev;
    const struct wait *wait;

    if (i == c->gils.first[task])
        return 0;
    ev = &c->s->events.a[c->gils.order[i - 1]];
    wait = ev->ts + ev->dur > ts ? waits_get(&c->s->waits, ev->attr) : NULL;
    return wait ? wait->waker_task : 0;
}

/* Who it was that the wait ev was for; 0: nobody, or not known. */
static uint32_t waited_for(const struct wake_chain *c, const struct event *ev)
{
    const struct wait *wait = waits_get(&c->s->waits, ev->attr);
    uint32_t task = 0;

    if (wait && wait->reason == WAIT_GIL)
        task = holder(c, ev->task, ev->ts);
    else if (wait)
        task = wait->waker_task;
    return task <= c->s->tasks.list.n ? task : 0;
}

/* It was blocked then: what it waited for is what the one that woke it, or held the GIL, did; the rest is its
 * own. */
static void blocked(struct walk *w, const struct event *ev, uint64_t from, uint64_t to)
{
    uint32_t whom = waited_for(w->c, ev);
    uint64_t told = w->told;

    if (from >= to || w->n == WAKE_STEPS)
        return;
    w->steps[w->n++] = (struct wake_step){ev->task, ev->stack, ev};
    if (whom && w->n < WAKE_STEPS && !in_chain(w, whom))
        during(w, whom, from, to);
    tell(w, to - from - (w->told - told));
    w->n--;
}

/* From the end of that time to its beginning, so that what is nearest to the waking is seen first. */
static void during(struct walk *w, uint32_t task, uint64_t from, uint64_t to)
{
    const struct wake_lane *l = &w->c->spans;

    for (uint32_t i = wake_lane_find(l, w->c->s, task, to); i-- > l->first[task] && to > from && look(w);) {
        const struct event *ev = &w->c->s->events.a[l->order[i]];
        uint64_t begin = ev->ts > from ? ev->ts : from, end = ev->ts + ev->dur < to ? ev->ts + ev->dur : to;

        if (end <= from)
            break;
        ran(w, task, end, to);
        blocked(w, ev, begin, end);
        to = begin;
    }
    ran(w, task, from, to);
}

uint64_t wake_chain_follow(struct wake_chain *c, const struct event *wait, wake_each each, void *arg)
{
    const struct wait *how = waits_get(&c->s->waits, wait->attr);
    struct walk w = {.c = c, .waiter = wait->task, .left = LEFT_OF_ONE, .each = each, .arg = arg};

    if (!is_span(wait) || !how || !how->waker_task || how->waker_task > c->s->tasks.list.n ||
        how->waker_task == wait->task || (!how->irq && waits_inferred(c->s, how->waker_stack)))
        return 0;
    during(&w, how->waker_task, wait->ts, wait->ts + wait->dur);
    return w.told;
}
