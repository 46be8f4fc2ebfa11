/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of metrics: which there are, and their points. */
#include "analyze/timeline_job.h"

#include "model/metrics.h"

#include <stdio.h>

_Static_assert(METRIC_IDS <= UINT8_MAX, "a lane has a byte for it");

/* ---- which there are ---- */

static void name_metrics(struct timeline_job *j)
{
    const struct strtab *strings = &j->s->store.strings;

    j->metric_ids = mem_calloc((size_t)strtab_count(strings) + 1, 1);
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        j->metric_ids[strtab_find(strings, metrics_get((enum metric_id)id)->name)] = (uint8_t)id;
    j->metric_ids[0] = METRIC_NONE;
}

/* Threads' time on a CPU is what their own lanes show. */
static int is_drawn(const struct timeline_job *j, const struct event *ev)
{
    return ev->kind == EVENT_METRIC && !(ev->task && j->metric_ids[ev->metric] == METRIC_ID_SCHED_ONCPU);
}

/* What tells its lane from others of the task. */
static uint64_t key_of(const struct timeline_job *j, const struct event *ev)
{
    enum metric_id id = (enum metric_id)j->metric_ids[ev->metric];
    uint16_t cpu = id && metrics_get(id)->of & METRIC_CPU ? ev->cpu : 0;

    return (uint64_t)ev->metric << 16 | cpu;
}

static size_t plan_of(struct timeline_job *j, uint32_t task, struct map *plans, const struct event *ev)
{
    uint64_t key = key_of(j, ev), *at = map_put(plans, key);

    if (!*at) {
        struct lane_plan *plan = timeline_plan_lane(j, task, TIMELINE_METRIC);

        plan->metric = ev->metric;
        plan->cpu = (uint16_t)key;
        if (j->metric_ids[ev->metric]) /* in the order of the list of metrics */
            plan->order = (uint32_t)j->metric_ids[ev->metric] << 16 | plan->cpu;
        else
            plan->order += METRIC_IDS << 16;
        *at = j->plans.n;
    }
    return (size_t)*at - 1;
}

void timeline_metrics_plan(struct timeline_job *j, uint32_t task)
{
    const uint32_t *events = j->events.list + j->events.first[task];
    size_t n = j->events.first[task + 1] - j->events.first[task], since = j->plans.n, at = j->metric_events.n;
    struct map plans = {0};

    if (!j->metric_ids)
        name_metrics(j);
    for (size_t i = 0; i < n; i++)
        if (is_drawn(j, job_event(j, events[i]))) {
            size_t plan = plan_of(j, task, &plans, job_event(j, events[i]));

            j->plans.a[plan].nmetrics++;
        }
    for (size_t p = since; p < j->plans.n; p++) {
        j->plans.a[p].weight = task ? n : SIZE_MAX; /* all of a process stay, or none; the machine's stay */
        j->plans.a[p].metrics = at;
        at += j->plans.a[p].nmetrics;
        j->plans.a[p].nmetrics = 0;
    }
    vec_reserve(&j->metric_events, at);
    j->metric_events.n = at;
    for (size_t i = 0; i < n; i++) {
        struct lane_plan *plan;
        size_t which;

        if (!is_drawn(j, job_event(j, events[i])))
            continue;
        which = plan_of(j, task, &plans, job_event(j, events[i]));
        plan = &j->plans.a[which];
        j->metric_events.a[plan->metrics + plan->nmetrics++] = events[i];
    }
    map_release(&plans);
}

/* ---- their points ---- */

/* Looks are ten times as far from each other, and more; but the last one comes at the end, right behind the
 * one before it. A rate of so short a time is none. */
#define SHORT_NS 10000000ull

/* The i-th of the lane and the short ones behind it, of which *i becomes the last. */
static struct event joined(const struct timeline_job *j, const struct lane_plan *plan, enum metric_id id,
                           size_t *i)
{
    const uint32_t *list = &j->metric_events.a[plan->metrics];
    struct event ev = *job_event(j, list[*i]);

    if (!id || metrics_get(id)->kind != METRIC_COUNTER)
        return ev;
    for (; *i + 1 < plan->nmetrics; ++*i) {
        const struct event *next = job_event(j, list[*i + 1]);

        if (next->dur >= SHORT_NS || next->ts != ev.ts + ev.dur)
            break;
        ev.dur += next->dur;
        ev.value += next->value;
    }
    return ev;
}

/* Counters are drawn as rates. */
static uint64_t value_of(enum metric_id id, const struct event *ev)
{
    double rate;

    if (!id || metrics_get(id)->kind != METRIC_COUNTER)
        return ev->value;
    rate = metrics_rate(ev);
    return rate < 1.8e19 ? (uint64_t)(rate + 0.5) : UINT64_MAX;
}

void timeline_point(struct timeline_job *j, uint64_t ts, uint64_t value, uint64_t bin, uint64_t *last)
{
    if (bin && ts / bin == *last) {
        struct timeline_point *before = &j->t->points.a[j->t->points.n - 1];

        before->value = value > before->value ? value : before->value;
        return;
    }
    *last = bin ? ts / bin : UINT64_MAX;
    *vec_push(&j->t->points) = (struct timeline_point){ts, value};
}

/* When the last thing was measured of a task; 0: only moments were. */
static uint64_t end_of(const struct timeline_job *j, const struct lane_plan *plan)
{
    uint64_t end = 0;

    for (size_t i = 0; i < plan->nevents; i++) {
        const struct event *ev = job_event(j, plan->events[i]);

        if (ev->kind == EVENT_METRIC && ev->dur && ev->ts + ev->dur > end)
            end = ev->ts + ev->dur;
    }
    return end ? job_time(j, end) : 0;
}

static void add_name(struct timeline_job *j, struct lane_plan *plan, enum metric_id id)
{
    const char *name = strtab_get(&j->s->store.strings, plan->metric);
    char text[64];

    if (id && metrics_get(id)->of & METRIC_CPU) {
        snprintf(text, sizeof(text), "%s: %s %u", metrics_get(id)->title, metrics_part(metrics_get(id)),
                 plan->cpu);
        name = text;
    } else if (id) {
        name = metrics_get(id)->title;
    }
    plan->lane.name = strtab_add(&j->t->stacks.strings, name);
}

void timeline_metric(struct timeline_job *j, struct lane_plan *plan, uint64_t bin)
{
    enum metric_id id = (enum metric_id)j->metric_ids[plan->metric];
    uint64_t last = UINT64_MAX, end;

    plan->lane.first = (uint32_t)j->t->points.n;
    for (size_t i = 0; i < plan->nmetrics; i++) {
        struct event ev = joined(j, plan, id, &i);

        timeline_point(j, job_time(j, ev.ts), value_of(id, &ev), bin, &last);
    }
    plan->lane.n = (uint32_t)j->t->points.n - plan->lane.first;
    add_name(j, plan, id);
    plan->lane.metric = (uint8_t)id;
    if (plan->lane.n)
        plan->lane.from = j->t->points.a[plan->lane.first].ts;
    end = j->task_end && plan->task == j->task_end_of ? j->task_end : end_of(j, plan);
    j->task_end = end;
    j->task_end_of = plan->task;
    plan->lane.to = end ? end : j->t->end;
}
