/* SPDX-License-Identifier: Apache-2.0 */
/* What is too short to be seen is merged with its neighbours, as much as it takes to keep the size bounded.
 */
#include "analyze/timeline_job.h"

#include "base/lower.h"

#define FIRST_NS  1000 /* the finest resolution that is tried ... */
#define DOUBLINGS 40   /* ... and how often it is doubled: to 12 days */

enum { MANY_TIMES = 8 /* as many spans as a page has room for are very many */ };

/* How many are left at that resolution; where it is more than `most`, any number beyond. */
typedef size_t (*counter)(const struct timeline_job *j, uint64_t ns, size_t most);

/* A resolution at which at most so many are left, and at half of which there would be more. */
static uint64_t find_resolution(const struct timeline_job *j, size_t most, counter count)
{
    unsigned low = 0, high = DOUBLINGS;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (count(j, (uint64_t)FIRST_NS << middle, most) <= most)
            high = middle;
        else
            low = middle + 1;
    }
    return (uint64_t)FIRST_NS << low;
}

static int is_apart(const struct timeline_job *j, const struct raw_span *r)
{
    return r->start < j->t->apart_to && r->end > j->t->apart_from;
}

/* How many spans from `i` on become one. A merged span is at most `resolution` long. */
static size_t run_length(const struct timeline_job *j, const struct raw_span *a, size_t n, size_t i,
                         uint64_t resolution)
{
    size_t k = i;

    while (k < n && a[k].depth == a[i].depth && a[k].end - a[k].start < resolution &&
           a[k].end - a[i].start <= resolution && !is_apart(j, &a[k]))
        k++;
    return k - i > 1 ? k - i : 1;
}

static size_t count_spans(const struct timeline_job *j, uint64_t resolution, size_t most)
{
    size_t count = 0;

    for (size_t p = 0; p < j->plans.n; p++) {
        const struct lane_plan *plan = &j->plans.a[p];

        for (size_t i = 0; i < plan->nraw && count <= most; count++)
            i += run_length(j, j->raws.a + plan->raw, plan->nraw, i, resolution);
    }
    return count;
}

/* The first of a[from, to), which is of one depth, that begins at `ts` or later. */
static size_t first_from(const struct raw_span *a, size_t from, size_t to, uint64_t ts)
{
    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (a[middle].start < ts)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static size_t end_of_depth(const struct raw_span *a, size_t from, size_t n)
{
    size_t to = n;
    unsigned depth = a[from].depth;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (a[middle].depth <= depth)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static size_t count_between(const struct timeline_job *j, uint64_t from, uint64_t to)
{
    size_t count = 0;

    for (size_t p = 0; p < j->plans.n; p++) {
        const struct lane_plan *plan = &j->plans.a[p];
        const struct raw_span *a = j->raws.a + plan->raw;

        for (size_t i = 0, end; i < plan->nraw; i = end) {
            end = end_of_depth(a, i, plan->nraw);
            count += first_from(a, i, end, to) - first_from(a, i, end, from);
        }
    }
    return count;
}

/* Of very many, those in the middle are kept as they are, as half of what there is room for: zoomed out one
 * sees how it went, there what it was made of. */
static void choose_apart(struct timeline_job *j)
{
    size_t room = j->o->max_spans / 2;
    uint64_t middle = j->t->end / 2, half = middle;

    if (j->raws.n / MANY_TIMES < j->o->max_spans)
        return;
    while (half > FIRST_NS && count_between(j, middle - half, middle + half) > room)
        half -= half / 4;
    if (half <= FIRST_NS)
        return;
    j->t->apart_from = middle - half;
    j->t->apart_to = middle + half;
}

static uint64_t span_resolution(struct timeline_job *j)
{
    if (!j->o->max_spans || j->raws.n <= j->o->max_spans)
        return 0;
    choose_apart(j);
    return find_resolution(j, j->o->max_spans, count_spans);
}

static uint32_t mark_name(const struct timeline_job *j, const struct event *ev)
{
    const struct store *s = &j->s->store;
    const struct stack_node *node = stacks_get(&s->stacks, ev->stack);
    const struct frame *frame = node ? frames_get(&s->frames, node->frame) : NULL;

    return ev->metric ? ev->metric : frame ? frame->func : 0;
}

static uint32_t take_string(struct timeline_job *j, uint32_t id)
{
    return id ? strtab_add(&j->t->stacks.strings, strtab_get(&j->s->store.strings, id)) : 0;
}

static void fill_from_event(struct timeline_job *j, struct timeline_span *span, uint32_t index)
{
    const struct event *ev = job_event(j, index);
    const struct wait *w = NULL;

    span->stack = timeline_stacks_take(&j->stacks, ev->stack);
    if (ev->kind == EVENT_MARKER)
        span->name = take_string(j, mark_name(j, ev));
    if (ev->kind == EVENT_GPU)
        timeline_gpu_span(j, span, index);
    if (ev->kind == EVENT_OFFCPU || ev->kind == EVENT_GIL)
        w = waits_get(&j->s->store.waits, ev->attr);
    if (!w)
        return;
    span->name = take_string(j, w->what);
    span->waker = job_task(j, w->waker_task);
    span->waker_stack = timeline_stacks_take(&j->stacks, w->waker_stack);
}

/* Takes what of a gap is of other states than its own from that, and gives it to them. */
static void share_out(const struct timeline_job *j, const struct raw_span *r, uint64_t *ns)
{
    size_t raw = (size_t)(r - j->raws.a), low = lower_bound(j->gap_parts, raw, raw);

    for (; low < j->gap_parts.n && j->gap_parts.a[low].raw == raw; low++) {
        ns[j->gap_parts.a[low].state] += j->gap_parts.a[low].ns;
        ns[r->state] -= j->gap_parts.a[low].ns;
    }
}

/* Of the span that comes next. */
static void put_parts(struct timeline_job *j, const uint64_t *ns)
{
    unsigned n = 0;

    for (unsigned s = 0; s < TIMELINE_STATES; s++)
        n += ns[s] > 0;
    for (unsigned s = 0; s < TIMELINE_STATES && n > 1; s++)
        if (ns[s])
            *vec_push(&j->t->parts) = (struct timeline_part){(uint32_t)j->t->spans.n, (uint8_t)s, ns[s]};
}

static void put_single(struct timeline_job *j, const struct raw_span *r)
{
    uint64_t ns[TIMELINE_STATES] = {0};
    struct timeline_span span = {
        .start = r->start, .end = r->end, .state = r->state, .flags = r->flags, .depth = r->depth};

    if (r->event)
        fill_from_event(j, &span, r->event - 1);
    if (r->state >= TIMELINE_IDLE) {
        ns[r->state] = r->end - r->start;
        share_out(j, r, ns);
        put_parts(j, ns);
    }
    *vec_push(&j->t->spans) = span;
}

/* The state with the most time, of those of the class with the most. */
static unsigned main_state(const uint64_t *ns, const uint64_t *of_class)
{
    unsigned best = 0;
    uint64_t most = 0;

    for (unsigned s = 0; s < TIMELINE_STATES; s++) {
        unsigned c = timeline_class(s);
        uint64_t weight = of_class[c];

        if (ns[s] && (weight > most || (weight == most && ns[s] > ns[best]))) {
            best = s;
            most = weight;
        }
    }
    return best;
}

/* How much of the time something went on, in 16 bits. */
static void set_cover(struct timeline_span *span, uint64_t ns)
{
    uint64_t all = span->end - span->start;
    unsigned part = all && ns < all ? (unsigned)((double)ns / (double)all * UINT16_MAX + 0.5) : UINT16_MAX;

    span->share[0] = (uint8_t)(part >> 8);
    span->share[1] = (uint8_t)part;
    span->share[2] = 0;
}

/* The stack of a merged span is that of its longest. */
static void put_merged(struct timeline_job *j, enum timeline_lane_kind kind, const struct raw_span *a,
                       size_t n)
{
    struct timeline_span span = {
        .start = a[0].start, .end = a[n - 1].end, .depth = a[0].depth, .merged = (uint32_t)n};
    uint64_t ns[TIMELINE_STATES] = {0}, of_class[TIMELINE_CLASSES] = {0}, all = 0;
    size_t longest = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t dur = a[i].end - a[i].start;

        ns[a[i].state] += dur;
        if (a[i].state >= TIMELINE_IDLE)
            share_out(j, &a[i], ns);
        of_class[timeline_class(a[i].state)] += dur;
        all += dur;
        if (dur > a[longest].end - a[longest].start)
            longest = i;
    }
    span.state = all ? (uint8_t)main_state(ns, of_class) : a[0].state;
    for (unsigned c = 0; all && c < TIMELINE_CLASSES; c++)
        span.share[c] = (uint8_t)(of_class[c] * 255 / all);
    if (kind != TIMELINE_THREAD) {
        set_cover(&span, all);
        put_parts(j, ns);
    }
    if (a[longest].event)
        span.stack = timeline_stacks_take(&j->stacks, job_event(j, a[longest].event - 1)->stack);
    j->t->merged_spans += n;
    *vec_push(&j->t->spans) = span;
}

static void put_spans(struct timeline_job *j, struct lane_plan *plan, uint64_t resolution)
{
    const struct raw_span *a = plan->nraw ? j->raws.a + plan->raw : NULL;

    plan->lane.first = (uint32_t)j->t->spans.n;
    for (size_t i = 0; i < plan->nraw;) {
        size_t n = run_length(j, a, plan->nraw, i, resolution);

        if (n > 1)
            put_merged(j, (enum timeline_lane_kind)plan->lane.kind, a + i, n);
        else
            put_single(j, &a[i]);
        i += n;
    }
    plan->lane.n = (uint32_t)j->t->spans.n - plan->lane.first;
}

/* ---- ticks ---- */

static int is_sample(const struct timeline_job *j, uint32_t index)
{
    return job_event(j, index)->kind == EVENT_SAMPLE;
}

static size_t count_ticks(const struct timeline_job *j, uint64_t bin, size_t most)
{
    size_t count = 0;

    for (size_t p = 0; p < j->plans.n; p++) {
        const struct lane_plan *plan = &j->plans.a[p];
        uint64_t last = UINT64_MAX;

        if (plan->lane.kind != TIMELINE_THREAD)
            continue;
        for (size_t i = 0; i < plan->nevents && count <= most; i++) {
            uint64_t at = job_time(j, job_event(j, plan->events[i])->ts) / bin;

            if (!is_sample(j, plan->events[i]))
                continue;
            count += at != last;
            last = at;
        }
    }
    return count;
}

static uint64_t tick_bin(const struct timeline_job *j)
{
    if (!j->o->max_ticks || count_ticks(j, 1, j->o->max_ticks) <= j->o->max_ticks)
        return 0;
    return find_resolution(j, j->o->max_ticks, count_ticks);
}

static void put_ticks(struct timeline_job *j, struct lane_plan *plan, uint64_t bin)
{
    uint64_t last = UINT64_MAX;

    plan->lane.tick = (uint32_t)j->t->ticks.n;
    for (size_t i = 0; i < plan->nevents; i++) {
        const struct event *ev = job_event(j, plan->events[i]);
        uint64_t ts = job_time(j, ev->ts);

        if (ev->kind != EVENT_SAMPLE)
            continue;
        if (bin && ts / bin == last) {
            j->t->ticks.a[j->t->ticks.n - 1].n += (uint32_t)ev->value;
            j->t->merged_ticks++;
            continue;
        }
        last = bin ? ts / bin : UINT64_MAX;
        *vec_push(&j->t->ticks) =
            (struct timeline_tick){ts, timeline_stacks_take(&j->stacks, ev->stack), (uint32_t)ev->value};
    }
    plan->lane.nticks = (uint32_t)j->t->ticks.n - plan->lane.tick;
}

/* ---- points ---- */

static uint64_t point_bin(const struct timeline_job *j)
{
    size_t n = j->memory.steps.n;

    store_each(&j->s->store, i, 1 << EVENT_METRIC)
        n++;
    if (!j->o->max_points || n <= j->o->max_points)
        return 0;
    return j->t->end / (j->o->max_points / (j->plans.n ? j->plans.n : 1) + 1) + 1;
}

void timeline_thin(struct timeline_job *j)
{
    uint64_t ticks = tick_bin(j), points = point_bin(j);

    j->t->resolution = span_resolution(j);
    for (size_t p = 0; p < j->plans.n; p++) {
        struct lane_plan *plan = &j->plans.a[p];

        if (plan->pool)
            timeline_memory(j, plan, points);
        else if (plan->lane.kind == TIMELINE_METRIC)
            timeline_metric(j, plan, points);
        else
            put_spans(j, plan, j->t->resolution);
        if (plan->lane.kind == TIMELINE_THREAD)
            put_ticks(j, plan, ticks);
    }
}
