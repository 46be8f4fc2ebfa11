/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_steps.h"

#include "analyze/gpu_period.h"
#include "analyze/gpu_slots.h"
#include "analyze/units.h"

#include <math.h>

static const struct table_column columns[] = {
    {"step", "step", TABLE_TEXT},
    {"device", "device", TABLE_TEXT},
    {"start_ns", "at", TABLE_NS, 4},
    {"ns", "time", TABLE_NS},
    {"of_median", "of median", TABLE_REAL, 5},
    {"busy_ns", "busy", TABLE_NS},
    {"busy_share", "of it", TABLE_SHARE},
    {"idle_ns", "idle", TABLE_NS, 2},
    {"compute_ns", "computing", TABLE_NS, 1},
    {"comm_ns", "communicating", TABLE_NS, 3},
    {"exposed_ns", "exposed", TABLE_NS, 6},
    {"exposed_share", "of it", TABLE_SHARE, 8},
    {"copy_ns", "copying", TABLE_NS, 7},
    {"started", "started", TABLE_COUNT, 9},
    {"note", "", TABLE_TEXT},
};

#define SLOW 1.5 /* times the median, as `show --steps` has it */

struct step {
    struct gpu_range time;
    char *label;
    uint32_t process; /* leader's task id; 0: of all */
};

struct steps {
    const struct gpu_trace *x;
    VEC(struct step) list;
    double median;
};

/* A device's time, by what it did. */
struct lanes {
    struct gpu_ranges all, of[GPU_CLASSES], exposed;
    struct gpu_ranges not_idle; /* busy, or not seen: not idle */
    struct gpu_slot *slots;
    uint32_t n;
};

/* ---- steps ---- */

static uint32_t leader_of(const struct store *s, uint32_t task)
{
    return task && task <= s->tasks.list.n ? s->tasks.list.a[task - 1].leader : 0;
}

static enum gpu_steps_from collect(struct steps *m, const struct session *s)
{
    struct gpu_ranges periods = {0};
    struct units_choice choice = {0};
    struct err none = {0};
    struct units u;
    int marked;

    units_collect(&u, s);
    marked = !units_choose_kind(&choice, &u, "step", &none);
    if (!marked) { /* or what the program calls them */
        const char *kind = strtab_get(&u.strings, units_main_kind(&u));

        units_choice_release(&choice);
        choice = (struct units_choice){0};
        marked = *kind && !units_choose_kind(&choice, &u, kind, &none);
    }
    for (size_t i = 0; marked && i < choice.chosen.n; i++) {
        const struct unit *unit = &u.list.a[choice.chosen.a[i]];
        struct buf label = {0};

        units_label(&u, unit, &label);
        *vec_push(&m->list) =
            (struct step){{unit->start, unit->end}, buf_detach(&label), leader_of(m->x->s, unit->task)};
    }
    units_choice_release(&choice);
    units_release(&u);
    if (!marked)
        gpu_period_find(&periods, m->x);
    for (size_t i = 0; i < periods.list.n; i++)
        *vec_push(&m->list) = (struct step){periods.list.a[i], mem_printf("period %zu", i), 0};
    gpu_ranges_release(&periods);
    return marked ? GPU_STEPS_MARKS : m->list.n ? GPU_STEPS_PERIOD : GPU_STEPS_NONE;
}

static uint64_t length(const struct step *s)
{
    return s->time.end - s->time.start;
}

static int longest_first(const void *pa, const void *pb)
{
    const struct step *a = pa, *b = pb;

    if (length(a) != length(b))
        return length(a) > length(b) ? -1 : 1;
    return a->time.start < b->time.start ? -1 : a->time.start > b->time.start;
}

static int by_start(const void *pa, const void *pb)
{
    const struct step *a = pa, *b = pb;

    return a->time.start < b->time.start ? -1 : a->time.start > b->time.start;
}

/* Leaves the longest, in the order of time. */
static size_t choose(struct steps *m, size_t limit, struct table *t)
{
    size_t n;

    if (!m->list.n)
        return 0;
    qsort(m->list.a, m->list.n, sizeof(*m->list.a), longest_first);
    m->median = (double)length(&m->list.a[m->list.n / 2]);
    n = table_limit(t, m->list.n, limit);
    qsort(m->list.a, n, sizeof(*m->list.a), by_start);
    return n;
}

/* ---- devices ---- */

static void lanes_init(struct lanes *l, const struct gpu_trace *x, const struct gpu_device *d)
{
    *l = (struct lanes){.slots = gpu_slots(x, d->first, d->n), .n = d->n};
    for (uint32_t i = 0; i < d->n; i++) {
        const struct gpu_slot *a = &l->slots[i];

        gpu_ranges_add(&l->all, a->start, a->end);
        gpu_ranges_add(&l->not_idle, a->start, a->end);
        gpu_ranges_add(&l->of[gpu_class_of(x, gpu_event(x, &x->ran.a[a->run]))], a->start, a->end);
    }
    for (size_t i = 0; i < d->unseen.list.n; i++)
        gpu_ranges_add(&l->not_idle, d->unseen.list.a[i].start, d->unseen.list.a[i].end);
    gpu_ranges_settle(&l->not_idle);
    for (size_t i = 0; i < l->of[GPU_COMMUNICATE].list.n; i++)
        gpu_ranges_gaps(&l->exposed, &l->of[GPU_COMPUTE], l->of[GPU_COMMUNICATE].list.a[i]);
}

static void lanes_release(struct lanes *l)
{
    gpu_ranges_release(&l->all);
    gpu_ranges_release(&l->not_idle);
    gpu_ranges_release(&l->exposed);
    for (unsigned c = 0; c < GPU_CLASSES; c++)
        gpu_ranges_release(&l->of[c]);
    free(l->slots);
}

/* How many started before ts. */
static uint64_t started(const struct lanes *l, uint64_t ts)
{
    uint32_t low = 0, high = l->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (l->slots[mid].start < ts)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Of the first call that is not_idle; 0: none is. */
static uint32_t process_of(const struct gpu_trace *x, const struct gpu_device *d)
{
    for (uint32_t i = d->first; i < d->first + d->n; i++) {
        const struct event *call = gpu_launch(x, &x->ran.a[i]);

        if (call && call->task)
            return leader_of(x->s, call->task);
    }
    return 0;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static void fill(union table_cell *c, const struct steps *m, const struct step *s, const struct lanes *l,
                 const char *device)
{
    uint64_t busy = gpu_ranges_within(&l->all, s->time), exposed = gpu_ranges_within(&l->exposed, s->time);
    double of_median = m->median > 0 ? (double)length(s) / m->median : NAN;
    size_t n = 0;

    c[n++].text = mem_strdup(s->label);
    c[n++].text = mem_strdup(device);
    c[n++].count = s->time.start > m->x->start ? s->time.start - m->x->start : 0;
    c[n++].count = length(s);
    c[n++].share = of_median;
    c[n++].count = busy;
    c[n++].share = share(busy, length(s));
    c[n++].count = length(s) - gpu_ranges_within(&l->not_idle, s->time);
    c[n++].count = gpu_ranges_within(&l->of[GPU_COMPUTE], s->time);
    c[n++].count = gpu_ranges_within(&l->of[GPU_COMMUNICATE], s->time);
    c[n++].count = exposed;
    c[n++].share = share(exposed, length(s));
    c[n++].count = gpu_ranges_within(&l->of[GPU_MOVE], s->time);
    c[n++].count = started(l, s->time.end) - started(l, s->time.start);
    c[n].text = of_median >= SLOW ? mem_strdup("slow") : NULL;
}

enum gpu_steps_from gpu_steps_table(struct table *t, const struct session *s, const struct gpu_trace *x,
                                    size_t limit)
{
    struct lanes *lanes = mem_alloc(x->devices.n * sizeof(*lanes));
    struct steps m = {.x = x};
    enum gpu_steps_from from = collect(&m, s);
    size_t n;

    table_init(t, columns, ARRAY_SIZE(columns));
    n = choose(&m, limit, t);
    for (size_t d = 0; d < x->devices.n; d++)
        lanes_init(&lanes[d], x, &x->devices.a[d]);
    for (size_t i = 0; i < n; i++) {
        for (size_t d = 0; d < x->devices.n; d++) {
            uint32_t process = process_of(x, &x->devices.a[d]);
            struct buf label = {0};

            if (process && m.list.a[i].process && process != m.list.a[i].process)
                continue;
            gpu_device_label(&x->devices.a[d], &label);
            fill(table_add(t), &m, &m.list.a[i], &lanes[d], buf_str(&label));
            buf_release(&label);
        }
    }
    for (size_t d = 0; d < x->devices.n; d++)
        lanes_release(&lanes[d]);
    for (size_t i = 0; i < m.list.n; i++)
        free(m.list.a[i].label);
    vec_release(&m.list);
    free(lanes);
    return from;
}
