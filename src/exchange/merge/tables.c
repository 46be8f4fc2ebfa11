/* SPDX-License-Identifier: Apache-2.0 */
/* A session's tables and events into the merged store. */
#include "exchange/merge/merge.h"

#include <stdlib.h>
#include <string.h>

/* Old id to new, one array a table; 0 stays 0. Tasks and origins come in rows of their own, behind those
 * there are: what is added to their ids. */
struct ids {
    struct merge *m;
    struct merge_part *part;
    const struct store *from;
    struct store *to;
    uint32_t *string, *module, *frame, *stack, *wait, *gpu;
    uint32_t tasks, origins;
    uint32_t machine; /* of the part */
    int64_t offset;
};

static uint32_t string(struct ids *x, uint32_t id)
{
    if (id && !x->string[id])
        x->string[id] = strtab_add(&x->to->strings, strtab_get(&x->from->strings, id));
    return x->string[id];
}

static uint32_t task(const struct ids *x, uint32_t id)
{
    return id ? id + x->tasks : 0;
}

static uint64_t moved(const struct ids *x, uint64_t ns)
{
    int64_t to = (int64_t)ns + x->offset;

    return !ns ? 0 : to > 0 ? (uint64_t)to : 1;
}

/* ---- whose it is ---- */

/* Stands for the host: of what was measured of no process. It has no pid. */
static uint32_t add_machine(struct ids *x, uint32_t origin)
{
    struct store *to = x->to;
    uint32_t id = (uint32_t)to->tasks.list.n + 1;

    *vec_push(&to->tasks.list) = (struct task){
        .leader = id, .comm = strtab_add(&to->strings, x->m->hosts.a[x->part->host].name), .origin = origin};
    tasks_touch(&to->tasks, id);
    return id;
}

/* The command's own process, by its pid as the recorder saw it. */
static uint32_t command_of(const struct ids *x)
{
    for (uint32_t id = (uint32_t)x->from->tasks.list.n; id; id--) {
        const struct task *t = &x->from->tasks.list.a[id - 1];

        if (x->part->meta.pid > 0 && t->pid == t->tid &&
            (t->ns_pid ? t->ns_pid : t->pid) == (uint64_t)x->part->meta.pid)
            return task(x, id);
    }
    return 0;
}

static struct origin origin_of(struct ids *x)
{
    const struct merge_domain *d = &x->m->domains.a[x->part->domain];
    const struct meta *meta = &x->part->meta;
    int is_reference = d == x->m->domains.a;

    return (struct origin){.host = strtab_add(&x->to->strings, x->m->hosts.a[x->part->host].name),
                           .session = strtab_add(&x->to->strings, meta->session_id),
                           .rank = (uint32_t)(x->part->rank + 1),
                           .task = command_of(x),
                           .machine = x->machine,
                           .frequency = meta->frequency > UINT32_MAX ? 0 : (uint32_t)meta->frequency,
                           .clock =
                               is_reference && x->part != x->m->parts.a ? ORIGIN_CLOCK_BOOT : d->offset.clock,
                           .offset_ns = x->offset,
                           .error_ns = d->offset.error,
                           .start_ns = moved(x, meta->start_mono),
                           .end_ns = moved(x, meta->end_mono)};
}

/* A session that was merged before has its own: they keep what they know, but for where they are moved. */
static void add_origins(struct ids *x)
{
    const struct origins *old = &x->from->origins;

    if (!old->list.n)
        *vec_push(&x->to->origins.list) = origin_of(x);
    for (size_t i = 0; i < old->list.n; i++) {
        const struct merge_domain *d = &x->m->domains.a[x->part->domain];
        struct origin o = old->list.a[i];

        o.host = string(x, o.host);
        o.session = string(x, o.session);
        o.task = task(x, o.task);
        o.machine = task(x, o.machine);
        o.offset_ns += x->offset;
        o.clock = d == x->m->domains.a ? o.clock : d->offset.clock;
        o.error_ns = o.error_ns == ORIGIN_ERROR_UNKNOWN || d->offset.error == ORIGIN_ERROR_UNKNOWN
                         ? ORIGIN_ERROR_UNKNOWN
                         : o.error_ns + d->offset.error;
        o.start_ns = moved(x, o.start_ns);
        o.end_ns = moved(x, o.end_ns);
        *vec_push(&x->to->origins.list) = o;
    }
}

static void add_tasks(struct ids *x)
{
    const struct tasks *from = &x->from->tasks;
    struct tasks *to = &x->to->tasks;

    for (size_t i = 0; i < from->list.n; i++) {
        struct task t = from->list.a[i];

        t.comm = string(x, t.comm);
        t.leader = task(x, t.leader);
        t.parent = task(x, t.parent);
        t.first_ns = moved(x, t.first_ns);
        t.last_ns = moved(x, t.last_ns);
        t.origin = t.origin ? t.origin + x->origins : x->origins + 1;
        *vec_push(&to->list) = t;
        tasks_touch(to, (uint32_t)to->list.n);
    }
}

/* ---- what ran ---- */

/* What has a build id is the same wherever it lies. What has none is only known to be the same on one
 * machine: that one's task says which. */
static void add_modules(struct ids *x)
{
    const struct frames *f = &x->from->frames;

    for (size_t i = 0; i < f->modules.n; i++) {
        struct module k = f->modules.a[i];

        k.path = string(x, k.path);
        k.fd = -1;
        if (k.task)
            k.task = task(x, k.task);
        else if (k.build_id_len)
            k.dev = k.ino = 0;
        else
            k.task = x->m->domains.a[x->part->domain].machine;
        x->module[i + 1] = frames_add_module(&x->to->frames, &k);
    }
}

/* Names of one that has some already may only be told apart by their text. */
static void add_names(struct ids *x, const struct frame *old, uint32_t id)
{
    const struct frame *there = frames_get(&x->to->frames, id);
    const struct frame_name *names = &x->from->frames.names.a[old->names];
    struct frame_name *new;

    if (!old->names_n)
        return;
    if (there->names_n) {
        x->m->left.frames += x->to->frames.names.a[there->names].func != string(x, names[0].func);
        return;
    }
    new = mem_alloc(old->names_n * sizeof(*new));
    for (size_t i = 0; i < old->names_n; i++)
        new[i] = (struct frame_name){string(x, names[i].func), string(x, names[i].file), names[i].line};
    frames_set_names(&x->to->frames, id, new, old->names_n);
    free(new);
}

static void add_frames(struct ids *x)
{
    const struct frames *f = &x->from->frames;

    for (size_t i = 0; i < f->list.n; i++) {
        const struct frame *old = &f->list.a[i];
        struct frame key = *old;

        key.module = x->module[old->module];
        key.func = string(x, old->func);
        key.file = string(x, old->file);
        key.names = 0;
        key.names_n = 0;
        x->frame[i + 1] = frames_add(&x->to->frames, &key);
        add_names(x, old, x->frame[i + 1]);
    }
}

static void add_stacks(struct ids *x)
{
    const struct stacks *s = &x->from->stacks;

    for (size_t i = 0; i < s->nodes.n; i++) {
        const struct stack_node *n = &s->nodes.a[i];

        x->stack[i + 1] = stacks_push(&x->to->stacks, x->stack[n->parent], x->frame[n->frame]);
    }
}

/* ---- side tables ---- */

static void add_waits(struct ids *x)
{
    for (size_t i = 0; i < x->from->waits.list.n; i++) {
        struct wait w = x->from->waits.list.a[i];

        w.waker_task = task(x, w.waker_task);
        w.waker_stack = x->stack[w.waker_stack];
        w.what = string(x, w.what);
        x->wait[i + 1] = waits_add(&x->to->waits, &w);
    }
}

/* Devices are numbered on each host: the rank tells them apart. */
static void add_works(struct ids *x)
{
    for (size_t i = 0; i < x->from->gpus.list.n; i++) {
        struct gpu_work w = x->from->gpus.list.a[i];

        w.name = string(x, w.name);
        if (!w.rank && x->part->rank < UINT16_MAX)
            w.rank = (uint16_t)(x->part->rank + 1);
        x->gpu[i + 1] = gpu_works_add(&x->to->gpus, &w);
    }
}

/* ---- events ---- */

/* For the figures of meta.json, which are told of all samples. */
static void count_sample(struct merge *m, const struct event *ev)
{
    if (ev->kind == EVENT_SAMPLE)
        *map_put(&m->samples, (uint64_t)ev->stack << 16 | ev->flags) += ev->value ? ev->value : 1;
}

static uint32_t attr_of(const struct ids *x, const struct event *ev)
{
    if ((ev->kind == EVENT_OFFCPU || ev->kind == EVENT_GIL) && ev->attr <= x->from->waits.list.n)
        return x->wait[ev->attr];
    if (ev->kind == EVENT_GPU && ev->attr <= x->from->gpus.list.n)
        return x->gpu[ev->attr];
    return ev->attr;
}

static void add_events(struct ids *x)
{
    const struct store *from = x->from;
    struct event *to;

    vec_reserve(&x->to->events, x->to->events.n + from->events.n);
    to = x->to->events.a + x->to->events.n;
    for (size_t i = 0; i < from->events.n; i++) {
        struct event ev = from->events.a[i];

        ev.attr = attr_of(x, &ev);
        ev.ts = moved(x, ev.ts);
        ev.task = ev.task || ev.kind == EVENT_GPU ? task(x, ev.task) : x->machine;
        ev.stack = x->stack[ev.stack];
        ev.metric = string(x, ev.metric);
        to[i] = ev;
        count_sample(x->m, &ev);
    }
    x->to->events.n += from->events.n;
    x->m->nevents += from->events.n;
}

static uint32_t *ids_for(size_t n)
{
    return mem_calloc(n + 1, sizeof(uint32_t));
}

void merge_tables_add(struct merge *m, struct merge_part *p, const struct store *from)
{
    struct merge_domain *d = &m->domains.a[p->domain];
    struct ids x = {.m = m,
                    .part = p,
                    .from = from,
                    .to = &m->store,
                    .string = ids_for(strtab_count(&from->strings)),
                    .module = ids_for(from->frames.modules.n),
                    .frame = ids_for(from->frames.list.n),
                    .stack = ids_for(from->stacks.nodes.n),
                    .wait = ids_for(from->waits.list.n),
                    .gpu = ids_for(from->gpus.list.n),
                    .origins = (uint32_t)m->store.origins.list.n,
                    .offset = d->offset.ns};

    x.machine = add_machine(&x, x.origins + 1);
    d->machine = d->machine ? d->machine : x.machine;
    x.tasks = (uint32_t)m->store.tasks.list.n;
    add_origins(&x);
    add_tasks(&x);
    add_modules(&x);
    add_frames(&x);
    add_stacks(&x);
    add_waits(&x);
    add_works(&x);
    add_events(&x);
    free(x.string);
    free(x.module);
    free(x.frame);
    free(x.stack);
    free(x.wait);
    free(x.gpu);
}
