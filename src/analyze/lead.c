/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/lead.h"

#include "analyze/crew.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A command that waits for one child for most of the time is a shell or a launcher: that child's time is what
 * counts. */
enum { LAUNCHERS = 8, MOSTLY = 80 /* % */ };

static const struct task *task_of(const struct store *s, uint32_t id)
{
    return id && id <= s->tasks.list.n ? &s->tasks.list.a[id - 1] : NULL;
}

void lead_name(const struct store *s, uint32_t task, struct buf *out)
{
    const struct task *t = task_of(s, task);
    char *name = t ? origins_task_name(s, t, "?") : NULL;

    if (t)
        buf_addf(out, "%s[%u]", name, t->ns_tid ? t->ns_tid : t->tid);
    free(name);
}

/* What each thread did: time on a CPU by samples, and off it. */
struct use {
    uint64_t waited, children, samples;
};

static struct use *uses(const struct store *s)
{
    struct use *u = mem_calloc(s->tasks.list.n + 1, sizeof(*u));

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct wait *w;

        if (!task_of(s, ev->task))
            continue;
        if (ev->kind == EVENT_SAMPLE)
            u[ev->task].samples += ev->value;
        if (ev->kind != EVENT_OFFCPU)
            continue;
        u[ev->task].waited += ev->dur;
        w = waits_get(&s->waits, ev->attr);
        if (w && w->reason == WAIT_CHILD)
            u[ev->task].children += ev->dur;
    }
    return u;
}

/* The last image of the thread; the one that was there longest where it executed several. */
static uint32_t last_image(const struct store *s, uint32_t task)
{
    for (size_t i = s->tasks.list.n; task && i > 0; i--)
        if (task_same_thread(&s->tasks.list.a[i - 1], &s->tasks.list.a[task - 1]))
            return (uint32_t)i;
    return task;
}

/* The main thread of the process `pid`, as wprof's own namespace has it; else the one leader there is. */
static uint32_t command_of(const struct store *s, int64_t pid)
{
    uint32_t only = 0;
    size_t leaders = 0;

    for (size_t i = s->tasks.list.n; i > 0; i--) {
        const struct task *t = &s->tasks.list.a[i - 1];

        if (pid > 0 && (t->ns_tid ? t->ns_tid : t->tid) == pid)
            return (uint32_t)i;
        if (t->pid == t->tid && (!only || !task_same_thread(t, &s->tasks.list.a[only - 1]))) {
            leaders++;
            only = only ? only : (uint32_t)i;
        }
    }
    return leaders == 1 ? only : 0;
}

static uint64_t thread_sum(const struct store *s, const struct use *u, uint32_t task, int children)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->tasks.list.n; i++)
        if (task_same_thread(&s->tasks.list.a[i], &s->tasks.list.a[task - 1]))
            sum += children ? u[i + 1].children : u[i + 1].waited;
    return sum;
}

/* The child's main thread with the most time of its own, by samples, then waits. */
static uint32_t busiest_child(const struct store *s, const struct use *u, uint32_t parent)
{
    const struct task *p = &s->tasks.list.a[parent - 1];
    uint64_t most = 0;
    uint32_t best = 0;

    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i], *of = task_of(s, t->parent);
        uint64_t time = u[i + 1].waited / 1000000 + u[i + 1].samples * 10;

        if (t->pid != t->tid || !of || !task_same_thread(of, p) || time < most || !time)
            continue;
        most = time;
        best = (uint32_t)i + 1;
    }
    return best;
}

uint64_t *lead_last_seen(const struct store *s)
{
    uint64_t *seen = mem_calloc(s->tasks.list.n + 1, sizeof(*seen));

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->task <= s->tasks.list.n && ev->ts + ev->dur > seen[ev->task])
            seen[ev->task] = ev->ts + ev->dur;
    }
    return seen;
}

/* From when to when a thread was there; its later programs don't tell when they began. */
static void life(const struct session *s, uint32_t task, uint64_t *from, uint64_t *to)
{
    uint64_t begin = s->meta.start_mono, end = s->meta.end_mono;

    *from = end;
    *to = begin;
    for (size_t i = 0; i < s->store.tasks.list.n; i++) {
        const struct task *t = &s->store.tasks.list.a[i];
        uint64_t last = t->last_ns && t->last_ns < end ? t->last_ns : end;

        if (!task_same_thread(t, &s->store.tasks.list.a[task - 1]))
            continue;
        if (t->first_ns && t->first_ns < *from)
            *from = t->first_ns;
        *to = last > *to ? last : *to;
    }
    if (*from == end || *from < begin)
        *from = begin;
    if (*to < *from)
        *to = *from;
}

/* A child whose time is the command's: it was there while the command waited for children. */
static uint32_t launched(const struct session *s, const struct use *u, uint32_t task)
{
    uint64_t begin = s->meta.start_mono, all = s->meta.end_mono > begin ? s->meta.end_mono - begin : 0;
    uint32_t child = busiest_child(&s->store, u, task);
    uint64_t waited = thread_sum(&s->store, u, task, 1), from, to;

    if (!child || waited < all / 100 * MOSTLY)
        return 0;
    life(s, child, &from, &to);
    return to - from >= waited / 100 * MOSTLY ? child : 0;
}

static uint32_t find(struct lead *l, const struct session *s)
{
    struct use *u = uses(&s->store);
    uint32_t task = command_of(&s->store, s->meta.pid);

    for (int i = 0; i < LAUNCHERS && task; i++) {
        uint32_t child = launched(s, u, task);

        if (!child)
            break;
        task = child;
        l->from_child = 1;
    }
    free(u);
    return last_image(&s->store, task);
}

static void mark_process(struct lead *l, const struct store *s, uint32_t task)
{
    if (l->process[task])
        return;
    for (size_t i = 0; i < s->tasks.list.n; i++)
        l->process[i + 1] |= (uint8_t)task_same_process(&s->tasks.list.a[i], task_of(s, task));
}

static void start(struct lead *l, const struct session *s)
{
    size_t n = s->store.tasks.list.n;

    *l = (struct lead){0};
    l->thread_of = mem_calloc(n + 1, sizeof(*l->thread_of));
    l->process = mem_calloc(n + 1, 1);
}

static void add_thread(struct lead *l, const struct session *s, uint32_t task)
{
    struct lead_thread x = {.task = task};

    life(s, task, &x.from, &x.to);
    *vec_push(&l->threads) = x;
}

void lead_init_main(struct lead *l, const struct session *s)
{
    start(l, s);
    l->task = find(l, s);
    if (!l->task)
        return;
    mark_process(l, &s->store, l->task);
    add_thread(l, s, l->task);
    lead_collect(l, s, NULL);
}

int lead_init_crew(struct lead *l, const struct lead *main, const struct session *s)
{
    const struct store *st = &s->store;
    struct crew_idle idle = {0};
    uint8_t *in = NULL;
    uint64_t *seen;

    start(l, s);
    l->task = main->task;
    l->from_child = main->from_child;
    l->crew = 1;
    if (crew_may_be(main, s)) {
        mark_process(l, st, l->task);
        crew_idle_init(&idle, st, main->thread_of);
        in = crew_find(main, s, &idle);
    }
    seen = in ? lead_last_seen(st) : NULL;
    for (uint32_t i = 1; in && i <= st->tasks.list.n; i++)
        if (in[i]) {
            add_thread(l, s, i);
            l->threads.a[l->threads.n - 1].to = crew_until(main, s, i, seen);
            mark_process(l, st, i);
        }
    free(seen);
    if (l->threads.n)
        lead_collect(l, s, &idle);
    free(in);
    crew_idle_release(&idle);
    return l->threads.n != 0;
}

void lead_init(struct lead *l, const struct session *s)
{
    struct lead main;

    lead_init_main(&main, s);
    if (lead_init_crew(l, &main, s)) {
        lead_release(&main);
        return;
    }
    lead_release(l);
    *l = main;
}

void lead_release(struct lead *l)
{
    free(l->thread_of);
    free(l->process);
    vec_release(&l->threads);
    vec_release(&l->spans);
    vec_release(&l->samples);
    vec_release(&l->shorts);
    *l = (struct lead){0};
}

size_t lead_first(const struct lead *l, uint32_t thread, uint64_t ts)
{
    size_t low = l->threads.a[thread].spans.first, high = l->threads.a[thread].spans.end;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (l->spans.a[mid].end <= ts)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
