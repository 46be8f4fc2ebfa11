/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/events.h"

#include "model/frame_text.h"

#include <string.h>

static const struct {
    const char *name, *unit;
    enum event_kind kind;
} metrics[] = {
    {"oncpu", "samples", EVENT_SAMPLE}, {"offcpu", "ns", EVENT_OFFCPU}, {"runq", "ns", EVENT_RUNQ},
    {"gil", "ns", EVENT_GIL},           {"gpu", "ns", EVENT_GPU},
};

static const char no_stack[] = "[no stack]";

/* ---- which events ---- */

static int takes(const struct export_events *x, const struct event *ev, enum event_kind kind, int gil)
{
    const struct gpu_work *w;

    if (ev->kind != kind || (gil && !(ev->flags & EVENT_GIL_HELD)))
        return 0;
    if (kind != EVENT_GPU)
        return 1;
    w = gpu_works_get(&x->s->gpus, ev->attr);
    return w && gpu_on_device(w);
}

static int none(const struct export_events *x, const char *name, struct err *e)
{
    struct buf have = {0};

    for (size_t m = 0; m < ARRAY_SIZE(metrics); m++) {
        size_t i = 0;

        while (i < x->s->events.n && !takes(x, &x->s->events.a[i], metrics[m].kind, 0))
            i++;
        if (i < x->s->events.n)
            buf_addf(&have, "%s%s", have.len ? ", " : "", metrics[m].name);
    }
    err_set(e, "no metric '%s' to write in this format (the session has: %s)", name,
            have.len ? have.data : "none");
    buf_release(&have);
    return -1;
}

/* ---- what stands below their stacks ---- */

static uint32_t push_extra(struct export_events *x, uint32_t below, const char *name)
{
    return stacks_push(&x->below, below, (uint32_t)x->s->frames.list.n + strtab_add(&x->extra, name));
}

static uint32_t push_stack(struct export_events *x, uint32_t below, uint32_t stack)
{
    struct export_path path = {0};

    export_events_path(x, (struct export_stack){.own = stack}, &path);
    for (size_t i = path.frames.n; i--;)
        below = stacks_push(&x->below, below, path.frames.a[i]);
    vec_release(&path.frames);
    return below;
}

/* Its process, then the thread where it is called otherwise: as a folded profile's roots. */
static uint32_t push_task(struct export_events *x, uint32_t below, const struct task *t)
{
    const struct task *leader = export_events_leader(x, t);
    char *name = origins_task_name(x->s, leader, "?");
    const char *thread = strtab_get(&x->s->strings, t->comm);

    below = push_extra(x, below, name);
    if (leader != t && leader->comm != t->comm)
        below = push_extra(x, below, *thread ? thread : "?");
    free(name);
    return below;
}

static uint32_t push_holder(struct export_events *x, uint32_t below, const struct wait *w)
{
    const struct task *t = export_events_task(x, w->waker_task);

    below = push_extra(x, below, WAIT_HELD_BY);
    if (t)
        below = push_task(x, below, t);
    else if (!w->waker_stack)
        below = push_extra(x, below, WAIT_BY_UNKNOWN);
    return push_stack(x, below, w->waker_stack);
}

static uint32_t push_gpu(struct export_events *x, const struct gpu_work *w)
{
    char *name = mem_printf("CUDA:%s", w->name ? strtab_get(&x->s->strings, w->name) : "[unnamed]");
    uint32_t below = push_extra(x, 0, name);

    free(name);
    return below;
}

/* Events of one metric whose keys are equal have the same below their stacks. */
static uint64_t below_key(const struct export_events *x, const struct event *ev)
{
    int no_own = !stacks_get(&x->s->stacks, ev->stack);

    if (ev->kind == EVENT_GPU)
        return gpu_works_get(&x->s->gpus, ev->attr)->name;
    return (ev->kind == EVENT_GIL && waits_of_event(&x->s->waits, ev) ? (uint64_t)ev->attr << 1 : 0) | no_own;
}

static void add_below(struct export_events *x, const struct event *ev)
{
    uint64_t *known = map_put(&x->below_of, below_key(x, ev));
    const struct wait *w = ev->kind == EVENT_GIL ? waits_of_event(&x->s->waits, ev) : NULL;
    uint32_t below = 0;

    if (*known)
        return;
    if (ev->kind == EVENT_GPU)
        below = push_gpu(x, gpu_works_get(&x->s->gpus, ev->attr));
    else if (!stacks_get(&x->s->stacks, ev->stack))
        below = push_extra(x, 0, no_stack);
    if (w)
        below = push_holder(x, below, w);
    *known = below;
}

/* ---- in their order ---- */

struct when {
    uint64_t ts;
    uint32_t at;
};

static int by_time(const void *pa, const void *pb)
{
    const struct when *a = pa, *b = pb;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void sort_by_time(struct export_events *x)
{
    VEC(struct when) order = {0};

    for (size_t i = 0; i < x->list.n; i++)
        *vec_push(&order) = (struct when){x->s->events.a[x->list.a[i]].ts, x->list.a[i]};
    if (order.n)
        qsort(order.a, order.n, sizeof(*order.a), by_time);
    for (size_t i = 0; i < order.n; i++)
        x->list.a[i] = order.a[i].at;
    vec_release(&order);
}

int export_events_takes(const char *metric)
{
    for (size_t m = 0; metric && m < ARRAY_SIZE(metrics); m++)
        if (!strcmp(metrics[m].name, metric))
            return 1;
    return !metric;
}

int export_events_init(struct export_events *x, const struct export_input *in, struct err *e)
{
    const char *name = in->metric ? in->metric : "oncpu";
    size_t m = 0;

    *x = (struct export_events){.session = in->session, .s = &in->session->store};
    while (m < ARRAY_SIZE(metrics) && strcmp(metrics[m].name, name) != 0)
        m++;
    if (m == ARRAY_SIZE(metrics))
        return none(x, name, e);
    x->metric = metrics[m].name;
    x->unit = metrics[m].unit;
    x->samples = metrics[m].kind == EVENT_SAMPLE;
    for (size_t i = 0; i < x->s->events.n; i++) {
        const struct event *ev = &x->s->events.a[i];

        if (!takes(x, ev, metrics[m].kind, in->gil))
            continue;
        *vec_push(&x->list) = (uint32_t)i;
        x->total += export_events_value(x, ev);
        add_below(x, ev);
    }
    /* A session in which nothing ran is no error. */
    if (!x->list.n && !x->samples && !in->gil)
        return none(x, name, e);
    sort_by_time(x);
    return 0;
}

void export_events_release(struct export_events *x)
{
    strtab_release(&x->extra);
    stacks_release(&x->below);
    vec_release(&x->list);
    map_release(&x->below_of);
}

uint64_t export_events_value(const struct export_events *x, const struct event *ev)
{
    return x->samples ? ev->value : ev->dur;
}

/* ---- frames ---- */

uint32_t export_events_frames(const struct export_events *x)
{
    return (uint32_t)x->s->frames.list.n + strtab_count(&x->extra);
}

struct export_stack export_events_stack(const struct export_events *x, const struct event *ev)
{
    const uint64_t *below = map_get(&x->below_of, below_key(x, ev));

    return (struct export_stack){stacks_get(&x->s->stacks, ev->stack) ? ev->stack : 0,
                                 below ? (uint32_t)*below : 0};
}

static void add_frames(const struct stacks *s, uint32_t stack, struct export_path *out)
{
    const struct stack_node *n;

    for (; (n = stacks_get(s, stack)); stack = n->parent)
        *vec_push(&out->frames) = n->frame;
}

void export_events_path(const struct export_events *x, struct export_stack stack, struct export_path *out)
{
    vec_clear(&out->frames);
    add_frames(&x->below, stack.below, out);
    add_frames(&x->s->stacks, stack.own, out);
}

uint32_t export_events_names(const struct export_events *x, uint32_t frame)
{
    const struct frame_name *names;
    struct frame_name self;
    uint32_t n = frame <= x->s->frames.list.n ? frames_names(&x->s->frames, frame, &self, &names) : 0;

    return n ? n : 1;
}

struct export_place export_events_name(const struct export_events *x, uint32_t frame, uint32_t k,
                                       struct buf *func)
{
    const struct frame *f = frames_get(&x->s->frames, frame);
    const struct frame_name *names = NULL;
    struct frame_name self;
    uint32_t n;

    if (!f) {
        buf_addstr(func, strtab_get(&x->extra, frame - (uint32_t)x->s->frames.list.n));
        return (struct export_place){"", 0, 1};
    }
    n = frames_names(&x->s->frames, frame, &self, &names);
    frame_func(&x->s->frames, &x->s->strings, f, n ? &names[k] : NULL, func);
    if (!n)
        return (struct export_place){"", 0, 0};
    return (struct export_place){strtab_get(&x->s->strings, names[k].file), names[k].line, 1};
}

/* ---- threads ---- */

const struct task *export_events_task(const struct export_events *x, uint32_t task)
{
    return task && task <= x->s->tasks.list.n ? &x->s->tasks.list.a[task - 1] : NULL;
}

const struct task *export_events_leader(const struct export_events *x, const struct task *t)
{
    const struct task *leader = export_events_task(x, t->leader);

    return leader ? leader : t;
}

static void add_name(const struct export_events *x, const struct task *t, uint32_t id, struct buf *out)
{
    char *name = origins_task_name(x->s, t, "?");

    buf_addf(out, "%s (%u)", name, id);
    free(name);
}

void export_events_thread(const struct export_events *x, uint32_t task, struct buf *out)
{
    const struct task *t = export_events_task(x, task), *leader = t ? export_events_leader(x, t) : NULL;

    if (!t)
        return;
    add_name(x, leader, export_pid(leader), out);
    if (leader != t) {
        buf_addch(out, ' ');
        add_name(x, t, export_tid(t), out);
    }
}
