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

/* The commonest step of the samples, taken as their median; 1 where there are too few to tell. */
static uint64_t period_of(const struct event *ev, size_t n, uint64_t *scratch)
{
    size_t k = 0;

    for (size_t i = 1; i < n; i++)
        if (ev[i].kind == EVENT_SAMPLE && same_run(&ev[i - 1], &ev[i]) && ev[i].ts > ev[i - 1].ts)
            scratch[k++] = ev[i].ts - ev[i - 1].ts;
    if (k < 16)
        return 1;
    qsort(scratch, k, sizeof(*scratch), u64_cmp);
    return scratch[k / 2];
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

static size_t count_runs(const struct columns *c, size_t n)
{
    size_t runs = n > 0;

    for (size_t i = 1; i < n; i++)
        runs += c->kind[i] != c->kind[i - 1] || c->task[i] != c->task[i - 1];
    return runs;
}

static int rows_get(struct store *s, const struct columns *c, size_t n, uint64_t from, uint64_t period)
{
    uint64_t base = 0, m = 0;
    struct event *ev;
    size_t run = 0;

    vec_reserve(&s->events, s->events.n + n);
    ev = s->events.a + s->events.n;
    for (size_t i = 0; i < n; i++) {
        uint64_t r = (c->rest[i] >> 1) ^ -(c->rest[i] & 1);

        if (!i || c->kind[i] != c->kind[i - 1] || c->task[i] != c->task[i - 1]) {
            base = from + c->first[run++];
            m = 0;
        }
        m += c->step[i];
        if (c->kind[i] > UINT16_MAX || c->cpu[i] > UINT16_MAX || c->flags[i] > UINT16_MAX ||
            c->task[i] > s->tasks.list.n || c->stack[i] > s->stacks.nodes.n ||
            c->metric[i] > strtab_count(&s->strings) || c->attr[i] > UINT32_MAX)
            return -1;
        ev[i] = (struct event){.ts = base + m * period + r,
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
    s->events.n += n;
    return 0;
}

int store_events_get(struct store *s, struct cursor *cur, size_t n)
{
    uint64_t from = cursor_varint(cur), period;
    struct columns c;
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
    column_get(cur, c.first, count_runs(&c, n));
    column_get(cur, c.step, n);
    column_get(cur, c.rest, n);
    column_get(cur, c.stack, n);
    if (!cur->bad)
        rc = rows_get(s, &c, n, from, period);
    free(c.kind);
    return rc;
}
