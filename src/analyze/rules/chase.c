/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/rules/chase.h"

#include "analyze/waits_top.h"

#include <stdlib.h>

enum { NAMED = 3 };

void chase_init(struct chase *c, const struct rule_data *d)
{
    *c = (struct chase){0};
    place_time_init(&c->where, &d->s->store);
    c->where.waits = 1;
}

void chase_release(struct chase *c)
{
    place_time_release(&c->where);
    map_release(&c->by_task);
}

struct telling {
    struct chase *c;
    const struct rule_data *d;
};

static void add(struct chase *c, const struct rule_data *d, uint32_t task, uint32_t stack, uint64_t ns)
{
    const struct tasks *tasks = &d->s->store.tasks;
    uint32_t leader = task && task <= tasks->list.n ? tasks->list.a[task - 1].leader : 0;

    if (stack <= d->s->store.stacks.nodes.n) {
        c->where.of[stack] += ns;
        c->where.sum += ns;
    }
    /* In the main thread's own process it is threads that count. */
    *map_put(&c->by_task, leader && task <= tasks->list.n && !d->lead.process[task] ? leader : task) += ns;
    if (task <= tasks->list.n && !d->lead.process[task])
        c->other_process += ns;
}

static void tell(void *arg, const struct wake_step *steps, unsigned n, uint64_t ns)
{
    struct telling *t = arg;
    const struct event *ev = steps[n - 1].wait;

    if (ev)
        t->c->state[wait_reason_of(waits_get(&t->d->s->store.waits, ev->attr))] += ns;
    add(t->c, t->d, steps[n - 1].task, steps[n - 1].stack, ns);
}

void chase_wait(struct chase *c, const struct rule_data *d, size_t span)
{
    const struct lead_span *x = &d->lead.spans.a[span];
    const struct wait *w = lead_wait(d, x);
    struct telling t = {c, d};

    uint64_t told;

    c->asked += x->end - x->start;
    if (w && w->waker_task && !w->irq && waits_inferred(&d->s->store, w->waker_stack)) {
        add(c, d, w->waker_task, w->waker_stack, x->end - x->start);
        c->told += x->end - x->start;
        c->inferred += x->end - x->start;
        return;
    }
    told = wake_chain_follow(d->chain, lead_event(d, x), tell, &t);
    c->told += told;
    if (!told && w && w->waker_task && w->waker_task <= d->s->store.tasks.list.n) {
        add(c, d, w->waker_task, w->irq ? 0 : w->waker_stack, x->end - x->start);
        c->woken += x->end - x->start;
    }
    if (w && w->irq)
        c->inferred += told;
}

const char *chase_state(const struct chase *c)
{
    for (unsigned i = 0; i < ARRAY_SIZE(c->state); i++)
        if (c->state[i] > c->told / 2)
            return waits_state(i);
    return NULL;
}

enum finding_certainty chase_certainty(const struct chase *c)
{
    return c->told > c->asked / 2 && c->inferred <= c->told / 2 ? FINDING_MEASURED : FINDING_LIKELY;
}

static int is_child(const struct rule_data *d, uint32_t task)
{
    const struct tasks *tasks = &d->s->store.tasks;

    for (int depth = 0; task && task <= tasks->list.n && depth < 16; depth++) {
        const struct task *t = &tasks->list.a[task - 1];
        const struct task *leader =
            t->leader && t->leader <= tasks->list.n ? &tasks->list.a[t->leader - 1] : t;

        task = leader->parent;
        if (task && task <= tasks->list.n && d->lead.process[task])
            return 1;
    }
    return 0;
}

void chase_children(struct chase *c, const struct rule_data *d)
{
    const struct store *s = &d->s->store;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind == EVENT_SAMPLE && ev->task && ev->task <= s->tasks.list.n &&
            !d->lead.process[ev->task] && is_child(d, ev->task))
            add(c, d, ev->task, ev->stack, ev->value * (d->period_ns ? d->period_ns : 1));
    }
}

static int by_id(const void *pa, const void *pb)
{
    const uint32_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* Processes of one name. */
struct kind {
    uint32_t comm;
    size_t n;
    uint64_t ns;
};

static uint32_t comm_of(const struct rule_data *d, uint32_t task)
{
    const struct tasks *t = &d->s->store.tasks;

    return task && task <= t->list.n ? t->list.a[task - 1].comm : 0;
}

static struct kind heaviest(const struct chase *c, const struct rule_data *d)
{
    const struct map_slot *x;
    VEC(struct kind) kinds = {0};
    struct kind best = {0};

    for (size_t i = 0; (x = map_next(&c->by_task, &i));) {
        uint32_t comm = comm_of(d, (uint32_t)x->key);
        size_t k = 0;

        while (k < kinds.n && kinds.a[k].comm != comm)
            k++;
        if (k == kinds.n)
            *vec_push(&kinds) = (struct kind){.comm = comm};
        kinds.a[k].n++;
        kinds.a[k].ns += x->val;
    }
    for (size_t k = 0; k < kinds.n; k++)
        if (kinds.a[k].comm && kinds.a[k].ns > best.ns)
            best = kinds.a[k];
    vec_release(&kinds);
    return best;
}

const char *chase_comm(const struct chase *c, const struct rule_data *d)
{
    struct kind k = heaviest(c, d);

    return k.comm && k.ns > c->where.sum / 2 ? strtab_get(&d->s->store.strings, k.comm) : NULL;
}

size_t chase_name(const struct chase *c, const struct rule_data *d, struct buf *out)
{
    VEC(uint32_t) tasks = {0};
    const struct map_slot *x;
    uint64_t sum = 0;
    size_t n;

    for (size_t i = 0; (x = map_next(&c->by_task, &i));)
        if (x->val >= c->where.sum / 10) {
            *vec_push(&tasks) = (uint32_t)x->key;
            sum += x->val;
        }
    n = tasks.n;
    if (sum < c->where.sum / 2) { /* many that each did little */
        struct kind k = heaviest(c, d);

        n = k.n;
        if (n)
            buf_addf(out, "%zu of %s", n, strtab_get(&d->s->store.strings, k.comm));
        vec_release(&tasks);
        return n;
    }
    if (n)
        qsort(tasks.a, n, sizeof(*tasks.a), by_id);
    for (size_t i = 0; i < n && i < NAMED; i++) {
        buf_addstr(out, i ? ", " : "");
        lead_name(&d->s->store, tasks.a[i], out);
    }
    if (n > NAMED)
        buf_addf(out, " and %zu more", n - NAMED);
    vec_release(&tasks);
    return n;
}
