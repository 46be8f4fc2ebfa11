/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/ranks.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

void ranks_add(struct import_stats *st, const struct store *s, const char *name, uint32_t rank, size_t first)
{
    struct import_rank r = {.name = mem_strdup(name), .rank = rank, .first = UINT64_MAX};

    for (size_t i = first; i < s->events.n; i++) {
        uint64_t ts = s->events.a[i].ts, end = ts + s->events.a[i].dur;

        r.first = ts < r.first ? ts : r.first;
        r.last = end > r.last ? end : r.last;
    }
    *vec_push(&st->ranks) = r;
}

static int is_taken(const struct import_stats *st, uint32_t rank)
{
    for (size_t i = 0; i < st->ranks.n; i++)
        if (st->ranks.a[i].rank == rank)
            return 1;
    return 0;
}

static void rename_origin(struct store *s, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < s->origins.list.n; i++)
        if (s->origins.list.a[i].rank == from + 1)
            s->origins.list.a[i].rank = to + 1;
}

static void give(struct import_rank *r, uint32_t rank, struct store *s, struct meta *m)
{
    for (size_t i = 0; i < s->gpus.list.n; i++)
        if (s->gpus.list.a[i].rank == r->rank + 1)
            s->gpus.list.a[i].rank = (uint16_t)(rank + 1);
    index_release(&s->gpus.index); /* which finds them by all their bytes: made anew when it is asked */
    rename_origin(s, r->rank, rank);
    log_warn("%s: no rank is told, it is taken for rank %u", r->name, rank);
    *vec_push(&m->notes) = mem_printf("%s tells no rank: it is taken for rank %u", r->name, rank);
    r->rank = rank;
}

/* A job that was profiled for several times is in several files, one after the other. */
static void say_overlap(const struct import_stats *st, struct meta *m)
{
    for (size_t i = 0; i < st->ranks.n; i++) {
        for (size_t k = i + 1; k < st->ranks.n; k++) {
            const struct import_rank *a = &st->ranks.a[i], *b = &st->ranks.a[k];

            if (a->rank != b->rank || a->first >= b->last || b->first >= a->last)
                continue;
            *vec_push(&m->notes) =
                mem_printf("%s and %s are both of rank %u, and their times overlap: what they "
                           "hold is counted as if one had done both",
                           a->name, b->name, a->rank);
            log_warn("%s", m->notes.a[m->notes.n - 1]);
        }
    }
}

void ranks_settle(struct import_stats *st, struct store *s, struct meta *m)
{
    for (size_t i = 0; i < st->ranks.n; i++) {
        struct import_rank *r = &st->ranks.a[i];
        uint32_t rank;

        if (r->rank < RANKS_UNTOLD)
            continue;
        rank = r->rank - RANKS_UNTOLD;
        while (is_taken(st, rank))
            rank++;
        give(r, rank, s, m);
    }
    say_overlap(st, m);
}
