/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/wait_summary.h"

#include "analyze/waits_top.h"
#include "analyze/wake_chain.h"
#include "base/map.h"

enum {
    WAKERS_MAX = 4,
    WAITS_MAX = 1000,    /* the longest, of which chains are followed */
    LOOKS_MAX = 2000000, /* at events for them: some tens of ms */
};

/* The id with the largest sum. */
struct most {
    struct map sums;
    uint32_t id;
    uint64_t sum;
};

/* What the main thread waited for. */
struct waits_of {
    uint64_t waited; /* ns */
    uint64_t woken;  /* of it, by another thread that is known */
    struct most reason, waker, where;
    VEC(const struct event *) spans; /* those with a waker */
};

static void add(struct most *m, uint32_t id, uint64_t value)
{
    uint64_t *sum;

    if (!id)
        return;
    sum = map_put(&m->sums, id);
    *sum += value;
    if (*sum > m->sum) {
        m->sum = *sum;
        m->id = id;
    }
}

static void look(struct waits_of *l, const struct store *s, uint32_t task)
{
    *l = (struct waits_of){0};
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct wait *w;

        if (ev->task != task || ev->kind != EVENT_OFFCPU)
            continue;
        l->waited += ev->dur;
        add(&l->where, waits_place(s, ev->stack), ev->dur);
        w = waits_get(&s->waits, ev->attr);
        if (!w)
            continue;
        add(&l->reason, w->reason, ev->dur);
        if (w->irq || !w->waker_task)
            continue;
        add(&l->waker, w->waker_task, ev->dur);
        l->woken += ev->dur;
        *vec_push(&l->spans) = ev;
    }
}

/* Where others ended most of its waits, who ended most of those; else 0. */
static uint32_t waker_of(const struct waits_of *l)
{
    return l->woken >= l->waited / 2 ? l->waker.id : 0;
}

static void release(struct waits_of *l)
{
    map_release(&l->reason.sums);
    map_release(&l->waker.sums);
    map_release(&l->where.sums);
    vec_release(&l->spans);
}

static int by_length(const void *pa, const void *pb)
{
    const struct event *a = *(const struct event *const *)pa, *b = *(const struct event *const *)pb;

    return a->dur != b->dur ? (a->dur > b->dur ? -1 : 1) : (a > b) - (a < b);
}

/* Of the programs that it executed in turn the one that waited longest. 0: it was not seen. */
static uint32_t main_task(const struct store *s, uint32_t pid)
{
    struct most longest = {0};

    for (size_t i = 0; pid && i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct task *t = ev->task ? &s->tasks.list.a[ev->task - 1] : NULL;

        if (t && ev->kind == EVENT_OFFCPU && t->ns_tid == pid)
            add(&longest, ev->task, ev->dur);
    }
    map_release(&longest.sums);
    return longest.id;
}

/* What the last of some threads did, each of which was woken by the next, while the first one's waits lasted.
 */
struct last {
    const struct store *s;
    const uint32_t *tasks;
    unsigned n;
    uint64_t on, ran, blocked; /* ns: in which others were waited for in turn; of its own */
    struct most next, place, reason;
};

/* Where a wait ends at one of the chain, who is known, it tells nothing more. */
static void add_own(struct last *t, const struct wake_step *step, uint64_t ns)
{
    const struct wait *w = step->wait ? waits_get(&t->s->waits, step->wait->attr) : NULL;

    if (!step->wait) {
        t->ran += ns;
        add(&t->place, waits_place(t->s, step->stack), ns);
        return;
    }
    t->blocked += ns;
    if (w && (w->irq || !w->waker_task))
        add(&t->reason, w->reason, ns);
}

static void take(void *arg, const struct wake_step *steps, unsigned n, uint64_t ns)
{
    struct last *t = arg;

    for (unsigned i = 0; i < t->n; i++)
        if (i >= n || steps[i].task != t->tasks[i])
            return;
    if (n == t->n) {
        add_own(t, &steps[n - 1], ns);
        return;
    }
    t->on += ns;
    add(&t->next, steps[t->n].task, ns);
}

static void last_release(struct last *t)
{
    map_release(&t->next.sums);
    map_release(&t->place.sums);
    map_release(&t->reason.sums);
}

static void add_end(struct buf *out, const struct last *t)
{
    if (t->ran >= t->blocked && t->place.id)
        buf_addf(out, ", which was in %s", strtab_get(&t->s->strings, t->place.id));
    else if (t->blocked > t->ran && t->reason.id)
        buf_addf(out, ", which waited: %s", waits_reason(t->reason.id));
}

/* Who ended its waits, and theirs. */
static void add_wakers(struct buf *out, const struct store *s, struct waits_of *l)
{
    struct wake_chain chain;
    uint32_t tasks[WAKERS_MAX] = {waker_of(l)};
    size_t spans = l->spans.n < WAITS_MAX ? l->spans.n : WAITS_MAX;
    int more = tasks[0] != 0;

    if (!more)
        return;
    qsort(l->spans.a, l->spans.n, sizeof(*l->spans.a), by_length);
    wake_chain_init(&chain, s);
    for (unsigned n = 1; more; n++) {
        const struct task *task = &s->tasks.list.a[tasks[n - 1] - 1];
        struct last t = {.s = s, .tasks = tasks, .n = n};

        buf_addf(out, "%s%s[%u]", n == 1 ? ", woken by " : " <- ", strtab_get(&s->strings, task->comm),
                 task->tid);
        chain.left = LOOKS_MAX;
        for (size_t i = 0; i < spans; i++)
            wake_chain_follow(&chain, l->spans.a[i], take, &t);
        more = t.next.id && t.on >= t.ran + t.blocked && n < WAKERS_MAX;
        if (more)
            tasks[n] = t.next.id;
        else
            add_end(out, &t);
        last_release(&t);
    }
    wake_chain_release(&chain);
}

double wait_summary(struct buf *out, const struct store *s, const struct meta *m)
{
    uint64_t time = m->end_mono > m->start_mono ? m->end_mono - m->start_mono : 0;
    uint32_t task = main_task(s, (uint32_t)m->pid);
    struct waits_of l;
    double share = 0;

    if (!task || !time)
        return 0;
    look(&l, s, task);
    if (l.waited >= time / 10) {
        share = l.waited < time ? (double)l.waited / (double)time : 1;
        buf_addf(out, "main thread: %s", waits_reason(l.reason.id));
        if (!waker_of(&l) && l.where.id)
            buf_addf(out, " in %s", strtab_get(&s->strings, l.where.id));
        add_wakers(out, s, &l);
    }
    release(&l);
    return share;
}
