/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline.h"

#include "analyze/timeline_job.h"

#include <string.h>

/* ---- events by task ---- */

static uint32_t task_of_event(const struct timeline_job *j, const struct event *ev)
{
    return ev->task <= j->s->store.tasks.list.n ? j->thread_of[ev->task] : 0;
}

struct timed {
    uint64_t ts;
    uint32_t event;
};

static int by_time(const void *pa, const void *pb)
{
    const struct timed *a = pa, *b = pb;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* Most come in order already: collectors drain in turns. */
static void sort_by_time(const struct timeline_job *j, uint32_t *events, size_t n)
{
    struct timed *list;
    size_t i = 1;

    while (i < n && job_event(j, events[i - 1])->ts <= job_event(j, events[i])->ts)
        i++;
    if (i >= n)
        return;
    list = mem_alloc(n * sizeof(*list));
    for (i = 0; i < n; i++)
        list[i] = (struct timed){job_event(j, events[i])->ts, events[i]};
    qsort(list, n, sizeof(*list), by_time);
    for (i = 0; i < n; i++)
        events[i] = list[i].event;
    free(list);
}

/* An event and whose it is: events are far apart, and many. */
struct owned {
    uint32_t task, event;
};

/* Those of the kinds, bits; with `works`: whose work, by id, has something there. */
static struct timeline_events sort_events(const struct timeline_job *j, unsigned kinds, const uint8_t *works)
{
    const struct store *s = &j->s->store;
    size_t ntasks = s->tasks.list.n, *next;
    struct timeline_events e = {.first = mem_calloc(ntasks + 2, sizeof(*e.first))};
    VEC(struct owned) found = {0};
    uint64_t last = 0;
    int mixed = 0;

    store_each(s, i, kinds) {
        const struct event *ev = &s->events.a[i];
        uint32_t task = task_of_event(j, ev);

        if (works && !works[ev->attr <= s->gpus.list.n ? ev->attr : 0])
            continue;
        *vec_push(&found) = (struct owned){task, (uint32_t)i};
        e.first[task + 1]++;
        mixed |= ev->ts < last;
        last = ev->ts;
    }
    for (size_t i = 0; i <= ntasks; i++)
        e.first[i + 1] += e.first[i];
    next = mem_dup(e.first, (ntasks + 1) * sizeof(*next));
    e.list = mem_alloc(found.n * sizeof(*e.list));
    for (size_t i = 0; i < found.n; i++)
        e.list[next[found.a[i].task]++] = found.a[i].event;
    vec_release(&found);
    free(next);
    for (size_t i = 0; mixed && i <= ntasks; i++)
        sort_by_time(j, e.list + e.first[i], e.first[i + 1] - e.first[i]);
    return e;
}

static void release_events(struct timeline_events *e)
{
    free(e->list);
    free(e->first);
}

static void look_around(struct timeline_job *j)
{
    const struct meta *m = &j->s->meta;
    const struct store *s = &j->s->store;

    j->t->end = m->end_mono > m->start_mono ? m->end_mono - m->start_mono : 0;
    j->begin = UINT64_MAX;
    j->t->lost_spans = store_counter(s, "offcpu.lost", 0);
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        uint64_t end = job_time(j, ev->flags & EVENT_SHORT ? ev->ts : ev->ts + ev->dur);

        j->t->end = end > j->t->end ? end : j->t->end;
        if (ev->kind != EVENT_MARKER && ev->kind != EVENT_METRIC && job_time(j, ev->ts) < j->begin)
            j->begin = job_time(j, ev->ts);
        j->t->states |= ev->kind == EVENT_OFFCPU || ev->kind == EVENT_RUNQ;
    }
}

/* Where all that was not cut away lies. */
static void look_at(struct timeline_job *j)
{
    const struct cut_scope *all = j->o->cut ? cut_of(j->o->cut, 0) : NULL;
    uint64_t to;

    if (!all || !all->ranges.n)
        return;
    to = job_time(j, all->ranges.a[all->ranges.n - 1].end);
    j->t->from = job_time(j, all->ranges.a[0].start);
    j->t->to = to < j->t->end ? to : j->t->end;
}

/* ---- which lanes there are ---- */

struct lane_plan *timeline_plan_lane(struct timeline_job *j, uint32_t task, enum timeline_lane_kind kind)
{
    const struct timeline_events *e = kind == TIMELINE_CALLS ? &j->calls : &j->events;
    struct lane_plan *plan = vec_push(&j->plans);

    *plan = (struct lane_plan){.lane = {.kind = (uint8_t)kind, .depth = 1}, .task = task};
    plan->events = e->list + e->first[task];
    plan->nevents = e->first[task + 1] - e->first[task];
    plan->order = (uint32_t)j->plans.n;
    return plan;
}

static void plan_task(struct timeline_job *j, uint32_t task)
{
    size_t acts = 0, marks = 0, metrics = 0;

    for (size_t i = j->events.first[task]; i < j->events.first[task + 1]; i++) {
        const struct event *ev = job_event(j, j->events.list[i]);

        metrics += ev->kind == EVENT_METRIC;
        marks += ev->kind == EVENT_MARKER;
        acts += ev->kind == EVENT_SAMPLE || ev->kind == EVENT_OFFCPU || ev->kind == EVENT_RUNQ ||
                ev->kind == EVENT_GIL;
    }
    if (metrics)
        timeline_metrics_plan(j, task);
    if (marks)
        timeline_plan_lane(j, task, TIMELINE_MARKS);
    if (task && acts)
        timeline_plan_lane(j, task, TIMELINE_THREAD)->weight = acts;
    if (task)
        timeline_calls_plan(j, task);
}

/* Lanes of the kind `cut` behind all others, the lightest last. */
static int compare_weight(const struct lane_plan *a, const struct lane_plan *b, enum timeline_lane_kind cut)
{
    int cut_a = a->lane.kind == cut, cut_b = b->lane.kind == cut;

    if (cut_a != cut_b)
        return cut_a - cut_b;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int threads_by_weight(const void *a, const void *b)
{
    return compare_weight(a, b, TIMELINE_THREAD);
}

static int metrics_by_weight(const void *a, const void *b)
{
    return compare_weight(a, b, TIMELINE_METRIC);
}

static int by_order(const void *pa, const void *pb)
{
    const struct lane_plan *a = pa, *b = pb;

    return a->order < b->order ? -1 : a->order > b->order;
}

/* Those of a kind with the most to show; gives how many are left out. */
static size_t choose(struct timeline_job *j, enum timeline_lane_kind kind)
{
    size_t n = 0, left;

    for (size_t i = 0; i < j->plans.n; i++)
        n += j->plans.a[i].lane.kind == kind;
    if (!j->o->max_lanes || n <= j->o->max_lanes)
        return 0;
    qsort(j->plans.a, j->plans.n, sizeof(*j->plans.a),
          kind == TIMELINE_THREAD ? threads_by_weight : metrics_by_weight);
    left = n - j->o->max_lanes;
    j->plans.n -= left;
    qsort(j->plans.a, j->plans.n, sizeof(*j->plans.a), by_order);
    return left;
}

/* A thread's calls stand below it: they were planned after it. */
static const uint8_t kind_order[] = {
    [TIMELINE_MARKS] = 0,  [TIMELINE_IDLING] = 1, [TIMELINE_RANGES] = 2, [TIMELINE_STREAM] = 3,
    [TIMELINE_THREAD] = 4, [TIMELINE_CALLS] = 4,  [TIMELINE_METRIC] = 5};

static int by_place(const void *pa, const void *pb)
{
    const struct lane_plan *a = pa, *b = pb;

    if (a->lane.process != b->lane.process)
        return a->lane.process < b->lane.process ? -1 : 1;
    if (kind_order[a->lane.kind] != kind_order[b->lane.kind])
        return kind_order[a->lane.kind] - kind_order[b->lane.kind];
    return a->order < b->order ? -1 : a->order > b->order;
}

static void place(struct timeline_job *j)
{
    for (size_t i = 0; i < j->plans.n; i++) {
        struct lane_plan *plan = &j->plans.a[i];

        plan->lane.process =
            plan->device ? timeline_gpu_process(j, plan->device - 1) : job_process(j, plan->task);
    }
    if (j->plans.n)
        qsort(j->plans.a, j->plans.n, sizeof(*j->plans.a), by_place);
    for (size_t i = 0; i < j->plans.n; i++) {
        struct lane_plan *plan = &j->plans.a[i];
        uint32_t task = plan->task ? job_task(j, plan->task) : 0;

        if (plan->lane.kind == TIMELINE_THREAD) {
            plan->lane.task = task;
            plan->lane.name = j->t->tasks.a[task - 1].name;
            j->t->tasks.a[task - 1].lane = (uint32_t)i + 1;
        } else if (task && (plan->lane.kind == TIMELINE_CALLS || job_leader(j, plan->task) != plan->task)) {
            plan->lane.task = task;
        }
    }
}

static void fill(struct timeline_job *j)
{
    for (size_t i = 0; i < j->plans.n; i++) {
        struct lane_plan *plan = &j->plans.a[i];

        if (plan->lane.kind == TIMELINE_THREAD)
            timeline_thread(j, plan);
        else if (plan->lane.kind == TIMELINE_MARKS)
            timeline_marks(j, plan);
        else if (plan->lane.kind != TIMELINE_METRIC)
            timeline_gpu_lane(j, plan);
    }
    timeline_thin(j);
    timeline_gpu_link(j);
    for (size_t i = 0; i < j->plans.n; i++)
        *vec_push(&j->t->lanes) = j->plans.a[i].lane;
}

int timeline_has(const struct session *s)
{
    for (size_t i = 0; i < s->store.events.n; i++)
        if (s->store.events.a[i].ts)
            return 1;
    return 0;
}

void timeline_build(struct timeline *t, const struct session *s, const struct timeline_opts *o)
{
    struct timeline_job j = {.t = t, .s = s, .o = o, .start = s->meta.start_mono};
    size_t ntasks = s->store.tasks.list.n;
    uint8_t *calls;

    *t = (struct timeline){0};
    if (!timeline_has(s))
        return;
    timeline_tasks_init(&j);
    timeline_stacks_init(&j.stacks, t, &s->store, o);
    *vec_push(&t->processes) = (struct timeline_process){.name = strtab_add(&t->stacks.strings, "machine")};
    look_around(&j);
    look_at(&j);
    calls = timeline_calls(&s->store.gpus);
    j.events = sort_events(&j, ~(1u << EVENT_GPU), NULL);
    j.calls = sort_events(&j, 1 << EVENT_GPU, calls);
    free(calls);
    timeline_gpu_init(&j);
    timeline_gpu_plan(&j);
    timeline_memory_plan(&j);
    for (uint32_t id = 0; id <= ntasks; id++)
        plan_task(&j, id);
    t->left_lanes = choose(&j, TIMELINE_THREAD);
    t->left_metrics = choose(&j, TIMELINE_METRIC);
    place(&j);
    fill(&j);
    timeline_gpu_release(&j);
    timeline_stacks_release(&j.stacks);
    release_events(&j.events);
    release_events(&j.calls);
    free(j.metric_ids);
    vec_release(&j.metric_events);
    timeline_tasks_release(&j);
    vec_release(&j.plans);
    vec_release(&j.raws);
}
