/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { GENERATIONS = 64 }; /* of processes: damaged sessions may have rings of them */

/* ---- whose units count for which task ---- */

/* task id -> the first task of the same process: each program that it executes in turn is another. */
static uint32_t *processes_of(const struct tasks *tasks)
{
    size_t n = tasks->list.n;
    uint32_t *process = mem_calloc(n + 1, sizeof(*process));
    struct map first = {0};

    for (uint32_t id = 1; id <= n; id++) {
        const struct task *t = &tasks->list.a[id - 1];
        uint32_t leader = t->leader && t->leader <= n ? t->leader : id;
        const struct task *l = &tasks->list.a[leader - 1];
        uint64_t *found = map_put(&first, hash_mix(l->pid, l->start_ns));

        /* Without a start's time one pid may be several processes. */
        *found = *found && l->start_ns ? *found : leader;
        process[id] = (uint32_t)*found;
    }
    map_release(&first);
    return process;
}

/* The scope of the process itself or of its nearest ancestor with one. */
static uint32_t inherited(const struct tasks *tasks, const uint32_t *process, const uint32_t *own,
                          uint32_t task)
{
    uint32_t at = process[task];

    for (int i = 0; i < GENERATIONS && at; i++) {
        uint32_t parent = tasks->list.a[at - 1].parent;

        if (own[at])
            return own[at];
        at = parent && parent <= tasks->list.n ? process[parent] : 0;
    }
    return 0;
}

uint32_t cut_scopes(const struct session *s, const struct units *u, const struct units_choice *choice,
                    uint32_t *scope_of, uint32_t *of_unit)
{
    const struct tasks *tasks = &s->store.tasks;
    uint32_t *process = processes_of(tasks), *own = mem_calloc(tasks->list.n + 1, sizeof(*own)), n = 1;

    /* All of the kind give scopes, also those that were not chosen: their process's time is their own. */
    for (size_t i = 0; i < u->list.n; i++) {
        uint32_t task = u->list.a[i].task;

        if (u->list.a[i].kind == choice->kind && task && !own[process[task]])
            own[process[task]] = n++;
    }
    scope_of[0] = 0;
    for (uint32_t id = 1; id <= tasks->list.n; id++)
        scope_of[id] = inherited(tasks, process, own, id);
    for (size_t i = 0; i < choice->chosen.n; i++) {
        uint32_t task = u->list.a[choice->chosen.a[i]].task;

        of_unit[i] = task ? own[process[task]] : 0;
    }
    free(process);
    free(own);
    return n;
}

/* ---- pieces of time ---- */

/* Those of one scope come by their start: what touches or overlaps the one before makes it longer. */
static void add_range(struct cut_scope *scope, uint64_t start, uint64_t end)
{
    struct cut_range *last = scope->ranges.n ? &scope->ranges.a[scope->ranges.n - 1] : NULL;

    if (last && start <= last->end)
        last->end = end > last->end ? end : last->end;
    else if (end > start)
        *vec_push(&scope->ranges) = (struct cut_range){start, end};
}

static void invert(struct cut_scope *scope)
{
    struct cut_scope gaps = {0};
    uint64_t at = 0;

    for (size_t i = 0; i < scope->ranges.n; i++) {
        if (scope->ranges.a[i].start > at)
            *vec_push(&gaps.ranges) = (struct cut_range){at, scope->ranges.a[i].start};
        at = scope->ranges.a[i].end;
    }
    *vec_push(&gaps.ranges) = (struct cut_range){at, UINT64_MAX};
    vec_release(&scope->ranges);
    *scope = gaps;
}

void cut_init(struct cut *c, const struct session *s, const struct units *u,
              const struct units_choice *choice)
{
    uint32_t *of_unit = mem_calloc(choice->chosen.n + 1, sizeof(*of_unit)), n;

    *c = (struct cut){.ntasks = s->store.tasks.list.n};
    c->scope_of = mem_calloc(c->ntasks + 1, sizeof(*c->scope_of));
    n = cut_scopes(s, u, choice, c->scope_of, of_unit);
    for (uint32_t i = 0; i < n; i++)
        *vec_push(&c->scopes) = (struct cut_scope){0};
    for (size_t i = 0; i < choice->chosen.n; i++) {
        const struct unit *x = &u->list.a[choice->chosen.a[i]];

        add_range(&c->scopes.a[0], x->start, x->end);
        if (of_unit[i])
            add_range(&c->scopes.a[of_unit[i]], x->start, x->end);
    }
    for (uint32_t i = 0; choice->outside && i < n; i++)
        invert(&c->scopes.a[i]);
    free(of_unit);
}

void cut_release(struct cut *c)
{
    for (size_t i = 0; i < c->scopes.n; i++)
        vec_release(&c->scopes.a[i].ranges);
    vec_release(&c->scopes);
    free(c->scope_of);
    *c = (struct cut){0};
}

const struct cut_scope *cut_of(const struct cut *c, uint32_t task)
{
    return &c->scopes.a[task <= c->ntasks ? c->scope_of[task] : 0];
}

size_t cut_find(const struct cut_scope *scope, uint64_t ts)
{
    size_t low = 0, high = scope->ranges.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (scope->ranges.a[mid].end <= ts)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- what lasts until the next one of its kind ---- */

static int is_sum(const struct event *ev)
{
    return ev->flags & EVENT_SHORT && (ev->kind == EVENT_OFFCPU || ev->kind == EVENT_RUNQ);
}

/* A gauge holds its value until the next one; counters have intervals (metrics.h). */
static int is_gauge(const struct event *ev)
{
    return ev->kind == EVENT_METRIC && !ev->dur;
}

/* One of a series: a thread's sums, a metric of one task and CPU. */
struct serial {
    uint64_t ts;
    uint32_t task, metric, event;
    uint16_t cpu;
};

static int by_series(const struct serial *a, const struct serial *b)
{
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static int by_series_and_time(const void *pa, const void *pb)
{
    const struct serial *a = pa, *b = pb;
    int order = by_series(a, b);

    return order ? order : a->ts < b->ts ? -1 : a->ts > b->ts;
}

static uint64_t end_of_task(const struct session *s, uint32_t task, uint64_t last)
{
    const struct task *t = task && task <= s->store.tasks.list.n ? &s->store.tasks.list.a[task - 1] : NULL;
    uint64_t end = t && t->last_ns ? t->last_ns : s->meta.end_mono;

    return end > last ? end : last + 1;
}

uint64_t *cut_ends(const struct session *s)
{
    const struct store *st = &s->store;
    uint64_t *ends = mem_calloc(st->events.n + 1, sizeof(*ends)), end = 0;
    VEC(struct serial) list = {0};

    for (size_t i = 0; i < st->events.n; i++) {
        const struct event *ev = &st->events.a[i];

        if (is_sum(ev))
            *vec_push(&list) = (struct serial){.ts = ev->ts, .task = ev->task, .event = (uint32_t)i};
        else if (is_gauge(ev))
            *vec_push(&list) = (struct serial){ev->ts, ev->task, ev->metric, (uint32_t)i, ev->cpu};
    }
    if (list.n)
        qsort(list.a, list.n, sizeof(*list.a), by_series_and_time);
    /* Several sums of one moment, one a reason, have one end. */
    for (size_t i = list.n; i-- > 0;) {
        const struct serial *x = &list.a[i], *next = i + 1 < list.n ? x + 1 : NULL;

        if (!next || by_series(next, x))
            end = end_of_task(s, x->task, x->ts);
        else if (next->ts > x->ts)
            end = next->ts;
        ends[x->event] = end;
    }
    vec_release(&list);
    return ends;
}

/* ---- the events ---- */

/* How much of `whole`, spread evenly over `length`, lies before `at`: differences of it add up. */
static uint64_t part(uint64_t whole, uint64_t at, uint64_t length)
{
    return (uint64_t)((unsigned __int128)whole * at / length);
}

/* An event from `start` to `end`, of which each piece of time gets its part. The first one counts as the
 * whole in what is counted: spans. */
static void cut_span(const struct cut_scope *scope, const struct event *ev, uint64_t end, struct store *out)
{
    uint64_t length = end - ev->ts;
    int sum = is_sum(ev), shared = sum || ev->kind == EVENT_METRIC;

    for (size_t i = cut_find(scope, ev->ts); i < scope->ranges.n && scope->ranges.a[i].start < end; i++) {
        const struct cut_range *r = &scope->ranges.a[i];
        uint64_t from = r->start > ev->ts ? r->start - ev->ts : 0,
                 to = r->end < end ? r->end - ev->ts : length;
        struct event piece = *ev;

        piece.ts = ev->ts + from;
        piece.dur = sum ? part(ev->dur, to, length) - part(ev->dur, from, length) : to - from;
        if (shared)
            piece.value = part(ev->value, to, length) - part(ev->value, from, length);
        else if (from && ev->kind != EVENT_GPU) /* whose value is a number that tells calls apart */
            piece.value = 0;
        if (piece.dur || piece.value)
            *vec_push(&out->events) = piece;
    }
}

/* A level that holds until `end`: where a piece of time begins later it begins there. */
static void cut_level(const struct cut_scope *scope, const struct event *ev, uint64_t end, struct store *out)
{
    for (size_t i = cut_find(scope, ev->ts); i < scope->ranges.n && scope->ranges.a[i].start < end; i++) {
        struct event piece = *ev;

        if (scope->ranges.a[i].start > ev->ts)
            piece.ts = scope->ranges.a[i].start;
        *vec_push(&out->events) = piece;
    }
}

void cut_event(const struct cut_scope *scope, const struct event *ev, uint64_t lasts_to, struct store *out)
{
    size_t i;

    if (is_gauge(ev)) {
        cut_level(scope, ev, lasts_to, out);
        return;
    }
    if (lasts_to || ev->dur) {
        cut_span(scope, ev, lasts_to ? lasts_to : ev->ts + ev->dur, out);
        return;
    }
    i = cut_find(scope, ev->ts);
    if (i < scope->ranges.n && scope->ranges.a[i].start <= ev->ts)
        *vec_push(&out->events) = *ev;
}

void cut_apply(struct cut *c, struct session *s)
{
    uint64_t *ends = cut_ends(s);
    struct store kept = {0};

    for (size_t i = 0; i < s->store.events.n; i++)
        if (s->store.events.a[i].kind < 32)
            c->had |= 1u << s->store.events.a[i].kind;
    for (size_t i = 0; i < s->store.events.n; i++)
        cut_event(cut_of(c, s->store.events.a[i].task), &s->store.events.a[i], ends[i], &kept);
    store_replace_events(&s->store, &kept);
    for (size_t i = 0; i < s->store.tasks.list.n; i++)
        s->store.tasks.list.a[i].cpu_ns = 0;
    free(ends);
}
