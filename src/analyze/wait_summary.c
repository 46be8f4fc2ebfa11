/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/wait_summary.h"

#include "analyze/waits_top.h"
#include "base/map.h"

enum { LINKS_MAX = 5 };

/* The id with the largest sum. */
struct most {
    struct map sums;
    uint32_t id;
    uint64_t sum;
};

/* What one thread did. */
struct link {
    uint64_t waited; /* ns */
    uint64_t woken;  /* of it, by another thread that is known */
    struct most reason, waker, where, ran;
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

static void look(struct link *l, const struct store *s, uint32_t task)
{
    *l = (struct link){0};
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct wait *w = waits_get(&s->waits, ev->attr);

        if (ev->task != task)
            continue;
        if (ev->kind == EVENT_SAMPLE)
            add(&l->ran, waits_place(s, ev->stack), ev->value);
        if (ev->kind != EVENT_OFFCPU)
            continue;
        l->waited += ev->dur;
        add(&l->where, waits_place(s, ev->stack), ev->dur);
        if (w) {
            add(&l->reason, w->reason, ev->dur);
            add(&l->waker, w->irq ? 0 : w->waker_task, ev->dur);
            l->woken += w->irq || !w->waker_task ? 0 : ev->dur;
        }
    }
}

/* Where others ended most of its waits, who ended most of those; else 0. */
static uint32_t waker_of(const struct link *l)
{
    return l->woken >= l->waited / 2 ? l->waker.id : 0;
}

static void release(struct link *l)
{
    map_release(&l->reason.sums);
    map_release(&l->waker.sums);
    map_release(&l->where.sums);
    map_release(&l->ran.sums);
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

static int is_new(const uint32_t *seen, size_t n, uint32_t task)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i] == task)
            return 0;
    return 1;
}

/* Who ended its waits, and theirs. */
static void add_wakers(struct buf *out, const struct store *s, struct link *l, uint32_t task, uint64_t time)
{
    uint32_t seen[LINKS_MAX] = {task};
    size_t n = 1;

    while (n < LINKS_MAX && waker_of(l) && is_new(seen, n, waker_of(l))) {
        const struct task *t = &s->tasks.list.a[waker_of(l) - 1];

        char *name = origins_task_name(s, t, "");

        buf_addf(out, "%s%s[%u]", n == 1 ? ", woken by " : " <- ", name, t->tid);
        free(name);
        seen[n++] = waker_of(l);
        release(l);
        look(l, s, seen[n - 1]);
        if (l->waited < time / 2) {
            if (l->ran.id)
                buf_addf(out, ", which was in %s", strtab_get(&s->strings, l->ran.id));
            return;
        }
    }
    if (n > 1 && !waker_of(l))
        buf_addf(out, ", which waited: %s", waits_reason(l->reason.id));
}

double wait_summary(struct buf *out, const struct store *s, const struct meta *m)
{
    uint64_t time = m->end_mono > m->start_mono ? m->end_mono - m->start_mono : 0;
    uint32_t task = main_task(s, (uint32_t)m->pid);
    struct link l;
    double share = 0;

    if (!task || !time)
        return 0;
    look(&l, s, task);
    if (l.waited >= time / 10) {
        share = l.waited < time ? (double)l.waited / (double)time : 1;
        buf_addf(out, "main thread: %s", waits_reason(l.reason.id));
        if (!waker_of(&l) && l.where.id)
            buf_addf(out, " in %s", strtab_get(&s->strings, l.where.id));
        add_wakers(out, s, &l, task, time);
    }
    release(&l);
    return share;
}
