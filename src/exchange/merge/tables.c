/* SPDX-License-Identifier: Apache-2.0 */
/* A session's tables and events into the merged store. */
#include "exchange/merge/ids.h"
#include "model/metrics.h"

#include <stdlib.h>
#include <string.h>

/* ---- what ran ---- */

/* What has a build id is the same wherever it lies. What has none is only known to be the same on one
 * machine: that one's task says which. */
static void add_modules(struct merge_ids *x)
{
    const struct frames *f = &x->from->frames;

    for (size_t i = 0; i < f->modules.n; i++) {
        struct module k = f->modules.a[i];

        k.path = merge_string(x, k.path);
        k.fd = -1;
        if (k.task)
            k.task = merge_task(x, k.task);
        else if (k.build_id_len)
            k.dev = k.ino = 0;
        else
            k.task = x->m->domains.a[x->part->domain].machine;
        x->module[i + 1] = frames_add_module(&x->to->frames, &k);
    }
}

/* Names of one that has some already may only be told apart by their text. */
static void add_names(struct merge_ids *x, const struct frame *old, uint32_t id)
{
    const struct frame *there = frames_get(&x->to->frames, id);
    const struct frame_name *names = &x->from->frames.names.a[old->names];
    struct frame_name *new;

    if (!old->names_n)
        return;
    if (there->names_n) {
        x->m->left.frames += x->to->frames.names.a[there->names].func != merge_string(x, names[0].func);
        return;
    }
    new = mem_alloc(old->names_n * sizeof(*new));
    for (size_t i = 0; i < old->names_n; i++)
        new[i] = (struct frame_name){merge_string(x, names[i].func), merge_string(x, names[i].file),
                                     names[i].line};
    frames_set_names(&x->to->frames, id, new, old->names_n);
    free(new);
}

static void add_frames(struct merge_ids *x)
{
    const struct frames *f = &x->from->frames;

    for (size_t i = 0; i < f->list.n; i++) {
        const struct frame *old = &f->list.a[i];
        struct frame key = *old;

        key.module = x->module[old->module];
        key.func = merge_string(x, old->func);
        key.file = merge_string(x, old->file);
        key.names = 0;
        key.names_n = 0;
        x->frame[i + 1] = frames_add(&x->to->frames, &key);
        add_names(x, old, x->frame[i + 1]);
    }
}

static void add_stacks(struct merge_ids *x)
{
    const struct stacks *s = &x->from->stacks;

    for (size_t i = 0; i < s->nodes.n; i++) {
        const struct stack_node *n = &s->nodes.a[i];

        x->stack[i + 1] = stacks_push(&x->to->stacks, x->stack[n->parent], x->frame[n->frame]);
    }
}

/* ---- side tables ---- */

static void add_waits(struct merge_ids *x)
{
    for (size_t i = 0; i < x->from->waits.list.n; i++) {
        struct wait w = x->from->waits.list.a[i];

        w.waker_task = merge_task(x, w.waker_task);
        w.waker_stack = x->stack[w.waker_stack];
        w.what = merge_string(x, w.what);
        x->wait[i + 1] = waits_add(&x->to->waits, &w);
    }
}

/* Devices are numbered on each host: the rank tells them apart. */
static void add_works(struct merge_ids *x)
{
    for (size_t i = 0; i < x->from->gpus.list.n; i++) {
        struct gpu_work w = x->from->gpus.list.a[i];

        w.name = merge_string(x, w.name);
        if (w.rank && x->from->origins.list.n)
            w.rank = (uint16_t)(w.rank + x->ranks);
        else if (!w.rank && x->part->rank < UINT16_MAX)
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

static uint32_t attr_of(const struct merge_ids *x, const struct event *ev)
{
    if ((ev->kind == EVENT_OFFCPU || ev->kind == EVENT_GIL) && ev->attr <= x->from->waits.list.n)
        return x->wait[ev->attr];
    if (ev->kind == EVENT_GPU && ev->attr <= x->from->gpus.list.n)
        return x->gpu[ev->attr];
    return ev->attr;
}

/* What was measured of no process is the machine's, but for how many processes the recording had: that is
 * told of its command. Other things without a task are the recording's. */
static uint32_t task_of(struct merge_ids *x, const struct event *ev, uint32_t targets)
{
    if (ev->task || ev->kind == EVENT_GPU)
        return merge_task(x, ev->task);
    if (ev->kind != EVENT_METRIC)
        return merge_unknown(x);
    return ev->metric == targets && x->command ? x->command : x->machine;
}

/* Figures of the control group that several recordings are of are one of them's alone. */
static int is_of_group(const struct merge_ids *x, const struct map *groups, const struct event *old,
                       struct event *ev)
{
    const uint64_t *task = old->kind == EVENT_METRIC && groups->n ? map_get(groups, old->task) : NULL;
    enum metric_id id = task ? metrics_find(strtab_get(&x->from->strings, old->metric)) : METRIC_NONE;

    if (id == METRIC_NONE || !(metrics_get(id)->of & METRIC_CGROUP))
        return 0;
    ev->task = (uint32_t)*task;
    return 1;
}

static void add_events(struct merge_ids *x)
{
    struct map groups = {0};
    const struct store *from = x->from;
    uint32_t targets = strtab_find(&from->strings, metrics_get(METRIC_ID_TARGETS)->name);
    struct event *to;
    size_t n = 0;

    merge_groups_add(x, &groups);
    vec_reserve(&x->to->events, x->to->events.n + from->events.n);
    to = x->to->events.a + x->to->events.n;
    for (size_t i = 0; i < from->events.n; i++) {
        struct event ev = from->events.a[i];

        ev.attr = attr_of(x, &ev);
        ev.ts = merge_moved(x, ev.ts);
        ev.task = task_of(x, &from->events.a[i], targets);
        ev.stack = x->stack[ev.stack];
        ev.metric = merge_string(x, ev.metric);
        if ((is_of_group(x, &groups, &from->events.a[i], &ev) ||
             (ev.kind == EVENT_METRIC && ev.task == x->machine)) &&
            !merge_machine_keep(x->m, x->part, &ev))
            continue;
        to[n++] = ev;
        count_sample(x->m, &ev);
    }
    x->to->events.n += n;
    x->m->nevents += n;
    map_release(&groups);
}

static uint32_t *ids_for(size_t n)
{
    return mem_calloc(n + 1, sizeof(uint32_t));
}

void merge_tables_add(struct merge *m, struct merge_part *p, const struct store *from)
{
    struct merge_ids x = {.m = m,
                          .part = p,
                          .from = from,
                          .to = &m->store,
                          .string = ids_for(strtab_count(&from->strings)),
                          .module = ids_for(from->frames.modules.n),
                          .frame = ids_for(from->frames.list.n),
                          .stack = ids_for(from->stacks.nodes.n),
                          .wait = ids_for(from->waits.list.n),
                          .gpu = ids_for(from->gpus.list.n),
                          .task = ids_for(from->tasks.list.n),
                          .offset = m->domains.a[p->domain].offset.ns};

    merge_tasks_add(&x);
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
    free(x.task);
}
