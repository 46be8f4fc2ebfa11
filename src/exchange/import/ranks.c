/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/ranks.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

/* Of several files each is a rank's, or a part of it. */
static uint32_t origin_of(struct store *s, const struct import_rank *r, const char *host)
{
    int is_reference = !s->origins.list.n; /* before the push counts it */

    for (uint32_t id = 1; id <= s->origins.list.n; id++)
        if (s->origins.list.a[id - 1].rank == r->rank + 1)
            return id;
    *vec_push(&s->origins.list) =
        (struct origin){.session = strtab_add(&s->strings, r->name),
                        .host = host ? strtab_add(&s->strings, host) : 0,
                        .rank = r->rank + 1,
                        .clock = is_reference ? ORIGIN_CLOCK_ITSELF : ORIGIN_CLOCK_WALL,
                        .error_ns = is_reference ? 0 : ORIGIN_ERROR_UNKNOWN};
    return (uint32_t)s->origins.list.n;
}

void ranks_add(struct import_stats *st, struct store *s, const char *name, const char *host, uint32_t rank,
               size_t first, size_t first_task)
{
    struct import_rank r = {.name = mem_strdup(name),
                            .rank = rank,
                            .first = UINT64_MAX,
                            .begin = first,
                            .end = s->events.n,
                            .tasks = first_task,
                            .tasks_end = s->tasks.list.n};
    uint32_t origin = origin_of(s, &r, host);

    for (size_t i = first; i < s->events.n; i++) {
        uint64_t ts = s->events.a[i].ts, end = ts + s->events.a[i].dur;

        r.first = ts < r.first ? ts : r.first;
        r.last = end > r.last ? end : r.last;
    }
    for (size_t i = first_task; i < s->tasks.list.n; i++) {
        s->tasks.list.a[i].origin = origin;
        tasks_touch(&s->tasks, (uint32_t)i + 1);
    }
    *vec_push(&st->ranks) = r;
}

/* Of the file that has the reference: all in it are of one machine's clock. */
static void share_clock(struct store *s, uint32_t id)
{
    struct origin *o = &s->origins.list.a[id - 1];

    if (o->clock != ORIGIN_CLOCK_WALL)
        return;
    o->clock = ORIGIN_CLOCK_BOOT;
    o->error_ns = 0;
}

/* The rank's part of the file whose parts are those from `from` on. All events are the first one's. */
static struct import_rank *part_of(struct import_stats *st, size_t from, uint32_t rank,
                                   const struct import_rank *file)
{
    struct import_rank *r;

    for (size_t i = from; i < st->ranks.n; i++)
        if (st->ranks.a[i].rank == rank)
            return &st->ranks.a[i];
    r = vec_push(&st->ranks);
    *r = st->ranks.n == from + 1 ? *file : (struct import_rank){0};
    r->name = mem_strdup(file->name);
    r->rank = rank;
    r->first = UINT64_MAX;
    return r;
}

void ranks_split(struct import_stats *st, struct store *s, const char *name, const char *host,
                 const struct map *processes, size_t first, size_t first_task)
{
    struct import_rank file = {.name = (char *)name,
                               .begin = first,
                               .end = s->events.n,
                               .tasks = first_task,
                               .tasks_end = s->tasks.list.n};
    size_t from = st->ranks.n;

    for (size_t i = first_task; i < s->tasks.list.n; i++) {
        struct task *task = &s->tasks.list.a[i];
        const uint64_t *rank = map_get(processes, task->pid);
        struct import_rank *r = rank ? part_of(st, from, (uint32_t)*rank - 1, &file) : NULL;

        if (!r)
            continue;
        task->origin = origin_of(s, r, host);
        if (!from)
            share_clock(s, task->origin);
        tasks_touch(&s->tasks, (uint32_t)i + 1);
        if (task->last_ns && task->first_ns < r->first)
            r->first = task->first_ns;
        r->last = task->last_ns > r->last ? task->last_ns : r->last;
    }
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

static void move(struct import_rank *r, struct store *s, uint64_t by)
{
    for (size_t i = r->begin; i < r->end; i++)
        s->events.a[i].ts += by;
    for (size_t i = r->tasks; i < r->tasks_end; i++) {
        s->tasks.list.a[i].first_ns += by;
        s->tasks.list.a[i].last_ns += by;
    }
    r->first += by;
    r->last += by;
}

/* Times that count from a file's own beginning, beside others' since the epoch, would be decades away. */
static void move_untimed(struct import_stats *st, struct store *s, struct meta *m)
{
    uint64_t begin = UINT64_MAX;

    for (size_t i = 0; i < st->ranks.n; i++)
        if (st->ranks.a[i].first >= IMPORT_EPOCH && st->ranks.a[i].first < begin)
            begin = st->ranks.a[i].first;
    for (size_t i = 0; i < st->ranks.n && begin != UINT64_MAX; i++) {
        struct import_rank *r = &st->ranks.a[i];

        if (r->first >= IMPORT_EPOCH)
            continue;
        move(r, s, begin - r->first);
        *vec_push(&m->notes) = mem_printf("%s does not tell when it was: its times are put to the beginning "
                                          "of the others', and say nothing beside theirs",
                                          r->name);
        log_warn("%s", m->notes.a[m->notes.n - 1]);
    }
}

static void set_origins(const struct import_stats *st, struct store *s)
{
    for (size_t i = 0; i < st->ranks.n; i++) {
        const struct import_rank *r = &st->ranks.a[i];
        struct origin *o = &s->origins.list.a[origin_of(s, r, NULL) - 1];

        if (r->first > r->last)
            continue;
        o->start_ns = !o->start_ns || r->first < o->start_ns ? r->first : o->start_ns;
        o->end_ns = r->last > o->end_ns ? r->last : o->end_ns;
    }
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
    move_untimed(st, s, m);
    set_origins(st, s);
    say_overlap(st, m);
}
