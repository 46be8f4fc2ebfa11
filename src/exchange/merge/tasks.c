/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose tasks are whose. A recording has tasks of its own: what it recorded, with all descendants. It also
 * names others, which woke its own or started them. Such a thread is the same in all recordings of one boot:
 * it is of the one that recorded it, or else of the host and no rank.
 */
#include "base/hash.h"
#include "exchange/merge/ids.h"

#include <stdlib.h>
#include <string.h>

uint32_t merge_string(struct merge_ids *x, uint32_t id)
{
    if (id && !x->string[id])
        x->string[id] = strtab_add(&x->to->strings, strtab_get(&x->from->strings, id));
    return x->string[id];
}

/* ---- origins ---- */

/* The command's own process, by its pid as the recorder saw it: the last program that it executed. */
static uint32_t command_of(const struct merge_ids *x)
{
    for (uint32_t id = (uint32_t)x->from->tasks.list.n; id; id--) {
        const struct task *t = &x->from->tasks.list.a[id - 1];

        if (x->part->meta.pid > 0 && t->pid == t->tid &&
            (t->ns_pid ? t->ns_pid : t->pid) == (uint64_t)x->part->meta.pid)
            return merge_task(x, id);
    }
    return 0;
}

static struct origin origin_of(struct merge_ids *x)
{
    const struct merge_domain *d = &x->m->domains.a[x->part->domain];
    const struct meta *meta = &x->part->meta;
    int is_reference = d == x->m->domains.a;

    return (struct origin){.host = strtab_add(&x->to->strings, x->m->hosts.a[x->part->host].name),
                           .session = strtab_add(&x->to->strings, meta->session_id),
                           .rank = (uint32_t)(x->part->rank + 1),
                           .task = x->command,
                           .machine = x->machine,
                           .frequency = meta->frequency > UINT32_MAX ? 0 : (uint32_t)meta->frequency,
                           .clock =
                               is_reference && x->part != x->m->parts.a ? ORIGIN_CLOCK_BOOT : d->offset.clock,
                           .offset_ns = x->offset,
                           .error_ns = d->offset.error,
                           .start_ns = merge_moved(x, meta->start_mono),
                           .end_ns = merge_moved(x, meta->end_mono)};
}

/* Of who runs on the host and is of no recording. */
static uint32_t others_of(struct merge_ids *x)
{
    struct merge_host *h = &x->m->hosts.a[x->part->host];

    if (!h->others) {
        struct origin o = origin_of(x);

        o.session = o.rank = o.task = o.machine = o.frequency = 0;
        *vec_push(&x->to->origins.list) = o;
        h->others = (uint32_t)x->to->origins.list.n;
    }
    return h->others;
}

/* A session that was merged before has its own: they keep what they know, but for where they are moved. */
static void move_origins(struct merge_ids *x)
{
    const struct origins *old = &x->from->origins;

    for (size_t i = 0; i < old->list.n; i++) {
        const struct merge_domain *d = &x->m->domains.a[x->part->domain];
        struct origin o = old->list.a[i];

        o.host = merge_string(x, o.host);
        o.session = merge_string(x, o.session);
        o.rank += o.rank ? x->ranks : 0;
        o.task = merge_task(x, o.task);
        o.machine = merge_task(x, o.machine);
        o.offset_ns += x->offset;
        o.clock = d == x->m->domains.a ? o.clock : d->offset.clock;
        o.error_ns = o.error_ns == ORIGIN_ERROR_UNKNOWN || d->offset.error == ORIGIN_ERROR_UNKNOWN
                         ? ORIGIN_ERROR_UNKNOWN
                         : o.error_ns + d->offset.error;
        o.start_ns = merge_moved(x, o.start_ns);
        o.end_ns = merge_moved(x, o.end_ns);
        *vec_push(&x->to->origins.list) = o;
    }
}

static void take_rank(struct merge *m, uint32_t rank)
{
    *map_put(&m->ranks, rank) = 1;
    m->nranks = rank + 1 > m->nranks ? rank + 1 : m->nranks;
}

/* No two are equal: of a session that was merged before all are moved behind those there are, where one is.
 */
static void settle_ranks(struct merge_ids *x)
{
    const struct origins *own = &x->from->origins;
    struct merge *m = x->m;
    int clash = 0;

    if (!own->list.n) {
        if (map_get(&m->ranks, (uint64_t)x->part->rank))
            x->part->rank = m->nranks;
        take_rank(m, (uint32_t)x->part->rank);
        return;
    }
    for (size_t i = 0; i < own->list.n; i++)
        clash |= own->list.a[i].rank && map_get(&m->ranks, own->list.a[i].rank - 1);
    x->ranks = clash ? m->nranks : 0;
    for (size_t i = 0; i < own->list.n; i++)
        if (own->list.a[i].rank)
            take_rank(m, own->list.a[i].rank - 1 + x->ranks);
}

/* ---- which tasks are the recording's own ---- */

static void mark_descendants(const struct tasks *t, uint8_t *own)
{
    for (int more = 1; more;) {
        more = 0;
        for (size_t i = 0; i < t->list.n; i++) {
            const struct task *k = &t->list.a[i];

            if (!own[i + 1] &&
                ((k->parent <= t->list.n && own[k->parent]) || (k->leader <= t->list.n && own[k->leader]))) {
                own[i + 1] = 1;
                more = 1;
            }
        }
    }
}

/* Only named in all recordings of a session that was merged before. */
static int is_nobodys(const struct store *s, const struct task *t)
{
    const struct origin *o = origins_get(&s->origins, t->origin);

    return o && !o->session;
}

/* By id: what happened is told of them, or they descend from such. */
static uint8_t *own_tasks(const struct store *s)
{
    uint8_t *own = mem_calloc(s->tasks.list.n + 1, 1);

    for (size_t i = 0; i < s->events.n; i++)
        if (s->events.a[i].task <= s->tasks.list.n)
            own[s->events.a[i].task] = 1;
    own[0] = 0;
    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];

        own[i + 1] |= t->cpu_ns > 0 || (t->origin && !is_nobodys(s, t));
        if (own[i + 1] && t->leader <= s->tasks.list.n)
            own[t->leader] = 1;
    }
    own[0] = 0;
    mark_descendants(&s->tasks, own);
    return own;
}

/* ---- sessions that were merged before ---- */

/* Whether it is of this part's host and clock alone: its tasks and machines are then what other parts know,
 * too. */
static int is_of_one_host(const struct merge_ids *x)
{
    const struct origins *own = &x->from->origins;

    for (size_t i = 1; i < own->list.n; i++)
        if (own->list.a[i].host != own->list.a[0].host)
            return 0;
    return x->part->meta.clock_id != NULL;
}

static int is_machine(const struct merge_ids *x, uint32_t id)
{
    const struct origins *own = &x->from->origins;

    for (size_t i = 0; i < own->list.n; i++)
        if (own->list.a[i].machine == id)
            return is_of_one_host(x);
    return 0;
}

/* ---- one thread, in several recordings ---- */

/* The last program of the thread that is known; NULL: it can't be told from others. */
static uint64_t *known(const struct merge_ids *x, const struct task *t)
{
    return t->start_ns && (!t->origin || is_of_one_host(x))
               ? map_put(&x->m->threads, hash_mix((uint64_t)x->part->domain << 32 | t->tid, t->start_ns))
               : NULL;
}

static int is_last_program(const struct tasks *t, size_t i)
{
    return i + 1 >= t->list.n || !task_same_thread(&t->list.a[i], &t->list.a[i + 1]);
}

static uint32_t new_task(struct merge_ids *x)
{
    *vec_push(&x->to->tasks.list) = (struct task){0};
    return (uint32_t)x->to->tasks.list.n;
}

static int is_theirs(const struct store *s, uint32_t id)
{
    const struct origin *o = origins_get(&s->origins, s->tasks.list.a[id - 1].origin);

    return o && o->session;
}

/* Gives each task its id. What stands there of an other's is kept by whoever only names it. */
static void number_tasks(struct merge_ids *x, const uint8_t *own, uint8_t *keep)
{
    const struct tasks *from = &x->from->tasks;

    for (size_t i = 0; i < from->list.n; i++) {
        uint64_t *at = known(x, &from->list.a[i]);
        uint32_t there = at ? (uint32_t)*at : 0;

        if (!from->list.a[i].tid && is_machine(x, (uint32_t)i + 1)) {
            x->task[i + 1] = x->machine;
            keep[i + 1] = 1;
            continue;
        }
        if (there && !own[i + 1]) {
            x->task[i + 1] = there;
            keep[i + 1] = 1;
            continue;
        }
        /* Who is only named is so by the last program that it executed. */
        x->task[i + 1] = there && is_last_program(from, i) && !is_theirs(x->to, there) ? there : new_task(x);
        if (at && is_last_program(from, i))
            *known(x, &from->list.a[i]) = x->task[i + 1];
    }
}

static void fill_task(struct merge_ids *x, size_t i, int own)
{
    struct task t = x->from->tasks.list.a[i];
    uint32_t id = x->task[i + 1];

    t.comm = merge_string(x, t.comm);
    t.leader = merge_task(x, t.leader);
    t.parent = merge_task(x, t.parent);
    t.first_ns = merge_moved(x, t.first_ns);
    t.last_ns = merge_moved(x, t.last_ns);
    if (!t.origin)
        t.origin = own ? x->origins + 1 : others_of(x);
    else if (!own && is_of_one_host(x))
        t.origin = others_of(x);
    else
        t.origin += x->origins;
    x->to->tasks.list.a[id - 1] = t;
    tasks_touch(&x->to->tasks, id);
}

/* A task without a pid, by the host's name. */
static uint32_t stand_in(struct merge_ids *x, uint32_t origin)
{
    uint32_t id = new_task(x);

    x->to->tasks.list.a[id - 1] =
        (struct task){.leader = id,
                      .comm = strtab_add(&x->to->strings, x->m->hosts.a[x->part->host].name),
                      .origin = origin};
    tasks_touch(&x->to->tasks, id);
    return id;
}

uint32_t merge_unknown(struct merge_ids *x)
{
    if (!x->unknown)
        x->unknown = stand_in(x, x->origins + 1);
    return x->unknown;
}

/* Stands for the host: of what was measured of no process. It is of no recording. */
static void add_machine(struct merge_ids *x)
{
    struct merge_domain *d = &x->m->domains.a[x->part->domain];
    struct merge_host *h = &x->m->hosts.a[x->part->host];

    if (!h->machine)
        h->machine = stand_in(x, others_of(x));
    x->machine = h->machine;
    d->machine = d->machine ? d->machine : x->machine;
}

void merge_tasks_add(struct merge_ids *x)
{
    size_t n = x->from->tasks.list.n;
    uint8_t *own = own_tasks(x->from), *keep = mem_calloc(n + 1, 1);

    settle_ranks(x);
    add_machine(x);
    x->origins = (uint32_t)x->to->origins.list.n;
    number_tasks(x, own, keep);
    x->command = command_of(x);
    if (x->from->origins.list.n)
        move_origins(x);
    else
        *vec_push(&x->to->origins.list) = origin_of(x);
    for (size_t i = 0; i < n; i++)
        if (!keep[i + 1])
            fill_task(x, i, own[i + 1]);
    free(own);
    free(keep);
}
