/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/unit_time.h"

#include "analyze/waits_top.h"

/* Two periods of 99 Hz: a sample that is no further away tells what a thread did that ran. */
#define NEAR_NS 20000000ull

enum {
    CHAIN = 6,       /* threads, each of which waits for the next */
    JOINS = 64,      /* of one unit that are looked at at a time */
    LEFT = 20000000, /* pieces: some seconds of work at most */
};

const char *unit_cause_key(unsigned cause)
{
    static const char *const keys[] = {"cpu", "other", "gil", "no-cpu", "call", "unseen"};
    static const char *const blocked[] = {"blocked",      "blocked-sleep", "blocked-disk",   "blocked-futex",
                                          "blocked-poll", "blocked-pipe",  "blocked-socket", "blocked-fault",
                                          "blocked-lock", "blocked-child", "blocked-gil",    "blocked-other"};

    if (cause < UNIT_BLOCKED)
        return keys[cause];
    return cause < UNIT_CAUSES ? blocked[cause - UNIT_BLOCKED] : "unseen";
}

const char *unit_cause_name(unsigned cause)
{
    static const char *const names[] = {"on the CPU",        "waits for another thread",
                                        "waits for the GIL", "gets no CPU",
                                        "in a call",         "not seen"};
    static const char *const blocked[] = {
        "blocked",         "blocked: sleep",      "blocked: disk",
        "blocked: futex",  "blocked: poll",       "blocked: pipe",
        "blocked: socket", "blocked: page fault", "blocked: lock in the kernel",
        "blocked: child",  "blocked: GIL",        "blocked: other call"};

    if (cause < UNIT_BLOCKED)
        return names[cause];
    return cause < UNIT_CAUSES ? blocked[cause - UNIT_BLOCKED] : "not seen";
}

void unit_time_init(struct unit_time *t, const struct session *s, const struct units *u)
{
    *t = (struct unit_time){.s = &s->store, .u = u, .left = LEFT};
    gpu_host_init(&t->host, t->s);
}

void unit_time_release(struct unit_time *t)
{
    gpu_host_release(&t->host);
}

/* ---- one unit ---- */

struct walk {
    struct unit_time *t;
    unit_each each;
    void *arg;
    uint32_t chain[CHAIN]; /* who waits for whom; the first works on the unit */
    unsigned n;
    int queued;
    uint32_t taker; /* owner's time: the thread that took the unit up next, and when; 0: none did */
    uint64_t taken;
};

static void tell(struct walk *w, unsigned cause, uint32_t task, uint32_t stack, uint64_t from, uint64_t to)
{
    struct unit_piece p = {cause, task, stack, w->queued, from, to};

    if (from >= to)
        return;
    if (!w->t->left) {
        p.cause = UNIT_UNSEEN;
        p.task = p.stack = 0;
    } else {
        w->t->left--;
    }
    w->each(w->arg, &p);
}

static const struct event *sample(const struct walk *w, uint32_t i)
{
    return &w->t->s->events.a[w->t->host.samples.order[i]];
}

/* Where a thread was between two of its samples, of which `next` is the later one. */
static uint32_t nearest(const struct walk *w, uint32_t task, uint32_t next, uint64_t from, uint64_t to)
{
    const struct wake_lane *l = &w->t->host.samples;
    uint64_t before = NEAR_NS, after = NEAR_NS;

    if (next > l->first[task])
        before = from - sample(w, next - 1)->ts;
    if (next < l->first[task + 1])
        after = sample(w, next)->ts - to;
    if (before >= NEAR_NS && after >= NEAR_NS)
        return 0;
    return sample(w, before < after ? next - 1 : next)->stack;
}

/* On a CPU: its samples share that time, or it was where the nearest one was. */
static void ran(struct walk *w, uint32_t task, uint64_t from, uint64_t to)
{
    const struct wake_lane *l = &w->t->host.samples;
    uint32_t first = wake_lane_find(l, w->t->s, task, from), end = wake_lane_find(l, w->t->s, task, to);
    unsigned cause = w->n > 1 ? UNIT_OTHER : UNIT_RAN;
    uint64_t ns = to - from, at = from;

    if (first == end)
        tell(w, cause, task, nearest(w, task, end, from, to), from, to);
    for (uint32_t i = first; i < end; i++) {
        uint64_t until = i + 1 == end ? to : from + ns / (end - first) * (i - first + 1);

        tell(w, cause, task, sample(w, i)->stack, at, until);
        at = until;
    }
}

/* Its holder is known with its stack, or where its samples are. */
static void gil(struct walk *w, const struct event *ev, uint64_t from, uint64_t to)
{
    const struct wait *how = waits_get(&w->t->s->waits, ev->attr);
    uint32_t holder = how && how->waker_task <= w->t->s->tasks.list.n ? how->waker_task : 0;
    uint32_t stack = how && how->waker_stack <= w->t->s->stacks.nodes.n ? how->waker_stack : 0;

    if (holder && !stack)
        stack = nearest(w, holder, wake_lane_find(&w->t->host.samples, w->t->s, holder, to), to, to);
    tell(w, UNIT_GIL, holder, stack, from, to);
}

static void thread_during(struct walk *w, uint32_t task, uint64_t from, uint64_t to);

static int in_chain(const struct walk *w, uint32_t task)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->chain[i] == task)
            return 1;
    return 0;
}

/* Who ended the wait, if that is another thread than those that wait already; 0: not known. */
static uint32_t waker_of(const struct walk *w, const struct wait *how)
{
    if (!how || how->irq || !how->waker_task || how->waker_task > w->t->s->tasks.list.n || w->n == CHAIN ||
        in_chain(w, how->waker_task) || waits_inferred(w->t->s, how->waker_stack))
        return 0;
    return how->waker_task;
}

static void blocked(struct walk *w, const struct event *ev, uint64_t from, uint64_t to)
{
    const struct wait *how = waits_get(&w->t->s->waits, ev->attr);
    int queued = w->n == 1 && w->taker && ev->ts + ev->dur >= w->taken && !in_chain(w, w->taker);
    uint32_t whom = queued ? w->taker : waker_of(w, how);
    unsigned reason = wait_reason_of(how);

    if (!whom || !w->t->left) {
        tell(w, UNIT_BLOCKED + reason, ev->task, ev->stack, from, to);
        return;
    }
    w->queued |= queued;
    thread_during(w, whom, from, to);
    if (queued)
        w->queued = 0;
}

static void each_state(void *arg, enum gpu_host_state state, const struct event *ev, uint64_t from,
                       uint64_t to)
{
    struct walk *w = arg;
    uint32_t task = w->chain[w->n - 1];

    switch (state) {
    case GPU_HOST_RAN:
        ran(w, task, from, to);
        break;
    case GPU_HOST_GIL:
        gil(w, ev, from, to);
        break;
    case GPU_HOST_QUEUED:
        tell(w, UNIT_NO_CPU, task, 0, from, to); /* where it is when it gets none is no cause */
        break;
    case GPU_HOST_BLOCKED:
        blocked(w, ev, from, to);
        break;
    case GPU_HOST_CALLED:
        tell(w, UNIT_CALLED, task, ev->stack, from, to);
        break;
    default:
        tell(w, UNIT_UNSEEN, 0, 0, from, to);
        break;
    }
}

static void thread_during(struct walk *w, uint32_t task, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    w->chain[w->n++] = task;
    gpu_host_during(&w->t->host, task, from, to, each_state, w);
    w->n--;
}

/* Nobody works on it, or whoever began it. */
static void owned(struct walk *w, uint32_t owner, const struct unit_join *next, uint64_t from, uint64_t to)
{
    w->taker = next ? next->task : 0;
    w->taken = next ? next->start : 0;
    if (owner || !w->taker) {
        thread_during(w, owner, from, to);
    } else {
        w->queued = 1;
        w->chain[w->n++] = 0;
        thread_during(w, w->taker, from, to);
        w->n--;
        w->queued = 0;
    }
    w->taker = 0;
}

/* The part of a unit from *at on in which the same threads work on it: gives the one that joined it last, if
 * any, and the next one to come; *until is set. */
static const struct unit_join *who_works(const struct unit_join *j, size_t n, uint64_t at, uint64_t *until,
                                         const struct unit_join **next)
{
    const struct unit_join *active = NULL;

    *next = NULL;
    for (size_t i = 0; i < n && !*next; i++) {
        uint64_t change = j[i].start > at ? j[i].start : j[i].end;

        if (change <= at)
            continue;
        *until = change < *until ? change : *until;
        if (j[i].start > at)
            *next = &j[i];
        else
            active = &j[i];
    }
    return active;
}

void unit_time_walk(struct unit_time *t, size_t unit, unit_each each, void *arg)
{
    const struct unit *x = &t->u->list.a[unit];
    size_t first = units_first_join(t->u, unit), n = 0;
    const struct unit_join *joins;
    struct walk w = {.t = t, .each = each, .arg = arg};

    while (n < JOINS && first + n < t->u->joins.n && t->u->joins.a[first + n].unit == unit)
        n++;
    joins = n ? &t->u->joins.a[first] : NULL;
    for (uint64_t at = x->start, until; at < x->end; at = until) {
        const struct unit_join *next, *active;

        until = x->end;
        active = who_works(joins, n, at, &until, &next);
        if (active)
            thread_during(&w, active->task, at, until);
        else
            owned(&w, x->task, next, at, until);
    }
}
