/* SPDX-License-Identifier: Apache-2.0 */
#include "record/marks_pairs.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int joins(const struct mark *m)
{
    return m->verb == MARK_JOIN || m->verb == MARK_LEAVE;
}

/* Whatever thread ends what another one began; a thread's own part it ends itself. */
static uint64_t key_of(uint32_t sender, const struct mark *m)
{
    uint64_t who = joins(m) ? (uint64_t)m->thread + 1 : 0;

    return hash_mix(hash_bytes(m->text, strlen(m->text)), who << 32 | sender);
}

static void begin(struct marks_pairs *p, const struct mark *m, uint32_t sender)
{
    uint64_t *newest;
    uint32_t at = p->free;

    if (p->n >= MARKS_OPEN_MAX) {
        p->over++;
        return;
    }
    if (at) {
        p->free = p->list.a[at - 1].next;
    } else {
        vec_push(&p->list);
        at = (uint32_t)p->list.n;
    }
    newest = map_put(&p->open, key_of(sender, m));
    p->list.a[at - 1] = (struct marks_begun){.text = mem_strdup(m->text),
                                             .start = m->ts,
                                             .key = key_of(sender, m),
                                             .next = (uint32_t)*newest,
                                             .sender = sender,
                                             .thread = m->thread,
                                             .joined = joins(m)};
    *newest = at;
    p->n++;
    if (m->verb == MARK_STEP)
        *map_put(&p->step, sender) = at;
}

/* Takes it out of its chain: it need not be the newest (a step among explicit begins of the same text). */
static void unlink_begun(struct marks_pairs *p, uint32_t at)
{
    struct marks_begun *b = &p->list.a[at - 1];
    uint64_t *newest = map_get(&p->open, b->key);
    uint32_t *link = NULL;

    if (*newest == at) {
        *newest = b->next;
        if (!b->next)
            map_del(&p->open, b->key);
        return;
    }
    for (uint32_t i = (uint32_t)*newest; i && i != at; i = p->list.a[i - 1].next)
        link = &p->list.a[i - 1].next;
    if (link)
        *link = b->next;
}

static void close_begun(struct marks_pairs *p, uint32_t at, uint64_t end, int open, marks_spans each,
                        void *arg)
{
    struct marks_begun *b = &p->list.a[at - 1];
    uint64_t *step = map_get(&p->step, b->sender);
    struct marks_span s = {.start = b->start,
                           .sender = b->sender,
                           .thread = b->thread,
                           .joined = b->joined,
                           .open = open,
                           .text = b->text};

    /* One that takes no time is no instant. */
    s.end = end > b->start ? end : b->start + 1;
    unlink_begun(p, at);
    if (step && *step == at)
        map_del(&p->step, b->sender);
    each(arg, &s);
    free(b->text);
    *b = (struct marks_begun){.next = p->free};
    p->free = at;
    p->n--;
}

static int is_end_of(const struct marks_begun *b, uint32_t sender, const struct mark *m)
{
    return b->sender == sender && b->joined == joins(m) && (!b->joined || b->thread == m->thread) &&
           !strcmp(b->text, m->text);
}

/* The newest that the mark ends; 0: none. */
static uint32_t find(const struct marks_pairs *p, uint32_t sender, const struct mark *m)
{
    uint64_t *newest = map_get(&p->open, key_of(sender, m));
    uint32_t at = newest ? (uint32_t)*newest : 0;

    while (at && !is_end_of(&p->list.a[at - 1], sender, m))
        at = p->list.a[at - 1].next;
    return at;
}

static uint32_t find_step(const struct marks_pairs *p, uint32_t sender)
{
    uint64_t *step = map_get(&p->step, sender);

    return step ? (uint32_t)*step : 0;
}

int marks_pairs_take(struct marks_pairs *p, const struct mark *m, uint32_t sender, marks_spans each,
                     void *arg)
{
    struct marks_span instant = {
        .start = m->ts, .end = m->ts, .sender = sender, .thread = m->thread, .text = m->text};
    uint32_t at = 0;

    switch (m->verb) {
    case MARK_STEP:
        at = find_step(p, sender);
        if (at)
            close_begun(p, at, m->ts, 0, each, arg);
        begin(p, m, sender);
        return 0;
    case MARK_BEGIN:
    case MARK_JOIN:
        begin(p, m, sender);
        return 0;
    case MARK_END:
    case MARK_LEAVE:
        at = find(p, sender, m);
        if (!at && m->verb == MARK_END && !*m->id && !strcmp(m->kind, "step"))
            at = find_step(p, sender);
        if (at)
            close_begun(p, at, m->ts, 0, each, arg);
        p->unmatched += !at;
        return at ? 0 : -1;
    case MARK_INSTANT:
        each(arg, &instant);
        return 0;
    case MARK_LOST:
        break;
    }
    return 0;
}

struct begun_at {
    uint64_t start;
    uint32_t at;
};

static int by_start(const void *pa, const void *pb)
{
    const struct begun_at *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

void marks_pairs_finish(struct marks_pairs *p, uint64_t end, marks_spans each, void *arg)
{
    VEC(struct begun_at) order = {0};

    for (uint32_t i = 0; i < p->list.n; i++)
        if (p->list.a[i].text)
            *vec_push(&order) = (struct begun_at){p->list.a[i].start, i + 1};
    if (order.n)
        qsort(order.a, order.n, sizeof(*order.a), by_start);
    for (size_t i = 0; i < order.n; i++)
        close_begun(p, order.a[i].at, end, 1, each, arg);
    vec_release(&order);
}

void marks_pairs_release(struct marks_pairs *p)
{
    for (size_t i = 0; i < p->list.n; i++)
        free(p->list.a[i].text);
    vec_release(&p->list);
    map_release(&p->open);
    map_release(&p->step);
    *p = (struct marks_pairs){0};
}
