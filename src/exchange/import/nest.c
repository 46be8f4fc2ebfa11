/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/nest.h"

#include "base/mem.h"
#include "model/gpu.h"

#include <stdlib.h>

/* ---- order: by task, start, the longer first, as they came ---- */

struct span {
    uint64_t ts, dur;
    uint32_t task, event;
};

static int in_order(const struct span *a, const struct span *b)
{
    if (a->task != b->task)
        return a->task < b->task;
    if (a->ts != b->ts)
        return a->ts < b->ts;
    return a->dur >= b->dur;
}

/* The end of the run that begins at i. */
static size_t run_end(const struct span *a, size_t i, size_t n)
{
    for (i++; i < n && in_order(&a[i - 1], &a[i]);)
        i++;
    return i;
}

static void merge(const struct span *a, const struct span *a_end, const struct span *b,
                  const struct span *b_end, struct span *to)
{
    while (a < a_end && b < b_end)
        *to++ = in_order(a, b) ? *a++ : *b++;
    while (a < a_end)
        *to++ = *a++;
    while (b < b_end)
        *to++ = *b++;
}

/* Merges neighbouring runs until one is left: traces are in long runs, one a kind and thread. */
static void sort_spans(struct span *a, size_t n)
{
    struct span *other = NULL, *from = a, *to;

    while (run_end(from, 0, n) < n) {
        if (!other)
            other = mem_alloc(n * sizeof(*other));
        to = from == a ? other : a;
        for (size_t i = 0; i < n;) {
            size_t mid = run_end(from, i, n), end = mid < n ? run_end(from, mid, n) : n;

            merge(from + i, from + mid, from + mid, from + end, to + i);
            i = end;
        }
        from = to;
    }
    if (n && from != a)
        memcpy(a, from, n * sizeof(*a));
    free(other);
}

/* ---- nesting ---- */

struct open_span {
    uint64_t end;
    uint32_t stack;
};

static uint64_t nest_task(struct store *s, const struct span *spans, size_t n, const uint32_t *frame_of)
{
    struct open_span open[NEST_DEPTH_MAX];
    uint64_t deep = 0;
    size_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        struct event *ev = &s->events.a[spans[i].event];
        uint32_t above;

        while (depth && open[depth - 1].end <= spans[i].ts)
            depth--;
        above = depth ? open[depth - 1].stack : 0;
        if (frame_of[ev->attr] == NEST_AROUND) {
            ev->stack = above;
            continue;
        }
        if (depth == NEST_DEPTH_MAX) {
            ev->stack = above;
            ev->flags |= EVENT_TRUNCATED;
            deep++;
            continue;
        }
        ev->stack = stacks_push(&s->stacks, above, frame_of[ev->attr]);
        if (ev->dur)
            open[depth++] = (struct open_span){ev->ts + ev->dur, ev->stack};
    }
    return deep;
}

uint64_t nest_spans(struct store *s, size_t first, const uint32_t *frame_of, size_t n)
{
    VEC(struct span) spans = {0};
    uint64_t deep = 0;

    for (size_t i = first; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->attr < n && frame_of[ev->attr])
            *vec_push(&spans) = (struct span){ev->ts, ev->dur, ev->task, (uint32_t)i};
    }
    sort_spans(spans.a, spans.n);
    for (size_t i = 0, end; i < spans.n; i = end) {
        for (end = i + 1; end < spans.n && spans.a[end].task == spans.a[i].task;)
            end++;
        deep += nest_task(s, spans.a + i, end - i, frame_of);
    }
    vec_release(&spans);
    return deep;
}

/* ---- launches ---- */

struct launch {
    uint64_t correlation, ts;
    uint32_t event, driver;
};

static int by_correlation(const void *x, const void *y)
{
    const struct launch *a = x, *b = y;

    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->driver != b->driver)
        return a->driver < b->driver ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* How many of a[0..n) are before *key. */
static size_t count_before(const struct launch *a, size_t n, const struct launch *key)
{
    size_t low = 0;

    while (n) {
        size_t half = n / 2;

        if (by_correlation(&a[low + half], key) < 0) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* The call of what ran. Of several processes' calls of one id, the last that began before it. NULL: none. */
static const struct launch *find(const struct launch *a, size_t n, const struct event *ran)
{
    struct launch key = {.correlation = ran->value};
    size_t first = ran->value ? count_before(a, n, &key) : n, last;

    if (first == n || a[first].correlation != ran->value)
        return NULL;
    key = (struct launch){ran->value, ran->ts, UINT32_MAX, a[first].driver};
    last = count_before(a + first, n - first, &key);
    return &a[first + (last ? last - 1 : 0)];
}

uint64_t nest_launches(struct store *s, size_t first, const struct gpu_works *works)
{
    VEC(struct launch) calls = {0};
    uint64_t orphans = 0;

    for (size_t i = first; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(works, ev->attr) : NULL;

        if (w && ev->value && (w->op == GPU_RUNTIME || w->op == GPU_DRIVER))
            *vec_push(&calls) = (struct launch){ev->value, ev->ts, (uint32_t)i, w->op == GPU_DRIVER};
    }
    if (calls.n)
        qsort(calls.a, calls.n, sizeof(*calls.a), by_correlation);
    for (size_t i = first; i < s->events.n; i++) {
        struct event *ev = &s->events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(works, ev->attr) : NULL;
        const struct launch *l;

        if (!w || ev->task || !(gpu_on_device(w) || w->op == GPU_SYNC))
            continue;
        l = find(calls.a, calls.n, ev);
        if (l) {
            ev->stack = s->events.a[l->event].stack;
            ev->task = s->events.a[l->event].task;
        } else {
            orphans += gpu_on_device(w);
        }
    }
    vec_release(&calls);
    return orphans;
}
