/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/steps.h"

#include "analyze/cut.h"
#include "analyze/waits_top.h"
#include "base/hash.h"
#include "model/waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOW   1.5 /* times the median */
#define SECOND 1e9

static const struct table_column columns[] = {
    {"unit", "unit", TABLE_TEXT},
    {"process", "process", TABLE_TEXT, 4},
    {"pid", "pid", TABLE_ID, 7},
    {"start_ns", "from", TABLE_NS, 5},
    {"ns", "time", TABLE_NS},
    {"of_median", "of median", TABLE_SHARE, 3},
    {"oncpu_ns", "on CPU", TABLE_NS},
    {"offcpu_ns", "off CPU", TABLE_NS},
    {"runq_ns", "queued", TABLE_NS},
    {"gil_ns", "GIL wait", TABLE_NS, 6},
    {"samples", "samples", TABLE_COUNT, 8},
    {"all_offcpu_ns", NULL, TABLE_NS},
    {"all_runq_ns", NULL, TABLE_NS},
    {"all_gil_ns", NULL, TABLE_NS},
    {"note", "", TABLE_TEXT},
    {"wait", "longest wait", TABLE_TEXT},
};

enum {
    UNIT,
    PROCESS,
    PID,
    START,
    TIME,
    OF_MEDIAN,
    ONCPU,
    OFFCPU,
    RUNQ,
    GIL,
    SAMPLES,
    ALL_OFFCPU,
    ALL_RUNQ,
    ALL_GIL,
    NOTE,
    WAIT,
};

/* What one unit, or the time outside of all, is made of; of the main thread and of all. */
struct part {
    uint64_t offcpu[2], runq[2], gil[2], samples[2];
    uint64_t wait_ns; /* of the longest sum of waits */
    uint64_t wait;    /* reason << 32 | function, a string of the store */
};

enum { MAIN, ALL };

/* The units of one process, by start. */
struct group {
    struct units_row row; /* indices into the parts */
    struct part outside;
    uint32_t task; /* the process's leader */
};

struct steps {
    const struct session *s;
    const struct units *u;
    const struct units_choice *choice;
    struct part *parts; /* one for each of the choice */
    uint32_t *scope_of; /* task id -> group */
    struct cut all;     /* the time in units */
    VEC(struct group) groups;
    uint64_t *sum_ends;
    uint32_t *place_of; /* stack id -> string + 1 */
    struct map waits;   /* hash of {unit, reason and function} -> ns */
    int states;         /* waits were recorded */
};

static const struct unit *unit_at(const struct steps *x, size_t i)
{
    return &x->u->list.a[x->choice->chosen.a[i]];
}

/* ---- median ---- */

static int by_value(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

    return a < b ? -1 : a > b;
}

uint64_t steps_median(const struct units *u, const struct units_choice *choice)
{
    VEC(uint64_t) all = {0};
    uint64_t median = 0;

    for (size_t i = 0; i < choice->chosen.n; i++) {
        const struct unit *x = &u->list.a[choice->chosen.a[i]];

        if (!x->open)
            *vec_push(&all) = x->end - x->start;
    }
    if (all.n) {
        qsort(all.a, all.n, sizeof(*all.a), by_value);
        median = all.n % 2 ? all.a[all.n / 2] : all.a[all.n / 2 - 1] / 2 + all.a[all.n / 2] / 2;
    }
    vec_release(&all);
    return median;
}

/* ---- sharing out ---- */

static uint32_t place_of(struct steps *x, uint32_t stack)
{
    if (!stack || stack > x->s->store.stacks.nodes.n)
        return 0;
    if (!x->place_of[stack])
        x->place_of[stack] = waits_place(&x->s->store, stack) + 1;
    return x->place_of[stack] - 1;
}

static void add_wait(struct steps *x, struct part *p, size_t unit, const struct event *ev, uint64_t ns)
{
    const struct wait *w = waits_get(&x->s->store.waits, ev->attr);
    uint64_t what = (uint64_t)(w ? w->reason : WAIT_UNKNOWN) << 32 | place_of(x, ev->stack);
    uint64_t *sum = map_put(&x->waits, hash_mix(unit + 1, what));

    *sum += ns;
    if (*sum > p->wait_ns) {
        p->wait_ns = *sum;
        p->wait = what;
    }
}

static int same_thread(const struct steps *x, uint32_t task, uint32_t other)
{
    const struct task *a = task ? &x->s->store.tasks.list.a[task - 1] : NULL;
    const struct task *b = other ? &x->s->store.tasks.list.a[other - 1] : NULL;

    return a && b && task_same_thread(a, b);
}

static void add_to(struct part *p, const struct event *ev, uint64_t ns, uint64_t samples, int whose)
{
    switch (ev->kind) {
    case EVENT_SAMPLE:
        p->samples[whose] += samples;
        break;
    case EVENT_OFFCPU:
        p->offcpu[whose] += ns;
        break;
    case EVENT_RUNQ:
        p->runq[whose] += ns;
        break;
    case EVENT_GIL:
        p->gil[whose] += ns;
        break;
    default:
        break;
    }
}

/* How much of a sum, spread evenly over `length`, lies between two of its moments. */
static uint64_t between(uint64_t whole, uint64_t from, uint64_t to, uint64_t length)
{
    return (uint64_t)((unsigned __int128)whole * to / length) -
           (uint64_t)((unsigned __int128)whole * from / length);
}

/* What of the event lies in [start, end). */
static uint64_t inside(const struct event *ev, uint64_t ev_end, int sum, uint64_t start, uint64_t end)
{
    uint64_t from = start > ev->ts ? start : ev->ts, to = end < ev_end ? end : ev_end;

    if (to <= from)
        return 0;
    return sum ? between(ev->dur, from - ev->ts, to - ev->ts, ev_end - ev->ts) : to - from;
}

static void share_out(struct steps *x, const struct event *ev, uint64_t sum_end)
{
    uint32_t task = ev->task <= x->s->store.tasks.list.n ? ev->task : 0, scope = x->scope_of[task];
    struct group *g = &x->groups.a[scope];
    int instant = ev->kind == EVENT_SAMPLE;
    uint64_t end = sum_end ? sum_end : ev->ts + (instant ? 1 : ev->dur), left = instant ? 1 : ev->dur;
    const struct cut_scope *covered = &x->all.scopes.a[scope];

    for (size_t i = units_row_find(&g->row, ev->ts); i < g->row.units.n; i++) {
        const struct unit *u = unit_at(x, g->row.units.a[i]);
        struct part *p = &x->parts[g->row.units.a[i]];
        uint64_t ns;
        int is;

        if (u->start >= end)
            break;
        ns = inside(ev, end, sum_end != 0, u->start, u->end);
        if (!ns)
            continue;
        is = same_thread(x, task, u->task);
        add_to(p, ev, ns, ev->value, ALL);
        if (is)
            add_to(p, ev, ns, ev->value, MAIN);
        if (is && ev->kind == EVENT_OFFCPU)
            add_wait(x, p, g->row.units.a[i], ev, ns);
    }
    for (size_t i = cut_find(covered, ev->ts); i < covered->ranges.n && covered->ranges.a[i].start < end; i++)
        left -= inside(ev, end, sum_end != 0, covered->ranges.a[i].start, covered->ranges.a[i].end);
    if (left) {
        add_to(&g->outside, ev, left, ev->value, ALL);
        if (same_thread(x, task, g->task))
            add_to(&g->outside, ev, left, ev->value, MAIN);
    }
}

static uint32_t leader_of(const struct steps *x, uint32_t task)
{
    uint32_t leader = task ? x->s->store.tasks.list.a[task - 1].leader : 0;

    return leader && leader <= x->s->store.tasks.list.n ? leader : task;
}

static void group_units(struct steps *x)
{
    uint32_t *of_unit = mem_calloc(x->choice->chosen.n + 1, sizeof(*of_unit));
    uint32_t n = cut_scopes(x->s, x->u, x->choice, x->scope_of, of_unit);

    for (uint32_t i = 0; i < n; i++)
        *vec_push(&x->groups) = (struct group){0};
    for (size_t i = 0; i < x->choice->chosen.n; i++) {
        struct group *g = &x->groups.a[of_unit[i]];

        units_row_add(&g->row, (uint32_t)i, unit_at(x, i)->end);
        g->task = leader_of(x, unit_at(x, i)->task);
    }
    free(of_unit);
}

static void prepare(struct steps *x)
{
    const struct store *st = &x->s->store;

    x->parts = mem_calloc(x->choice->chosen.n + 1, sizeof(*x->parts));
    x->scope_of = mem_calloc(st->tasks.list.n + 1, sizeof(*x->scope_of));
    x->place_of = mem_calloc(st->stacks.nodes.n + 1, sizeof(*x->place_of));
    x->sum_ends = cut_ends(x->s);
    cut_init(&x->all, x->s, x->u, x->choice);
    group_units(x);
    for (size_t i = 0; i < st->events.n; i++)
        x->states |= st->events.a[i].kind == EVENT_OFFCPU || st->events.a[i].kind == EVENT_RUNQ;
    for (size_t i = 0; i < st->events.n; i++) {
        const struct event *ev = &st->events.a[i];

        if (ev->kind == EVENT_SAMPLE ||
            ((ev->kind == EVENT_OFFCPU || ev->kind == EVENT_RUNQ || ev->kind == EVENT_GIL) && ev->dur))
            share_out(x, ev, x->sum_ends[i]);
    }
}

static void release(struct steps *x)
{
    for (size_t i = 0; i < x->groups.n; i++)
        units_row_release(&x->groups.a[i].row);
    vec_release(&x->groups);
    cut_release(&x->all);
    map_release(&x->waits);
    free(x->parts);
    free(x->scope_of);
    free(x->place_of);
    free(x->sum_ends);
}

/* ---- rows ---- */

/* What the scheduler did not keep from the thread it ran; without waits: what its samples stand for. */
static uint64_t oncpu(const struct steps *x, const struct part *p, uint64_t time)
{
    uint64_t not = p->offcpu[MAIN] + p->runq[MAIN], hz = x->s->meta.frequency;

    if (x->states)
        return time > not ? time - not : 0;
    return hz ? (uint64_t)((double)p->samples[MAIN] * SECOND / (double)hz) : 0;
}

static void fill_task(const struct steps *x, uint32_t task, union table_cell *c)
{
    const struct task *t = task ? &x->s->store.tasks.list.a[task - 1] : NULL;

    if (!t)
        return;
    c[PROCESS].text = origins_task_name(&x->s->store, t, "");
    c[PID].count = t->ns_pid ? t->ns_pid : t->pid;
}

/* recorded: what of its time lies in the recording. */
static void fill_part(const struct steps *x, const struct part *p, uint64_t time, uint64_t recorded,
                      union table_cell *c)
{
    const char *name = strtab_get(&x->s->store.strings, (uint32_t)p->wait);
    const char *place = *name == '[' ? "" : name; /* "[short waits]" */

    c[TIME].count = time;
    c[ONCPU].count = oncpu(x, p, recorded);
    c[OFFCPU].count = p->offcpu[MAIN];
    c[RUNQ].count = p->runq[MAIN];
    c[GIL].count = p->gil[MAIN];
    c[SAMPLES].count = p->samples[ALL];
    c[ALL_OFFCPU].count = p->offcpu[ALL];
    c[ALL_RUNQ].count = p->runq[ALL];
    c[ALL_GIL].count = p->gil[ALL];
    if (p->wait_ns)
        c[WAIT].text =
            mem_printf("%s%s%s", waits_reason((unsigned)(p->wait >> 32)), *place ? " in " : "", place);
}

static void fill_note(const char *const *notes, size_t n, union table_cell *c)
{
    struct buf b = {0};

    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "%s%s", i ? ", " : "", notes[i]);
    if (n)
        c[NOTE].text = buf_detach(&b);
}

static void fill_unit(const struct steps *x, size_t i, uint64_t median, union table_cell *c)
{
    const struct unit *u = unit_at(x, i);
    uint64_t time = u->end - u->start, start = x->s->meta.start_mono;
    uint64_t before = u->start < start ? (u->end < start ? u->end : start) - u->start : 0;
    struct buf label = {0};
    const char *notes[3] = {0};
    size_t n = 0;
    int slow = median && (double)time >= SLOW * (double)median;

    units_label(x->u, u, &label);
    c[UNIT].text = buf_detach(&label);
    fill_task(x, leader_of(x, u->task), c);
    c[START].count = u->start > start ? u->start - start : 0;
    fill_part(x, &x->parts[i], time, time - before, c);
    c[OF_MEDIAN].share = median ? (double)time / (double)median : NAN;
    if (slow)
        notes[n++] = "slow";
    if (before) /* its other columns know nothing of that time */
        notes[n++] = "begun before the recording";
    if (u->open)
        notes[n++] = "open";
    fill_note(notes, n, c);
}

/* The process's time in the recording that no unit covers. */
static uint64_t uncovered(const struct steps *x, size_t scope)
{
    const struct task *t =
        x->groups.a[scope].task ? &x->s->store.tasks.list.a[x->groups.a[scope].task - 1] : NULL;
    uint64_t from = x->s->meta.start_mono, to = x->s->meta.end_mono, time;

    if (t && t->first_ns > from)
        from = t->first_ns;
    if (t && t->last_ns && t->last_ns < to)
        to = t->last_ns;
    time = to > from ? to - from : 0;
    for (size_t i = 0; i < x->all.scopes.a[scope].ranges.n; i++) {
        const struct cut_range *r = &x->all.scopes.a[scope].ranges.a[i];
        uint64_t a = r->start > from ? r->start : from, b = r->end < to ? r->end : to;

        time -= b > a ? b - a : 0;
    }
    return time;
}

static void fill_outside(struct table *t, const struct steps *x)
{
    for (size_t i = 0; i < x->groups.n; i++) {
        struct group *g = &x->groups.a[i];
        union table_cell *c;

        if (!g->row.units.n)
            continue;
        c = table_add(t);
        c[UNIT].text = mem_strdup("[outside]");
        fill_task(x, g->task, c);
        fill_part(x, &g->outside, uncovered(x, i), uncovered(x, i), c);
        c[OF_MEDIAN].share = NAN;
    }
}

struct length {
    uint64_t ns;
    size_t unit;
};

static int longest_first(const void *pa, const void *pb)
{
    const struct length *a = pa, *b = pb;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

void steps_table(struct table *t, const struct session *s, const struct units *u,
                 const struct units_choice *choice, size_t limit)
{
    struct steps x = {.s = s, .u = u, .choice = choice};
    uint64_t median = steps_median(u, choice);
    VEC(struct length) order = {0};

    table_init(t, columns, ARRAY_SIZE(columns));
    prepare(&x);
    for (size_t i = 0; i < choice->chosen.n; i++)
        *vec_push(&order) = (struct length){unit_at(&x, i)->end - unit_at(&x, i)->start, i};
    if (limit && order.n > limit) {
        qsort(order.a, order.n, sizeof(*order.a), longest_first);
        t->left_out = order.n - limit;
        order.n = limit;
    }
    for (size_t i = 0; i < order.n; i++)
        fill_unit(&x, order.a[i].unit, median, table_add(t));
    fill_outside(t, &x);
    vec_release(&order);
    release(&x);
}
