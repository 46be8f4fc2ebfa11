/* SPDX-License-Identifier: Apache-2.0 */
#include "record/topology_when.h"

#define MS 1000000ull

#define SETTLED_NS (250 * MS) /* what a process opens at its start it has by then, mostly */
#define LONGEST_NS (750 * MS) /* one after another came: those that came first have settled */

/* A look takes some 10 to 20 ms. What those may take in all that are not due by time: four or so at the
 * start, and then a thousandth of one CPU. All that is recorded may cost 2 %. */
#define FREE_NS (60 * MS)
enum { SHARE = 1000, LATER_TIMES = 8 };

void when_begin(struct when *w, uint64_t now, uint64_t boot)
{
    *w = (struct when){.begin = now, .boot_begin = boot, .at_last = now + WHEN_FIRST_NS};
}

static void forget(struct when *w)
{
    w->fresh.n = 0;
    w->from = w->to = 0;
    w->holding = 0;
}

static void note(struct when *w, uint32_t id, uint64_t came)
{
    *vec_push(&w->fresh) = id;
    if (!w->from || came < w->from)
        w->from = came;
    if (came > w->to)
        w->to = came;
}

/* A program that a process turns into is a task, too. */
static int is_new(const struct when *w, const struct tasks *tasks, uint32_t id)
{
    const struct task *t = &tasks->list.a[id - 1];

    return t->leader == id && t->pid == t->tid && (t->image || t->start_ns >= w->boot_begin);
}

static void gather(struct when *w, const struct tasks *tasks, uint64_t now)
{
    while (w->seen < tasks->list.n) {
        const uint32_t id = ++w->seen;
        const uint64_t came = tasks->list.a[id - 1].first_ns;

        if (is_new(w, tasks, id))
            note(w, id, came && came < now ? came : now);
    }
}

static int is_there(const struct when *w, const struct tasks *tasks)
{
    for (size_t i = 0; i < w->fresh.n; i++)
        if (!tasks->list.a[w->fresh.a[i] - 1].last_ns)
            return 1;
    return 0;
}

static int may_cost(const struct when *w, uint64_t now)
{
    return w->extra + w->dearest <= FREE_NS + (now - w->begin) / SHARE;
}

static int have_settled(const struct when *w, uint64_t now)
{
    return now >= w->to + SETTLED_NS || now >= w->from + LONGEST_NS;
}

int when_due(struct when *w, const struct tasks *tasks, uint64_t now)
{
    gather(w, tasks, now);
    if (now >= w->at_last)
        return 1;
    if (!w->asked || !w->fresh.n || !have_settled(w, now))
        return 0;
    if (!is_there(w, tasks)) { /* all of them have gone already */
        forget(w);
        return 0;
    }
    if (may_cost(w, now))
        return 1;
    w->held += !w->holding;
    w->holding = 1;
    return 0;
}

/* Processes that came just before are looked at again. */
void when_asked(struct when *w, uint64_t now)
{
    const int again = w->to && now < w->to + SETTLED_NS;

    w->is_extra = w->asked && now < w->at_last;
    w->asked = now;
    w->at_last = w->begin + (now - w->begin) * LATER_TIMES;
    if (w->at_last < w->begin + WHEN_FIRST_NS)
        w->at_last = w->begin + WHEN_FIRST_NS;
    if (!again)
        forget(w);
    else
        w->from = w->to;
}

void when_took(struct when *w, uint64_t cpu_ns)
{
    const uint64_t one = cpu_ns - w->spent;

    w->dearest = one > w->dearest ? one : w->dearest;
    w->extra += w->is_extra ? one : 0;
    w->spent = cpu_ns;
}

void when_release(struct when *w)
{
    vec_release(&w->fresh);
}
