/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tally.h"

#include "base/hash.h"

struct lookup {
    const struct tally *t;
    const struct event *e;
};

static int equal(const void *ctx, uint32_t id)
{
    const struct lookup *l = ctx;
    const struct event *a = &l->t->events.a[id - 1], *b = l->e;

    return a->task == b->task && a->stack == b->stack && a->metric == b->metric && a->flags == b->flags &&
           a->kind == b->kind && a->attr == b->attr;
}

static uint64_t hash_of(const struct event *e)
{
    uint64_t h = hash_mix(((uint64_t)e->task << 32) | e->stack, ((uint64_t)e->metric << 32) | e->attr);

    return hash_mix(h, ((uint64_t)e->kind << 16) | e->flags);
}

static void add_one(struct tally *t, const struct event *e)
{
    struct lookup l = {t, e};
    uint64_t h = hash_of(e);
    uint32_t id = index_find(&t->index, h, equal, &l);

    if (id) {
        t->events.a[id - 1].value += e->value;
        t->events.a[id - 1].dur += e->dur;
        return;
    }
    *vec_push(&t->events) = *e;
    index_add(&t->index, h, (uint32_t)t->events.n);
}

void tally_add(struct tally *t, const struct store *s, size_t from)
{
    for (size_t i = from; i < s->events.n; i++) {
        if (s->events.a[i].kind == EVENT_MARKER) /* each has a text of its own: there is no sum */
            continue;
        add_one(t, &s->events.a[i]);
        t->samples += s->events.a[i].kind == EVENT_SAMPLE;
    }
}

void tally_release(struct tally *t)
{
    vec_release(&t->events);
    index_release(&t->index);
    *t = (struct tally){0};
}

void tally_swap(struct tally *t, struct store *s)
{
    vec_swap(&t->events, &s->events);
}
