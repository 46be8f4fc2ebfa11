/* SPDX-License-Identifier: Apache-2.0 */
#include "model/store_compact.h"

#include "model/store_log.h"
#include "model/store_visit.h"

#include <string.h>

/* Old id to new, one array a table; 0 stays 0. */
struct ids {
    uint32_t *frame, *stack, *string, *task, *wait, *gpu;
    uint8_t *used_frame, *used_stack, *used_task, *used_wait, *used_gpu; /* by id; NULL: all are kept */
    const struct store *from;
    struct store *to;
};

static uint32_t string(struct ids *x, uint32_t id)
{
    if (id && !x->string[id]) {
        const char *s = strtab_get(&x->from->strings, id);
        struct strtab *t = &x->to->strings;

        /* Straight in: what was distinct stays distinct, and nobody looks anything up in `to`. */
        *vec_push(&t->offsets) = (uint32_t)t->bytes.len;
        buf_add(&t->bytes, s, strlen(s) + 1);
        x->string[id] = (uint32_t)t->offsets.n;
    }
    return x->string[id];
}

/* ---- what is needed ---- */

static void use_task(struct ids *x, uint32_t id)
{
    while (id && !x->used_task[id]) {
        const struct task *t = &x->from->tasks.list.a[id - 1];

        x->used_task[id] = 1;
        if (t->leader != id)
            use_task(x, t->leader);
        id = t->parent;
    }
}

static void use_stack(struct ids *x, uint32_t id)
{
    for (; id && !x->used_stack[id]; id = x->from->stacks.nodes.a[id - 1].parent) {
        x->used_stack[id] = 1;
        x->used_frame[x->from->stacks.nodes.a[id - 1].frame] = 1;
    }
}

static void use_wait(struct ids *x, uint32_t id)
{
    const struct wait *w = waits_get(&x->from->waits, id);

    if (!w || x->used_wait[id])
        return;
    x->used_wait[id] = 1;
    use_task(x, w->waker_task);
    use_stack(x, w->waker_stack);
}

static int has_wait(const struct event *e)
{
    return e->kind == EVENT_OFFCPU || e->kind == EVENT_GIL;
}

static int has_gpu(const struct event *e)
{
    return e->kind == EVENT_GPU;
}

static void use_all(struct ids *x)
{
    const struct store *s = x->from;

    for (size_t i = 0; i < s->events.n; i++) {
        use_task(x, s->events.a[i].task);
        use_stack(x, s->events.a[i].stack);
        if (has_wait(&s->events.a[i]))
            use_wait(x, s->events.a[i].attr);
        else if (has_gpu(&s->events.a[i]) && gpu_works_get(&s->gpus, s->events.a[i].attr))
            x->used_gpu[s->events.a[i].attr] = 1;
    }
    for (uint32_t id = 1; id <= s->tasks.list.n; id++)
        if (s->tasks.list.a[id - 1].cpu_ns)
            use_task(x, id);
    for (size_t i = 0; i < s->frames.modules.n; i++)
        use_task(x, s->frames.modules.a[i].task);
    for (size_t i = 0; i < s->origins.list.n; i++) {
        use_task(x, s->origins.list.a[i].task);
        use_task(x, s->origins.list.a[i].machine);
    }
}

/* New ids, in the old order. */
static void number(uint32_t *to, const uint8_t *used, size_t n)
{
    uint32_t next = 0;

    for (size_t id = 1; id <= n; id++)
        to[id] = !used || used[id] ? ++next : 0;
}

/* ---- tables ---- */

static int frame_order(const void *pa, const void *pb, void *ctx)
{
    const struct frames *f = ctx;
    const struct frame *a = &f->list.a[*(const uint32_t *)pa - 1], *b = &f->list.a[*(const uint32_t *)pb - 1];

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->func != b->func)
        return a->func < b->func ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->flags < b->flags ? -1 : a->flags > b->flags;
}

static void compact_modules(struct ids *x)
{
    for (size_t i = 0; i < x->from->frames.modules.n; i++) {
        struct module m = x->from->frames.modules.a[i];

        m.path = string(x, m.path);
        m.task = x->task[m.task];
        m.fd = -1;
        *vec_push(&x->to->frames.modules) = m;
    }
}

static void compact_names(struct ids *x, const struct frame *old, struct frame *new)
{
    const struct frames *f = &x->from->frames;

    new->names = (uint32_t)x->to->frames.names.n;
    for (size_t j = 0; j < old->names_n; j++) {
        struct frame_name name = f->names.a[old->names + j];

        name.func = string(x, name.func);
        name.file = string(x, name.file);
        *vec_push(&x->to->frames.names) = name;
    }
}

static void compact_frames(struct ids *x)
{
    const struct frames *f = &x->from->frames;
    uint32_t *order = mem_alloc((f->list.n + 1) * sizeof(*order));
    size_t n = 0;

    for (uint32_t id = 1; id <= f->list.n; id++)
        if (!x->used_frame || x->used_frame[id])
            order[n++] = id;
    if (n)
        qsort_r(order, n, sizeof(*order), frame_order, (void *)f);
    for (size_t i = 0; i < n; i++) {
        const struct frame *old = &f->list.a[order[i] - 1];
        struct frame new = *old;

        new.func = string(x, old->func);
        new.file = string(x, old->file);
        compact_names(x, old, &new);
        *vec_push(&x->to->frames.list) = new;
        x->frame[order[i]] = (uint32_t)i + 1;
    }
    free(order);
}

struct child {
    uint32_t parent, frame, id; /* frame: its new id */
};

static int child_order(const void *pa, const void *pb)
{
    const struct child *a = pa, *b = pb;

    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* Depth first, children by frame: a chain's links are then 0, and stacks that look alike lie side by side. */
static void compact_stacks(struct ids *x)
{
    const struct stacks *s = &x->from->stacks;
    size_t all = s->nodes.n, n = 0;
    struct child *c = mem_alloc((all + 1) * sizeof(*c));
    uint32_t *first = mem_calloc(all + 2, sizeof(*first));
    VEC(uint32_t) todo = {0};

    for (size_t i = 0; i < all; i++)
        if (!x->used_stack || x->used_stack[i + 1])
            c[n++] = (struct child){s->nodes.a[i].parent, x->frame[s->nodes.a[i].frame], (uint32_t)i + 1};
    if (n)
        qsort(c, n, sizeof(*c), child_order);
    for (size_t i = 0; i < n; i++)
        first[c[i].parent + 1]++;
    for (size_t i = 0; i <= all; i++)
        first[i + 1] += first[i]; /* the children of stack p are c[first[p]] .. c[first[p + 1]] */
    for (uint32_t i = first[1]; i > first[0]; i--)
        *vec_push(&todo) = i - 1;
    while (todo.n) {
        const struct child *k = &c[todo.a[--todo.n]];

        *vec_push(&x->to->stacks.nodes) = (struct stack_node){x->stack[k->parent], k->frame};
        x->stack[k->id] = (uint32_t)x->to->stacks.nodes.n;
        for (uint32_t i = first[k->id + 1]; i > first[k->id]; i--)
            *vec_push(&todo) = i - 1;
    }
    vec_release(&todo);
    free(first);
    free(c);
}

static void compact_tasks(struct ids *x)
{
    for (size_t i = 0; i < x->from->tasks.list.n; i++) {
        struct task t = x->from->tasks.list.a[i];

        if (!x->task[i + 1])
            continue;
        t.comm = string(x, t.comm);
        t.leader = x->task[t.leader];
        t.parent = x->task[t.parent];
        *vec_push(&x->to->tasks.list) = t;
        *vec_push(&x->to->tasks.changed) = (uint32_t)x->to->tasks.list.n;
    }
}

static void compact_origins(struct ids *x)
{
    for (size_t i = 0; i < x->from->origins.list.n; i++) {
        struct origin o = x->from->origins.list.a[i];

        o.host = string(x, o.host);
        o.session = string(x, o.session);
        o.task = x->task[o.task];
        o.machine = x->task[o.machine];
        *vec_push(&x->to->origins.list) = o;
    }
}

static void compact_counters(struct ids *x)
{
    for (size_t i = 0; i < x->from->counters.n; i++) {
        const struct counter *c = &x->from->counters.a[i];

        *vec_push(&x->to->counters) = (struct counter){string(x, c->name), c->value};
    }
}

static void compact_waits(struct ids *x)
{
    for (size_t i = 0; i < x->from->waits.list.n; i++) {
        struct wait w = x->from->waits.list.a[i];

        if (!x->wait[i + 1])
            continue;
        w.waker_task = x->task[w.waker_task];
        w.what = string(x, w.what);
        w.waker_stack = x->stack[w.waker_stack];
        *vec_push(&x->to->waits.list) = w;
    }
}

static void compact_gpus(struct ids *x)
{
    for (size_t i = 0; i < x->from->gpus.list.n; i++) {
        struct gpu_work w = x->from->gpus.list.a[i];

        if (!x->gpu[i + 1])
            continue;
        w.name = string(x, w.name);
        *vec_push(&x->to->gpus.list) = w;
    }
}

static void compact_events(struct ids *x)
{
    const struct store *from = x->from;
    struct store *to = x->to;

    vec_reserve(&to->events, from->events.n);
    for (size_t i = 0; i < from->events.n; i++) {
        struct event ev = from->events.a[i];

        ev.task = x->task[ev.task];
        ev.stack = x->stack[ev.stack];
        if (has_wait(&ev) && ev.attr <= from->waits.list.n)
            ev.attr = x->wait[ev.attr];
        else if (has_gpu(&ev) && ev.attr <= from->gpus.list.n)
            ev.attr = x->gpu[ev.attr];
        ev.metric = string(x, ev.metric);
        *vec_push(&to->events) = ev;
    }
    store_events_sort(to->events.a, to->events.n, 0);
}

static void compact(struct ids *x)
{
    if (x->used_task)
        use_all(x);
    number(x->task, x->used_task, x->from->tasks.list.n);
    number(x->wait, x->used_wait, x->from->waits.list.n);
    number(x->gpu, x->used_gpu, x->from->gpus.list.n);
    compact_modules(x);
    compact_frames(x);
    compact_stacks(x);
    compact_tasks(x);
    compact_origins(x);
    compact_counters(x);
    compact_waits(x);
    compact_gpus(x);
    compact_events(x);
}

static void new_ids(struct ids *x)
{
    const struct store *s = x->from;

    x->frame = mem_calloc(s->frames.list.n + 1, sizeof(uint32_t));
    x->stack = mem_calloc(s->stacks.nodes.n + 1, sizeof(uint32_t));
    x->string = mem_calloc(strtab_count(&s->strings) + 1, sizeof(uint32_t));
    x->wait = mem_calloc(s->waits.list.n + 1, sizeof(uint32_t));
    x->gpu = mem_calloc(s->gpus.list.n + 1, sizeof(uint32_t));
    x->task = mem_calloc(s->tasks.list.n + 1, sizeof(uint32_t));
}

static void release_ids(struct ids *x)
{
    free(x->frame);
    free(x->stack);
    free(x->string);
    free(x->wait);
    free(x->gpu);
    free(x->task);
    free(x->used_frame);
    free(x->used_stack);
    free(x->used_task);
    free(x->used_wait);
    free(x->used_gpu);
}

void store_compact(struct store *to, const struct store *from)
{
    struct ids x = {.from = from, .to = to};

    new_ids(&x);
    compact(&x);
    release_ids(&x);
}

void store_compact_used(struct store *to, const struct store *from)
{
    struct ids x = {.from = from, .to = to};

    new_ids(&x);
    x.used_frame = mem_calloc(from->frames.list.n + 1, 1);
    x.used_stack = mem_calloc(from->stacks.nodes.n + 1, 1);
    x.used_wait = mem_calloc(from->waits.list.n + 1, 1);
    x.used_gpu = mem_calloc(from->gpus.list.n + 1, 1);
    x.used_task = mem_calloc(from->tasks.list.n + 1, 1);
    compact(&x);
    release_ids(&x);
}

void store_compact_replace(struct store *s, struct store *to)
{
    for (size_t i = 0; i < to->frames.modules.n; i++) {
        to->frames.modules.a[i].fd = s->frames.modules.a[i].fd;
        s->frames.modules.a[i].fd = -1;
    }
    store_release(s);
    *s = *to;
    *to = (struct store){0};
}

void store_keep_used(struct store *s)
{
    struct store small = {0};

    store_compact_used(&small, s);
    store_compact_replace(s, &small);
}

/* What is marked stands for itself only so far: a stack needs those above it and their frames, a wait its
 * stack. */
static void use_what_marked_needs(struct ids *x, const struct store_visit *v)
{
    const struct store *s = x->from;

    for (uint32_t id = 1; id <= s->waits.list.n; id++) {
        if (!v->used_wait[id])
            continue;
        v->used_wait[id] = 0;
        use_wait(x, id);
    }
    for (uint32_t id = 1; id <= s->stacks.nodes.n; id++) {
        if (!v->used_stack[id])
            continue;
        v->used_stack[id] = 0;
        use_stack(x, id);
    }
}

void store_compact_visited(struct store *to, struct store_visit *v)
{
    const struct store *from = v->store;
    struct ids x = {.from = from,
                    .to = to,
                    .frame = v->frame,
                    .stack = v->stack,
                    .string = v->string,
                    .wait = v->wait,
                    .gpu = mem_calloc(from->gpus.list.n + 1, sizeof(uint32_t)),
                    .used_gpu = mem_calloc(from->gpus.list.n + 1, 1),
                    .task = mem_calloc(from->tasks.list.n + 1, sizeof(uint32_t)),
                    .used_frame = v->used_frame,
                    .used_stack = v->used_stack,
                    .used_wait = v->used_wait,
                    .used_task = mem_alloc(from->tasks.list.n + 1)};

    memset(x.used_task, 1, from->tasks.list.n + 1);
    use_what_marked_needs(&x, v);
    compact(&x);
    for (uint32_t id = 1; id <= strtab_count(&from->strings); id++)
        if (v->used_string[id])
            string(&x, id);
    free(x.gpu);
    free(x.used_gpu);
    free(x.task);
    free(x.used_task);
}
