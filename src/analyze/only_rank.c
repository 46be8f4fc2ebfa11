/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/only_rank.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/* + 1; 0: of none. */
static uint32_t rank_of(const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&s->gpus, ev->attr) : NULL;
    const struct task *t = ev->task && ev->task <= s->tasks.list.n ? &s->tasks.list.a[ev->task - 1] : NULL;
    const struct origin *o = t ? origins_get(&s->origins, t->origin) : NULL;

    if (w && w->rank)
        return w->rank;
    return o ? o->rank : 0;
}

static int has_rank(const struct store *s, uint32_t rank)
{
    for (size_t i = 0; i < s->origins.list.n; i++)
        if (s->origins.list.a[i].rank == rank)
            return 1;
    return 0;
}

static int no_rank(const struct store *s, const char *text, struct err *e)
{
    struct buf have = {0};

    for (size_t i = 0; i < s->origins.list.n && have.len < 200; i++)
        if (s->origins.list.a[i].rank)
            buf_addf(&have, "%s%u", have.len ? ", " : "", s->origins.list.a[i].rank - 1);
    err_set(e, "no rank '%s' in this session (it has: %s)", text, have.len ? buf_str(&have) : "none");
    buf_release(&have);
    return -1;
}

int only_rank_apply(struct session *s, const char *text, struct err *e)
{
    struct store *store = &s->store;
    struct store kept = {0};
    size_t all = store->events.n;
    unsigned long rank;
    char *end;

    if (!text)
        return 0;
    errno = 0;
    rank = strtoul(text, &end, 10);
    if (!*text || *end || *text == '-' || errno || rank >= UINT16_MAX || !has_rank(store, (uint32_t)rank + 1))
        return no_rank(store, text, e);
    for (size_t i = 0; i < all; i++)
        if (rank_of(store, &store->events.a[i]) == rank + 1)
            *vec_push(&kept.events) = store->events.a[i];
    *vec_push(&s->meta.notes) = mem_printf("only rank %lu: %zu of %zu events", rank, kept.events.n, all);
    store_replace_events(store, &kept);
    store_release(&kept);
    return 0;
}
