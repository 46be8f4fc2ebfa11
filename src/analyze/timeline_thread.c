/* SPDX-License-Identifier: Apache-2.0 */
/* What one thread did: waits and delays as they were recorded, and running in between; marks. */
#include "analyze/timeline_job.h"

static uint8_t state_of(const struct timeline_job *j, const struct event *ev)
{
    const struct wait *w;

    if (ev->kind == EVENT_RUNQ)
        return ev->flags & EVENT_PREEMPTED ? TIMELINE_PREEMPTED : TIMELINE_RUNNABLE;
    if (ev->kind == EVENT_GIL)
        return TIMELINE_WAITING + WAIT_GIL;
    w = waits_get(&j->s->store.waits, ev->attr);
    return (uint8_t)(TIMELINE_WAITING + wait_reason_of(w));
}

static uint8_t flags_of(const struct timeline_job *j, const struct event *ev)
{
    const struct wait *w = ev->kind == EVENT_OFFCPU ? waits_get(&j->s->store.waits, ev->attr) : NULL;

    return (uint8_t)((ev->flags & EVENT_OPEN ? TIMELINE_OPEN : 0) | (w && w->irq ? TIMELINE_IRQ : 0));
}

static struct raw_span raw_of(const struct timeline_job *j, uint32_t index)
{
    const struct event *ev = job_event(j, index);

    return (struct raw_span){.start = job_time(j, ev->ts),
                             .end = job_time(j, ev->ts + ev->dur),
                             .event = index + 1,
                             .state = state_of(j, ev),
                             .flags = flags_of(j, ev)};
}

static void sum_short(struct timeline_lane *lane, const struct event *ev)
{
    lane->short_n += ev->value;
    if (ev->kind == EVENT_RUNQ)
        lane->short_queued_ns += ev->dur;
    else
        lane->short_wait_ns += ev->dur;
}

/* What was cut away was no running: waits are gone from there, too. */
static void add_running(struct timeline_job *j, uint32_t task, uint64_t start, uint64_t end)
{
    const struct cut_scope *scope = j->o->cut ? cut_of(j->o->cut, task) : NULL;

    if (!scope) {
        *vec_push(&j->raws) = (struct raw_span){.start = start, .end = end, .state = TIMELINE_RUNNING};
        return;
    }
    for (size_t i = cut_find(scope, j->start + start); i < scope->ranges.n; i++) {
        uint64_t from = job_time(j, scope->ranges.a[i].start), to = job_time(j, scope->ranges.a[i].end);

        if (from >= end)
            return;
        from = from > start ? from : start;
        to = to < end ? to : end;
        if (to > from)
            *vec_push(&j->raws) = (struct raw_span){.start = from, .end = to, .state = TIMELINE_RUNNING};
    }
}

/* What the scheduler did to the thread, in `depth` 0, or its waits for the GIL in 1. They do not overlap:
 * what does, by rounding or because records were lost, is cut. Gives the end of the last. */
static uint64_t add_spans(struct timeline_job *j, struct lane_plan *plan, uint16_t depth, uint64_t from)
{
    uint64_t done = from;

    for (size_t i = 0; i < plan->nevents; i++) {
        const struct event *ev = job_event(j, plan->events[i]);
        struct raw_span r;

        if (depth ? ev->kind != EVENT_GIL : ev->kind != EVENT_OFFCPU && ev->kind != EVENT_RUNQ)
            continue;
        if (ev->flags & EVENT_SHORT) {
            if (!depth)
                sum_short(&plan->lane, ev);
            continue;
        }
        r = raw_of(j, plan->events[i]);
        r.depth = depth;
        if (r.start < done)
            r.start = done;
        if (r.end <= r.start)
            continue;
        if (r.start > done && !depth)
            add_running(j, plan->task, done, r.start);
        *vec_push(&j->raws) = r;
        done = r.end;
        plan->lane.depth = (uint16_t)(depth + 1 > plan->lane.depth ? depth + 1 : plan->lane.depth);
    }
    return done;
}

/* When it was born, and when its recording began: one of several may have begun later. A start has no clock
 * but its host's. */
static uint64_t born_at(const struct timeline_job *j, const struct task *t, uint64_t *begin)
{
    const struct origin *o = origins_get(&j->s->store.origins, t->origin);
    uint64_t recorded = o && o->session ? job_time(j, o->start_ns) : 0;

    *begin = recorded > j->begin ? recorded : j->begin;
    return job_time(j, o ? (uint64_t)((int64_t)t->start_ns + o->offset_ns) : t->start_ns);
}

/*
 * From the thread's first to its last moment in the recording. One that was there before ran since things are
 * seen at all, for a wait would have been seen. Starts are of CLOCK_BOOTTIME, which is as much ahead as the
 * machine was suspended: what is too late for the first event counts for nothing.
 */
static void lifetime(const struct timeline_job *j, struct lane_plan *plan)
{
    const struct task *first = &j->s->store.tasks.list.a[plan->task - 1];
    const struct task *last = &j->s->store.tasks.list.a[j->image_of[plan->task] - 1];
    struct timeline_lane *lane = &plan->lane;
    uint64_t begin, born = born_at(j, first, &begin);

    lane->from = UINT64_MAX;
    lane->to = last->last_ns ? job_time(j, last->last_ns) : j->t->end;
    for (size_t i = 0; i < plan->nevents; i++) {
        const struct event *ev = job_event(j, plan->events[i]);
        uint64_t start = job_time(j, ev->ts),
                 end = ev->flags & EVENT_SHORT ? start : job_time(j, ev->ts + ev->dur);

        if (ev->kind != EVENT_OFFCPU && ev->kind != EVENT_RUNQ && ev->kind != EVENT_SAMPLE)
            continue;
        lane->from = start < lane->from ? start : lane->from;
        lane->to = end > lane->to ? end : lane->to;
    }
    if (first->start_ns && born < lane->from)
        lane->from = born > begin ? born : begin;
    if (lane->from > j->t->end)
        lane->from = j->t->end;
    if (lane->to > j->t->end)
        lane->to = j->t->end;
}

void timeline_thread(struct timeline_job *j, struct lane_plan *plan)
{
    uint64_t done;

    plan->raw = j->raws.n;
    plan->lane.depth = 1;
    lifetime(j, plan);
    if (j->t->states) {
        done = add_spans(j, plan, 0, plan->lane.from);
        if (done < plan->lane.to)
            add_running(j, plan->task, done, plan->lane.to);
    }
    add_spans(j, plan, 1, 0);
    plan->nraw = j->raws.n - plan->raw;
}

/* ---- marks ---- */

#define MARK_ROWS 8 /* on a page */

uint16_t timeline_row(struct timeline_rows *rows, const struct raw_span *r)
{
    size_t i = 0;

    while (i < rows->n && rows->a[i] > r->start)
        i++;
    if (i == rows->n && i < rows->most)
        *vec_push(rows) = 0;
    else if (i == rows->n)
        i--;
    rows->a[i] = r->end;
    return (uint16_t)i;
}

/* Instants have the row 0 for themselves where there are any: their names stand there. */
static int has_instants(const struct timeline_job *j, const struct lane_plan *plan)
{
    for (size_t i = 0; i < plan->nevents; i++)
        if (job_event(j, plan->events[i])->kind == EVENT_MARKER && !job_event(j, plan->events[i])->dur)
            return 1;
    return 0;
}

void timeline_raws_begin(struct timeline_job *j, struct lane_plan *plan)
{
    plan->raw = j->raws.n;
}

/* They come in the order of time: it is kept within each depth. */
static void sort_by_depth(struct raw_span *a, size_t n)
{
    size_t depths = 0, sum = 0, *at;
    struct raw_span *from;

    for (size_t i = 0; i < n; i++)
        depths = a[i].depth >= depths ? a[i].depth + 1u : depths;
    at = mem_calloc(depths, sizeof(*at));
    for (size_t i = 0; i < n; i++)
        at[a[i].depth]++;
    for (size_t d = 0; d < depths; d++) {
        size_t count = at[d];

        at[d] = sum;
        sum += count;
    }
    from = mem_dup(a, n * sizeof(*a));
    for (size_t i = 0; i < n; i++)
        a[at[from[i].depth]++] = from[i];
    free(from);
    free(at);
}

void timeline_raws_end(struct timeline_job *j, struct lane_plan *plan)
{
    struct raw_span *a;
    size_t i = 1;

    plan->nraw = j->raws.n - plan->raw;
    if (!plan->nraw)
        return;
    a = j->raws.a + plan->raw;
    while (i < plan->nraw && a[i - 1].depth <= a[i].depth)
        i++;
    if (i < plan->nraw)
        sort_by_depth(a, plan->nraw);
    if (a[plan->nraw - 1].depth >= plan->lane.depth)
        plan->lane.depth = (uint16_t)(a[plan->nraw - 1].depth + 1);
}

void timeline_marks(struct timeline_job *j, struct lane_plan *plan)
{
    struct timeline_rows rows = {.most = j->o->max_spans ? MARK_ROWS : UINT16_MAX};

    timeline_raws_begin(j, plan);
    if (has_instants(j, plan))
        *vec_push(&rows) = UINT64_MAX;
    for (size_t i = 0; i < plan->nevents; i++) {
        struct raw_span r;

        if (job_event(j, plan->events[i])->kind != EVENT_MARKER)
            continue;
        r = raw_of(j, plan->events[i]);
        r.state = TIMELINE_MARK;
        r.depth = r.end > r.start ? timeline_row(&rows, &r) : 0;
        *vec_push(&j->raws) = r;
    }
    timeline_raws_end(j, plan);
    plan->lane.to = j->t->end;
    vec_release(&rows);
}
