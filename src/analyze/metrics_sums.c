/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics_sums.h"

#include <math.h>
#include <stdlib.h>

#define SHORT_NS 100000000ull

static uint64_t key_of(uint32_t task, enum metric_id id, uint16_t cpu)
{
    return (uint64_t)task << 32 | (uint64_t)id << 16 | cpu;
}

static struct metrics_sum *sum_of(struct metrics_sums *x, uint32_t task, enum metric_id id, uint16_t cpu)
{
    uint64_t *at = map_put(&x->by_key, key_of(task, id, cpu));

    if (!*at) {
        *vec_push(&x->list) = (struct metrics_sum){
            .task = task, .cpu = cpu, .id = id, .least = NAN, .mean = NAN, .most = NAN, .last = NAN};
        *at = x->list.n;
    }
    return &x->list.a[*at - 1];
}

static void widen(struct metrics_sum *m, double value)
{
    m->least = m->least < value ? m->least : value; /* a comparison with NAN is false */
    m->most = m->most > value ? m->most : value;
}

static void add_count(struct metrics_sum *m, const struct event *ev)
{
    double rate = metrics_rate(ev);

    m->total += (double)ev->value;
    if (ev->dur >= SHORT_NS || isnan(m->last)) {
        widen(m, rate);
        m->last = rate;
    }
}

/* For gauges `total` is value times ns so far, `to` when it began to be `last`. */
static void add_level(struct metrics_sum *m, const struct event *ev)
{
    if (m->n && ev->ts > m->to)
        m->total += m->last * (double)(ev->ts - m->to);
    widen(m, (double)ev->value);
    m->last = (double)ev->value;
}

static void add(struct metrics_sums *x, const struct event *ev, enum metric_id id)
{
    const struct metric *metric = metrics_get(id);
    struct metrics_sum *m = sum_of(x, ev->task, id, metric->of & METRIC_CPU ? ev->cpu : METRIC_ANY_CPU);
    uint64_t end = ev->ts + ev->dur;

    if (metric->kind == METRIC_COUNTER)
        add_count(m, ev);
    else
        add_level(m, ev);
    m->from = m->n && m->from < ev->ts ? m->from : ev->ts;
    m->to = m->n && m->to > end ? m->to : end;
    m->n++;
}

/* A gauge held until its task was measured for the last time. */
static void finish(struct metrics_sums *x)
{
    size_t ntasks = x->s->store.tasks.list.n;
    uint64_t *ends = mem_calloc(ntasks + 1, sizeof(*ends)), end = 0;

    for (size_t i = 0; i < x->list.n; i++) {
        const struct metrics_sum *m = &x->list.a[i];

        if (m->task <= ntasks && m->to > ends[m->task])
            ends[m->task] = m->to;
        end = m->to > end ? m->to : end;
    }
    for (size_t i = 0; i < x->list.n; i++) {
        struct metrics_sum *m = &x->list.a[i];

        if (metrics_get(m->id)->kind == METRIC_GAUGE) {
            uint64_t until = m->task <= ntasks ? ends[m->task] : end;

            m->total += m->last * (double)(until - m->to);
            m->to = until;
            m->mean = m->to > m->from ? m->total / (double)(m->to - m->from) : m->last;
            m->total = NAN;
        } else {
            m->mean = m->to > m->from ? m->total * 1e9 / (double)(m->to - m->from) : NAN;
        }
    }
    free(ends);
}

static int in_order(const void *pa, const void *pb)
{
    const struct metrics_sum *a = pa, *b = pb;
    uint64_t x = key_of(a->task, a->id, a->cpu), y = key_of(b->task, b->id, b->cpu);

    return x < y ? -1 : x > y;
}

/* Instructions per cycle is of the cycles, not of the time. */
static void weigh_ipc(struct metrics_sums *x, enum metric_id id, enum metric_id instructions,
                      enum metric_id cycles)
{
    for (size_t i = 0; i < x->list.n; i++) {
        struct metrics_sum *m = &x->list.a[i];
        const struct metrics_sum *n, *c;

        if (m->id != id)
            continue;
        n = metrics_sums_find(x, m->task, instructions);
        c = metrics_sums_find(x, m->task, cycles);
        if (n && c && c->total > 0)
            m->mean = n->total / c->total * METRIC_MILLION;
    }
}

void metrics_sums_init(struct metrics_sums *x, const struct session *s)
{
    const struct strtab *strings = &s->store.strings;
    uint8_t *ids = mem_calloc((size_t)strtab_count(strings) + 1, 1);

    *x = (struct metrics_sums){.s = s};
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        ids[strtab_find(strings, metrics_get((enum metric_id)id)->name)] = (uint8_t)id;
    ids[0] = METRIC_NONE;
    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];

        if (ev->kind == EVENT_METRIC && ev->metric <= strtab_count(strings) && ids[ev->metric])
            add(x, ev, (enum metric_id)ids[ev->metric]);
    }
    free(ids);
    finish(x);
    if (x->list.n)
        qsort(x->list.a, x->list.n, sizeof(*x->list.a), in_order);
    for (size_t i = 0; i < x->list.n; i++)
        *map_put(&x->by_key, key_of(x->list.a[i].task, x->list.a[i].id, x->list.a[i].cpu)) = i + 1;
    weigh_ipc(x, METRIC_ID_IPC, METRIC_ID_INSTRUCTIONS, METRIC_ID_CYCLES);
    weigh_ipc(x, METRIC_ID_TREE_IPC, METRIC_ID_TREE_INSTRUCTIONS, METRIC_ID_TREE_CYCLES);
}

void metrics_sums_release(struct metrics_sums *x)
{
    vec_release(&x->list);
    map_release(&x->by_key);
}

const struct metrics_sum *metrics_sums_find(const struct metrics_sums *x, uint32_t task, enum metric_id id)
{
    const uint64_t *at = map_get(&x->by_key, key_of(task, id, METRIC_ANY_CPU));

    return at ? &x->list.a[*at - 1] : NULL;
}

int metrics_sums_is_machine(const struct metrics_sums *x, uint32_t task)
{
    const struct origins *o = &x->s->store.origins;
    const struct tasks *tasks = &x->s->store.tasks;

    if (!task || task > tasks->list.n || tasks->list.a[task - 1].tid)
        return !task;
    for (size_t i = 0; i < o->list.n; i++)
        if (o->list.a[i].machine == task)
            return 1;
    return 0;
}

uint32_t metrics_sums_machine(const struct metrics_sums *x)
{
    const struct origins *o = &x->s->store.origins;
    uint32_t only = 0;

    for (size_t i = 0; i < o->list.n; i++) {
        uint32_t machine = o->list.a[i].machine;

        if (only && machine && machine != only)
            return METRICS_MACHINES;
        only = machine ? machine : only;
    }
    return only;
}

const struct metrics_sum *metrics_sums_of_machine(const struct metrics_sums *x, enum metric_id id)
{
    return metrics_sums_find(x, metrics_sums_machine(x), id);
}

uint64_t metrics_sums_total(const struct metrics_sums *x, uint32_t task, enum metric_id id)
{
    const struct metrics_sum key = {.task = task, .id = id};
    size_t low = 0, high = x->list.n;
    uint64_t sum = METRICS_NONE;

    while (low < high) { /* the first of that metric */
        size_t middle = (low + high) / 2;

        if (in_order(&x->list.a[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < x->list.n && x->list.a[low].task == task && x->list.a[low].id == id; low++)
        sum = (sum == METRICS_NONE ? 0 : sum) + (uint64_t)x->list.a[low].total;
    return sum;
}

uint64_t metrics_sums_most(const struct metrics_sums *x, uint32_t task, enum metric_id id)
{
    const struct metrics_sum *m = metrics_sums_find(x, task, id);

    return m ? (uint64_t)m->most : METRICS_NONE;
}

uint64_t metrics_sums_max_rss(const struct metrics_sums *x, uint32_t task)
{
    uint64_t seen = metrics_sums_most(x, task, METRIC_ID_MEMORY_RSS);
    uint64_t peak = metrics_sums_most(x, task, METRIC_ID_MEMORY_PEAK);

    if (seen == METRICS_NONE || peak == METRICS_NONE)
        return seen == METRICS_NONE ? peak : seen;
    return seen > peak ? seen : peak;
}
