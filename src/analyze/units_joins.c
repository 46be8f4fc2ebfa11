/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread works on which piece of work. */
#include "analyze/units.h"

#include "base/lower.h"

#include <stdlib.h>
#include <string.h>

/* Pieces of work of one name that are looked at for each thread that joins one: those of other processes, and
 * such as overlap. */
enum { NAMESAKES = 16 };

static int by_name(const void *pa, const void *pb, void *arg)
{
    const struct units *u = arg;
    const struct unit *a = &u->list.a[*(const uint32_t *)pa], *b = &u->list.a[*(const uint32_t *)pb];

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return *(const uint32_t *)pa < *(const uint32_t *)pb ? -1 : 1;
}

/* Is it of a lesser name, or of that name and begun before ts? */
static int is_before(const struct unit *x, uint32_t kind, uint32_t id, uint64_t ts)
{
    if (x->kind != kind)
        return x->kind < kind;
    return x->id != id ? x->id < id : x->start < ts;
}

static int same_process(const struct session *s, uint32_t a, uint32_t b)
{
    const struct tasks *t = &s->store.tasks;

    return a && b && a <= t->list.n && b <= t->list.n &&
           task_same_process(&t->list.a[a - 1], &t->list.a[b - 1]);
}

/* The latest that went on then, the thread's own process's rather than another one's; UINT32_MAX: none. */
static uint32_t find(const struct units *u, const struct session *s, const uint32_t *order, uint32_t kind,
                     uint32_t id, const struct unit_join *j)
{
    size_t low = 0, high = u->list.n;
    uint32_t best = UINT32_MAX;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (is_before(&u->list.a[order[mid]], kind, id, j->end))
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t n = 0; low-- > 0 && n < NAMESAKES; n++) {
        const struct unit *x = &u->list.a[order[low]];

        if (x->kind != kind || x->id != id)
            break;
        if (x->end <= j->start)
            continue;
        if (same_process(s, x->task, j->task))
            return order[low];
        best = best == UINT32_MAX ? order[low] : best;
    }
    return best;
}

static int by_unit(const void *pa, const void *pb)
{
    const struct unit_join *a = pa, *b = pb;

    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

static void take(struct units *u, const struct session *s, const uint32_t *order, const struct event *ev)
{
    const char *text = strtab_get(&s->store.strings, ev->metric);
    size_t word = strcspn(text, " ");
    char *kind = mem_strndup(text, word);
    uint32_t id = strtab_find(&u->strings, text + word + (text[word] == ' '));
    struct unit_join j = {
        .task = ev->task <= s->store.tasks.list.n ? ev->task : 0, .start = ev->ts, .end = ev->ts + ev->dur};
    const struct unit *x;

    j.unit = find(u, s, order, strtab_find(&u->strings, kind), id, &j);
    free(kind);
    if (j.unit == UINT32_MAX)
        return;
    x = &u->list.a[j.unit];
    j.start = j.start > x->start ? j.start : x->start;
    j.end = j.end < x->end ? j.end : x->end;
    if (j.end > j.start)
        *vec_push(&u->joins) = j;
}

void units_take_joins(struct units *u, const struct session *s)
{
    const struct store *st = &s->store;
    uint32_t *order = mem_alloc((u->list.n + 1) * sizeof(*order));
    size_t n = 0;

    for (size_t i = 0; i < st->events.n; i++)
        n += st->events.a[i].kind == EVENT_MARKER && st->events.a[i].flags & EVENT_JOINED;
    for (size_t i = 0; i < u->list.n; i++)
        order[i] = (uint32_t)i;
    if (n && u->list.n)
        qsort_r(order, u->list.n, sizeof(*order), by_name, u);
    for (size_t i = 0; n && i < st->events.n; i++)
        if (st->events.a[i].kind == EVENT_MARKER && st->events.a[i].flags & EVENT_JOINED)
            take(u, s, order, &st->events.a[i]);
    if (u->joins.n)
        qsort(u->joins.a, u->joins.n, sizeof(*u->joins.a), by_unit);
    free(order);
}

size_t units_first_join(const struct units *u, size_t unit)
{
    return lower_bound(u->joins, unit, unit);
}
