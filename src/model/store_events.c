/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event blocks. Rows are sorted by kind, task, time: a run of one thread's samples then lies on the grid of
 * the timer that took them, ts = base + m * period + r, where m mostly grows by one and r is the timer's
 * latency.
 */
#include "model/column.h"
#include "model/store_log.h"

#include <string.h>

struct columns {
    uint64_t *kind, *cpu, *task, *flags, *metric, *attr, *value, *dur, *step, *rest, *stack, *first;
};

enum { COLUMNS = sizeof(struct columns) / sizeof(uint64_t *) };

static struct columns columns_new(size_t n)
{
    uint64_t *a = mem_alloc((n ? n : 1) * COLUMNS * sizeof(*a));

    return (struct columns){a,         a + n,     a + 2 * n, a + 3 * n, a + 4 * n,  a + 5 * n,
                            a + 6 * n, a + 7 * n, a + 8 * n, a + 9 * n, a + 10 * n, a + 11 * n};
}

static int u64_cmp(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int same_run(const struct event *a, const struct event *b)
{
    return a->kind == b->kind && a->task == b->task;
}

enum { STEPS_LOOKED_AT = 4096 };

/* The commonest step of the samples, taken as their median; 1 where there are too few to tell. */
static uint64_t period_of(const struct event *ev, size_t n, uint64_t *scratch)
{
    size_t k = 0;

    for (size_t i = 1; i < n; i++)
        if (ev[i].kind == EVENT_SAMPLE && same_run(&ev[i - 1], &ev[i]) && ev[i].ts > ev[i - 1].ts)
            scratch[k++] = ev[i].ts - ev[i - 1].ts;
    if (k < 16)
        return 1;
    /* Of very many, a part tells as well. */
    for (size_t i = 0, every = k / STEPS_LOOKED_AT + 1; i * every < k; i++)
        scratch[n = i] = scratch[i * every];
    qsort(scratch, n + 1, sizeof(*scratch), u64_cmp);
    return scratch[(n + 1) / 2];
}

static size_t times_put(const struct columns *c, const struct event *ev, size_t n, uint64_t from,
                        uint64_t period)
{
    uint64_t base = 0, m = 0;
    size_t runs = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t d, at;
        int64_t r;

        if (!i || !same_run(&ev[i - 1], &ev[i])) {
            base = ev[i].ts;
            m = 0;
            c->first[runs++] = base - from;
        }
        d = ev[i].ts - base;
        at = d / period + (d % period > period / 2);
        r = (int64_t)(d - at * period);
        c->step[i] = at - m;
        c->rest[i] = ((uint64_t)r << 1) ^ (uint64_t)(r >> 63);
        m = at;
    }
    return runs;
}

int store_events_put(struct wlog_payload *p, const struct event *ev, size_t n, struct zpacker *trial)
{
    struct columns c = columns_new(n);
    uint64_t from = UINT64_MAX, to = 0, period;
    size_t runs;

    for (size_t i = 0; i < n; i++) {
        from = ev[i].ts < from ? ev[i].ts : from;
        to = ev[i].ts > to ? ev[i].ts : to;
    }
    period = period_of(ev, n, c.step);
    runs = times_put(&c, ev, n, from, period);
    for (size_t i = 0; i < n; i++) {
        c.kind[i] = ev[i].kind;
        c.cpu[i] = ev[i].cpu;
        c.task[i] = ev[i].task;
        c.flags[i] = ev[i].flags;
        c.metric[i] = ev[i].metric;
        c.attr[i] = ev[i].attr;
        c.value[i] = ev[i].value;
        c.dur[i] = ev[i].dur;
        c.stack[i] = ev[i].stack;
    }
    buf_add_varint(&p->raw, n);
    buf_add_varint(&p->raw, from);
    buf_add_varint(&p->raw, to - from);
    buf_add_varint(&p->raw, period);
    store_log_column(p, c.kind, n, WLOG_EVENTS, trial);
    store_log_column(p, c.task, n, WLOG_EVENTS, trial);
    store_log_column(p, c.cpu, n, WLOG_EVENTS, trial);
    store_log_column(p, c.flags, n, WLOG_EVENTS, trial);
    store_log_column(p, c.metric, n, WLOG_EVENTS, trial);
    store_log_column(p, c.attr, n, WLOG_EVENTS, trial);
    store_log_column(p, c.value, n, WLOG_EVENTS, trial);
    store_log_column(p, c.dur, n, WLOG_EVENTS, trial);
    store_log_column(p, c.first, runs, WLOG_EVENTS, trial);
    store_log_column(p, c.step, n, WLOG_EVENTS, trial);
    store_log_column(p, c.rest, n, WLOG_EVENTS, trial);
    store_log_column(p, c.stack, n, WLOG_STACKS, trial);
    free(c.kind);
    return 0;
}

static int same_run_at(const struct columns *c, size_t i)
{
    return c->kind[i] == c->kind[i - 1] && c->task[i] == c->task[i - 1];
}

static size_t count_runs(const struct columns *c, size_t n)
{
    size_t runs = n > 0;

    for (size_t i = 1; i < n; i++)
        runs += !same_run_at(c, i);
    return runs;
}

/* ---- rows ---- */

/* Times into the column of steps. */
static void times_get(const struct columns *c, size_t n, uint64_t from, uint64_t period)
{
    uint64_t base = 0, m = 0;
    size_t run = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t r = (c->rest[i] >> 1) ^ -(c->rest[i] & 1);

        if (!i || !same_run_at(c, i)) {
            base = from + c->first[run++];
            m = 0;
        }
        m += c->step[i];
        c->step[i] = base + m * period + r;
    }
}

static int in_range(const struct store *s, const struct columns *c, size_t n)
{
    uint64_t kind = 0, cpu = 0, flags = 0, task = 0, stack = 0, metric = 0, attr = 0;

    for (size_t i = 0; i < n; i++) {
        kind |= c->kind[i];
        cpu |= c->cpu[i];
        flags |= c->flags[i];
        attr |= c->attr[i];
        task = c->task[i] > task ? c->task[i] : task;
        stack = c->stack[i] > stack ? c->stack[i] : stack;
        metric = c->metric[i] > metric ? c->metric[i] : metric;
    }
    return (kind | cpu | flags) <= UINT16_MAX && attr <= UINT32_MAX && task <= s->tasks.list.n &&
           stack <= s->stacks.nodes.n && metric <= strtab_count(&s->strings);
}

static struct event row(const struct columns *c, size_t i)
{
    return (struct event){.ts = c->step[i],
                          .dur = c->dur[i],
                          .value = c->value[i],
                          .task = (uint32_t)c->task[i],
                          .stack = (uint32_t)c->stack[i],
                          .metric = (uint32_t)c->metric[i],
                          .attr = (uint32_t)c->attr[i],
                          .cpu = (uint16_t)c->cpu[i],
                          .flags = (uint16_t)c->flags[i],
                          .kind = (uint16_t)c->kind[i]};
}

/* A run whose rows from `at` on are to come. */
struct head {
    size_t at, end;
};

static struct head *heads(const struct columns *c, size_t n, size_t runs)
{
    struct head *h = mem_alloc(runs * sizeof(*h));
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (!i || !same_run_at(c, i))
            h[k++].at = i;
        h[k - 1].end = i + 1;
    }
    return h;
}

static int is_earlier(const uint64_t *ts, const struct head *a, const struct head *b)
{
    return ts[a->at] != ts[b->at] ? ts[a->at] < ts[b->at] : a->at < b->at;
}

/* The heap's element i comes to where it belongs. */
static void sift(const uint64_t *ts, struct head *h, size_t n, size_t i)
{
    struct head x = h[i];

    for (size_t k = 2 * i + 1; k < n; i = k, k = 2 * i + 1) {
        if (k + 1 < n && is_earlier(ts, &h[k + 1], &h[k]))
            k++;
        if (!is_earlier(ts, &h[k], &x))
            break;
        h[i] = h[k];
    }
    h[i] = x;
}

/* Rows of several runs, each of which is in order of time, in that order: what readers want, and cheaper now
 * than to sort all in the end. What has one time keeps its order. */
static void rows_get(const struct columns *c, size_t n, size_t runs, struct event *ev)
{
    struct head *h = heads(c, n, runs);

    for (size_t i = runs / 2; i-- > 0;)
        sift(c->step, h, runs, i);
    for (size_t i = 0; i < n; i++) {
        ev[i] = row(c, h[0].at++);
        if (h[0].at == h[0].end)
            h[0] = h[--runs];
        if (runs)
            sift(c->step, h, runs, 0);
    }
    free(h);
}

int store_events_get(struct store *s, struct cursor *cur, size_t n)
{
    uint64_t from = cursor_varint(cur), period;
    struct columns c;
    size_t runs;
    int rc = -1;

    cursor_varint(cur); /* the last time: for those who skip blocks by time */
    period = cursor_varint(cur);
    c = columns_new(n);
    column_get(cur, c.kind, n);
    column_get(cur, c.task, n);
    column_get(cur, c.cpu, n);
    column_get(cur, c.flags, n);
    column_get(cur, c.metric, n);
    column_get(cur, c.attr, n);
    column_get(cur, c.value, n);
    column_get(cur, c.dur, n);
    runs = count_runs(&c, n);
    column_get(cur, c.first, runs);
    column_get(cur, c.step, n);
    column_get(cur, c.rest, n);
    column_get(cur, c.stack, n);
    if (!cur->bad && in_range(s, &c, n)) {
        times_get(&c, n, from, period);
        vec_reserve(&s->events, s->events.n + n);
        for (size_t i = 0; i < n && s->as_written; i++)
            s->events.a[s->events.n + i] = row(&c, i);
        if (n && !s->as_written)
            rows_get(&c, n, runs, s->events.a + s->events.n);
        s->events.n += n;
        rc = 0;
    }
    free(c.kind);
    return rc;
}
