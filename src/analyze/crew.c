/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/crew.h"

#include "analyze/programs.h"
#include "base/mem.h"

#include <stdlib.h>

/* A main thread that is blocked for so much of the time that it had a CPU or needed none only waits. */
#define IDLE_LEAST 0.8
/* Others than those who work may end so much of its waits, or be what it waits for, and the processes that it
 * started use so much of a CPU for each second that its threads do. */
#define ELSEWHERE_MOST 0.3
#define CHILDREN_MOST  0.5
/* They work so much of the wall time in all; and each has this part of the most that one has of the CPU. */
#define WORK_LEAST 0.1
#define EACH_LEAST 0.05
/* Where the main thread doesn't wait for them they have so much of a CPU: what sleeps and looks now and then
 * whether all is well is no worker. */
#define CPU_LEAST 0.02
/* Where fewer of them are there at a time, the chain of who ended which of main's waits tells as much: unless
 * its waits are few and long, or others end them. */
#define AT_A_TIME 1.5
#define WAIT_LONG 0.1

enum { DEPTH = 16 };

/* What a thread did. ns. */
struct did {
    uint64_t cpu, samples;
    uint64_t work; /* it ran, wanted to, or was held up by what it does */
};

/* What ends the main thread's waits. ns. */
struct main_waits {
    uint64_t all, by_crew, longest;
    uint64_t elsewhere; /* others than the crew, or what it asked for itself */
};

struct crew {
    const struct lead *main;
    const struct session *s;
    const struct crew_idle *idle;
    uint64_t wall;
    int processes; /* it is looked for among those that the main thread's started, not its threads */
    uint8_t *in;
    struct did *did;   /* by the task id of a thread's last image */
    uint64_t children; /* CPU time of the processes that the main thread's started */
    struct main_waits main_waits;
};

/* Of the main thread's process, and not the main thread. */
static int is_other(const struct crew *c, uint32_t task)
{
    return task && task <= c->s->store.tasks.list.n && c->main->process[task] && !c->main->thread_of[task];
}

/* Of a process that the main thread's one, or one of those, started. */
static int is_child(const struct crew *c, uint32_t task)
{
    const struct tasks *tasks = &c->s->store.tasks;

    for (int depth = 0; task && task <= tasks->list.n && depth < DEPTH; depth++) {
        const struct task *t = &tasks->list.a[task - 1];
        uint32_t leader = t->leader && t->leader <= tasks->list.n ? t->leader : task;

        task = tasks->list.a[leader - 1].parent;
        if (task && task <= tasks->list.n && c->main->process[task])
            return !c->main->process[leader];
    }
    return 0;
}

/* Of a process that was there before the recording it is not known who started it. One that was recorded, of
 * the main thread's name and younger, was forked by it. */
static int is_forked(const struct crew *c, const struct task *leader)
{
    const struct task *main = &c->s->store.tasks.list.a[c->main->task - 1];

    return !programs_of_machine(&c->s->meta) && leader->cpu_ns && leader->comm == main->comm &&
           leader->origin == main->origin && leader->start_ns > main->start_ns;
}

/* Of a process that the main thread's started itself, and that was there for most of the time. */
static int is_of_child(const struct crew *c, uint32_t task)
{
    const struct tasks *tasks = &c->s->store.tasks;
    const struct task *t = &tasks->list.a[task - 1];
    uint32_t leader = t->leader && t->leader <= tasks->list.n ? t->leader : task, parent;
    uint64_t begin = c->s->meta.start_mono, from, to;

    t = &tasks->list.a[leader - 1];
    parent = t->parent;
    if (c->main->process[leader] || (!parent && !is_forked(c, t)) ||
        (parent && (parent > tasks->list.n || !c->main->process[parent])))
        return 0;
    from = t->first_ns > begin ? t->first_ns - begin : 0;
    to = t->last_ns > begin ? t->last_ns - begin : c->wall;
    return to > from && to - from >= c->wall / 2;
}

/* One of those that the crew may be of. */
static int may_be(const struct crew *c, uint32_t task)
{
    return task && task <= c->s->store.tasks.list.n &&
           (c->processes ? is_of_child(c, task) : is_other(c, task));
}

/* Whether the thread has executed no other program after that one. */
static int is_last_image(const struct crew *c, uint32_t task)
{
    const struct tasks *tasks = &c->s->store.tasks;

    for (size_t i = task; c->processes && i < tasks->list.n; i++)
        if (task_same_thread(&tasks->list.a[i], &tasks->list.a[task - 1]))
            return 0;
    return 1;
}

/* A wait in which the thread was held up in its work: what sleeps, or waits for a file, has something to do;
 * a lock is another worker's. Who is at the other end of a pipe or a socket may well be who does the work. */
static int is_work(const struct crew *c, const struct event *ev)
{
    const struct wait *w = waits_get(&c->s->store.waits, ev->attr);

    if (ev->kind == EVENT_RUNQ)
        return 1;
    switch (wait_reason_of(w)) {
    case WAIT_SLEEP:
    case WAIT_DISK:
    case WAIT_FAULT:
    case WAIT_LOCK:
    case WAIT_GIL:
        return !crew_idle_is(c->idle, ev);
    case WAIT_FUTEX:
        return w && may_be(c, w->waker_task) && !crew_idle_is(c->idle, ev);
    default:
        return 0;
    }
}

/* What each did, and the CPU time of the processes that the main thread's started. */
static void measure(struct crew *c)
{
    const struct store *s = &c->s->store;
    uint64_t period = c->s->meta.frequency ? 1000000000 / c->s->meta.frequency : 0;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (!ev->task || ev->task > s->tasks.list.n)
            continue;
        if (ev->kind == EVENT_SAMPLE)
            c->did[ev->task].samples += period * ev->value;
        else if ((ev->kind == EVENT_OFFCPU || ev->kind == EVENT_RUNQ) && may_be(c, ev->task) &&
                 is_work(c, ev))
            c->did[ev->task].work += ev->dur;
    }
    for (uint32_t i = 1; i <= s->tasks.list.n; i++) {
        struct did *x = &c->did[i];

        x->cpu = s->tasks.list.a[i - 1].cpu_ns ? s->tasks.list.a[i - 1].cpu_ns : x->samples;
        x->work += x->cpu;
        c->children += is_child(c, i) ? x->cpu : 0;
    }
}

int crew_may_be(const struct lead *m, const struct session *s)
{
    uint64_t queue = 0, idle = 0;

    if (!m->task || !m->waits || s->meta.end_mono <= s->meta.start_mono)
        return 0;

    for (size_t i = 0; i < m->spans.n; i++) {
        const struct lead_span *x = &m->spans.a[i];
        unsigned reason = wait_reason_of(waits_of_event(&s->store.waits, &s->store.events.a[x->event]));

        if (x->kind == LEAD_QUEUE)
            queue += x->end - x->start;
        else if (reason != WAIT_DISK && reason != WAIT_FAULT && reason != WAIT_LOCK && reason != WAIT_GIL)
            idle += x->end - x->start;
    }
    return m->life_ns > queue && (double)idle >= IDLE_LEAST * (double)(m->life_ns - queue);
}

/* Those who work, by what each does of the CPU's work; gives their CPU time; 0: it is little work in all. */
static uint64_t choose(struct crew *c)
{
    const struct store *s = &c->s->store;
    uint64_t most = 0, cpu = 0, work = 0;

    for (uint32_t i = 1; i <= s->tasks.list.n; i++)
        most = may_be(c, i) && c->did[i].cpu > most ? c->did[i].cpu : most;
    for (uint32_t i = 1; i <= s->tasks.list.n; i++) {
        const struct did *x = &c->did[i];

        if (!may_be(c, i) || !x->cpu || (double)x->cpu < EACH_LEAST * (double)most || !is_last_image(c, i))
            continue;
        c->in[i] = 1;
        cpu += x->cpu;
        work += x->work;
    }
    return (double)work >= WORK_LEAST * (double)c->wall ? cpu : 0;
}

/* The main thread waits for whatever comes: at a listening socket, for a signal, for an event that nobody
 * sets, or sleeps for long. Short sleeps, and answers that it asked for, are its own doing. */
static int is_for_others(const struct crew *c, const struct event *ev, uint64_t ns)
{
    switch (wait_reason_of(waits_of_event(&c->s->store.waits, ev))) {
    case WAIT_SLEEP:
        return (double)ns >= WAIT_LONG * (double)c->wall;
    case WAIT_SOCKET:
    case WAIT_POLL:
    case WAIT_PIPE:
    case WAIT_CHILD:
        return crew_idle_is(c->idle, ev);
    default:
        return 1;
    }
}

static void see_main(struct crew *c)
{
    for (size_t i = 0; i < c->main->spans.n; i++) {
        const struct lead_span *x = &c->main->spans.a[i];
        const struct event *ev = &c->s->store.events.a[x->event];
        const struct wait *w = waits_of_event(&c->s->store.waits, ev);
        uint64_t ns = x->end - x->start;
        uint32_t by = w && !w->irq && w->waker_task <= c->s->store.tasks.list.n ? w->waker_task : 0;

        if (x->kind != LEAD_WAIT)
            continue;
        c->main_waits.all += ns;
        c->main_waits.longest = ns > c->main_waits.longest ? ns : c->main_waits.longest;
        if (by && c->in[by])
            c->main_waits.by_crew += ns;
        else if (!crew_idle_serves(c->idle, ev) && (by || !is_for_others(c, ev, ns)))
            c->main_waits.elsewhere += ns;
    }
}

/* The CPU time of those that are there at the end is known, as that of those whose end was seen. */
uint64_t crew_until(const struct lead *main, const struct session *s, uint32_t task, const uint64_t *seen)
{
    const struct task *t = &s->store.tasks.list.a[task - 1];
    uint64_t begin = s->meta.start_mono, to = t->last_ns ? t->last_ns : s->meta.end_mono;

    if (!t->last_ns && !t->cpu_ns && main->cpu_ns && seen[task])
        to = seen[task];
    to = to < s->meta.end_mono ? to : s->meta.end_mono;
    begin = t->first_ns > begin ? t->first_ns : begin;
    return to > begin ? to : begin;
}

/* How long they were there, in all. */
static uint64_t lives(const struct crew *c)
{
    uint64_t begin = c->s->meta.start_mono, sum = 0, *seen = lead_last_seen(&c->s->store);

    for (uint32_t i = 1; i <= c->s->store.tasks.list.n; i++) {
        const struct task *t = &c->s->store.tasks.list.a[i - 1];

        if (c->in[i])
            sum += crew_until(c->main, c->s, i, seen) - (t->first_ns > begin ? t->first_ns : begin);
    }
    free(seen);
    return sum;
}

/* It is their time that the report is about. */
static int are_crew(struct crew *c)
{
    uint64_t cpu;

    measure(c);
    cpu = choose(c);
    see_main(c);
    if (!cpu || (!c->processes && (double)c->children > CHILDREN_MOST * (double)cpu) ||
        (double)c->main_waits.elsewhere > ELSEWHERE_MOST * (double)c->main_waits.all)
        return 0;
    if (c->main_waits.by_crew < c->main_waits.all / (c->processes ? 10 : 2))
        return (double)cpu >= CPU_LEAST * (double)c->wall;
    /* What it has from other processes, their chain tells. */
    return !c->processes && ((double)lives(c) >= AT_A_TIME * (double)c->wall ||
                             (double)c->main_waits.longest >= WAIT_LONG * (double)c->wall);
}

uint8_t *crew_find(const struct lead *main, const struct session *s, const struct crew_idle *idle)
{
    size_t n = s->store.tasks.list.n;
    struct crew c = {.main = main, .s = s, .idle = idle};

    c.wall = s->meta.end_mono - s->meta.start_mono;
    for (; c.processes < 2; c.processes++) {
        int found;

        c.in = mem_calloc(n + 1, 1);
        c.did = mem_calloc(n + 1, sizeof(*c.did));
        c.children = 0;
        c.main_waits = (struct main_waits){0};
        found = are_crew(&c);
        free(c.did);
        if (found)
            return c.in;
        free(c.in);
    }
    return NULL;
}
