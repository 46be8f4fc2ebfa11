/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/lead.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { W_PYTHON, W_NATIVE, W_JIT, W_KERNEL, W_CPU, W_QUEUE, W_WAIT, W_PARTS = W_WAIT + WAIT_OTHER + 1 };

/* Ticks, and the ends of a recording. */
#define SLACK_NS 20000000ull

static const struct wall_part kinds[W_PARTS] = {
    [W_PYTHON] = {"python", "Python and its interpreter", 0, 0},
    [W_NATIVE] = {"native", "native code", 0, 0},
    [W_JIT] = {"jit", "JIT code", 0, 0},
    [W_KERNEL] = {"kernel", "the kernel", 0, 0},
    [W_CPU] = {"cpu", "on the CPU", 0, 0},
    [W_QUEUE] = {"runq", "run queue", 0, 1},
    [W_WAIT + WAIT_UNKNOWN] = {"unknown", "cause unknown", 0, 1},
    [W_WAIT + WAIT_SLEEP] = {"sleep", "asleep", 0, 1},
    [W_WAIT + WAIT_DISK] = {"disk", "disk", 0, 1},
    [W_WAIT + WAIT_FUTEX] = {"futex", "lock or condition", 0, 1},
    [W_WAIT + WAIT_POLL] = {"poll", "poll or select", 0, 1},
    [W_WAIT + WAIT_PIPE] = {"pipe", "pipe", 0, 1},
    [W_WAIT + WAIT_SOCKET] = {"socket", "socket", 0, 1},
    [W_WAIT + WAIT_FAULT] = {"fault", "page fault", 0, 1},
    [W_WAIT + WAIT_LOCK] = {"lock", "kernel lock", 0, 1},
    [W_WAIT + WAIT_CHILD] = {"child", "child process", 0, 1},
    [W_WAIT + WAIT_GIL] = {"gil", "Python's GIL", 0, 1},
    [W_WAIT + WAIT_OTHER] = {"other", "other system call", 0, 1},
};

/* CPython's own functions execute Python code. */
static int is_interpreter(const struct store *s, const struct frame *f)
{
    const struct module *m = frames_module(&s->frames, f->module);
    const char *path = m ? strtab_get(&s->strings, m->path) : "", *slash = strrchr(path, '/');

    path = slash ? slash + 1 : path;
    return !strncmp(path, "python", 6) || !strncmp(path, "libpython", 9);
}

/* What a sample's time was spent in: the kind of its innermost frame. */
static unsigned kind_of(const struct store *s, uint32_t stack)
{
    const struct stack_node *n = stacks_get(&s->stacks, stack);
    const struct frame *f = n ? frames_get(&s->frames, n->frame) : NULL;

    switch (f ? f->kind : FRAME_NONE) {
    case FRAME_PYTHON:
        return W_PYTHON;
    case FRAME_KERNEL:
        return W_KERNEL;
    case FRAME_JIT:
        return W_JIT;
    case FRAME_NATIVE:
        return is_interpreter(s, f) ? W_PYTHON : W_NATIVE;
    default:
        return W_CPU;
    }
}

static void add_spans(uint64_t *ns, const struct lead *l, const struct store *s)
{
    for (size_t i = 0; i < l->spans.n; i++) {
        const struct lead_span *x = &l->spans.a[i];
        const struct wait *w = waits_get(&s->waits, s->events.a[x->event].attr);
        unsigned reason = wait_reason_of(w);

        if (x->kind == LEAD_IDLE)
            continue;
        ns[x->kind == LEAD_QUEUE ? W_QUEUE : W_WAIT + reason] += x->end - x->start;
    }
}

/* Sums of short ones, which lie in what looks like running. */
static void add_short(uint64_t *ns, const struct lead *l, const struct store *s)
{
    for (size_t i = 0; i < l->shorts.n; i++) {
        const struct event *ev = &s->events.a[l->shorts.a[i]];
        const struct wait *w = waits_get(&s->waits, ev->attr);

        ns[ev->kind == EVENT_RUNQ ? W_QUEUE : W_WAIT + wait_reason_of(w)] += ev->dur;
    }
}

/* Divides the time on the CPU among the kinds as the samples do. */
static void add_running(uint64_t *ns, const struct lead *l, const struct store *s, uint64_t running)
{
    uint64_t of[W_QUEUE] = {0}, all = 0, given = 0;
    unsigned last = W_CPU;

    for (size_t i = 0; i < l->samples.n; i++) {
        const struct event *ev = &s->events.a[l->samples.a[i]];
        unsigned k = kind_of(s, ev->stack);

        of[k] += ev->value;
        all += ev->value;
    }
    for (unsigned k = 0; k < W_QUEUE; k++) {
        if (!of[k])
            continue;
        ns[k] += (uint64_t)((double)running * ((double)of[k] / (double)all));
        given += (uint64_t)((double)running * ((double)of[k] / (double)all));
        last = k;
    }
    ns[last] += running > given ? running - given : 0;
}

/* What is not off the CPU was on it; where that is far from what the kernel counted, nothing tells. */
static uint64_t ran_of(const struct lead *l, uint64_t ns)
{
    uint64_t most = l->cpu_ns + l->cpu_ns / 8 + SLACK_NS;

    return l->cpu_ns && ns > most ? most : ns;
}

static int heavier(const void *pa, const void *pb)
{
    const struct wall_part *a = pa, *b = pb;

    if (a->blocked != b->blocked)
        return a->blocked - b->blocked;
    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : strcmp(a->key, b->key);
}

void wall_init(struct wall *w, const struct lead *l, const struct session *s)
{
    uint64_t ns[W_PARTS] = {0}, off = 0, alive;

    *w = (struct wall){0};
    if (!l->task || s->meta.end_mono <= s->meta.start_mono)
        return;
    w->ns = l->crew ? l->life_ns : s->meta.end_mono - s->meta.start_mono;
    w->measured = l->any_waits;
    alive = l->life_ns;
    add_spans(ns, l, &s->store);
    add_short(ns, l, &s->store);
    for (unsigned i = W_QUEUE; i < W_PARTS; i++)
        off += ns[i];
    if (w->measured)
        add_running(ns, l, &s->store, ran_of(l, alive > off ? alive - off : 0));
    else if (s->meta.frequency)
        add_running(ns, l, &s->store, l->samples.n * (1000000000 / s->meta.frequency));
    else /* imported: no frequency, but there may be weights that are times */
        add_running(ns, l, &s->store, l->cpu_ns < alive ? l->cpu_ns : alive);
    for (unsigned i = 0; i < W_PARTS; i++) {
        struct wall_part x = kinds[i];

        x.ns = ns[i];
        w->unseen += ns[i];
        if (x.ns)
            *vec_push(&w->parts) = x;
    }
    w->unseen = w->ns > w->unseen ? w->ns - w->unseen : 0;
    if (w->parts.n)
        qsort(w->parts.a, w->parts.n, sizeof(*w->parts.a), heavier);
}

void wall_release(struct wall *w)
{
    vec_release(&w->parts);
}
