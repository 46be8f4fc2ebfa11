/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions there are: their order, ranks, hosts and clocks. */
#include "base/hash.h"
#include "exchange/merge/merge.h"
#include "model/rank_env.h"

#include <stdlib.h>
#include <string.h>

/* Sessions that tell no clock (of older versions) share one where host and boot look the same: the distance
 * of CLOCK_REALTIME from CLOCK_MONOTONIC, but for what the clock is being set by. */
#define SAME_BOOT_NS 50000000ull
/* Times before are no times since the epoch. */
#define YEAR_2000 946684800000000000u

void merge_init(struct merge *m, const struct merge_opts *o)
{
    *m = (struct merge){.opts = *o};
}

void merge_release(struct merge *m)
{
    for (size_t i = 0; i < m->parts.n; i++) {
        free(m->parts.a[i].path);
        meta_release(&m->parts.a[i].meta);
    }
    for (size_t i = 0; i < m->hosts.n; i++) {
        free(m->hosts.a[i].name);
        graph_release(&m->hosts.a[i].graph);
    }
    for (size_t i = 0; i < m->domains.n; i++)
        free(m->domains.a[i].id);
    for (size_t i = 0; i < m->extra.n; i++)
        free(m->extra.a[i]);
    for (size_t i = 0; i < m->barriers.n; i++)
        free(m->barriers.a[i]);
    vec_release(&m->barriers);
    vec_release(&m->extra);
    vec_release(&m->parts);
    vec_release(&m->hosts);
    vec_release(&m->domains);
    clocks_release(&m->clocks);
    source_text_release(&m->source);
    merge_machine_release(m);
    map_release(&m->samples);
    map_release(&m->threads);
    map_release(&m->ranks);
    store_release(&m->store);
    meta_release(&m->meta);
}

void merge_know(struct merge *m, const char *path, struct meta *meta)
{
    struct merge_part *p = vec_push(&m->parts);

    *p = (struct merge_part){.path = mem_strdup(path),
                             .meta = *meta,
                             .rank = rank_env_of(meta->env.a, meta->env.n),
                             .order = m->parts.n - 1};
    *meta = (struct meta){0};
}

/* ---- ranks ---- */

static int by_rank(const void *pa, const void *pb)
{
    const struct merge_part *a = pa, *b = pb;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Where all have a rank, and each its own, the parts are in that order. Else they are numbered as they were
 * given: what is measured of GPUs is told apart by rank. */
static void number_ranks(struct merge *m)
{
    struct map seen = {0};
    int all = 1;

    for (size_t i = 0; i < m->parts.n; i++)
        all &= m->parts.a[i].rank >= 0 && !(*map_put(&seen, (uint64_t)m->parts.a[i].rank))++;
    map_release(&seen);
    m->numbered = !all;
    for (size_t i = 0; i < m->parts.n && !all; i++)
        m->parts.a[i].rank = (long)i;
    qsort(m->parts.a, m->parts.n, sizeof(*m->parts.a), by_rank);
}

/* ---- clocks ---- */

/* Imported times may be since the epoch themselves. */
static int is_dated(const struct meta *m)
{
    return m->realtime_offset || m->start_mono > YEAR_2000;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Of one boot the two clocks are equally far apart. Imported times since the epoch don't tell that. */
static int is_of(const struct merge_domain *d, const struct meta *x)
{
    if (x->clock_id || *d->id != '\n')
        return x->clock_id && !strcmp(d->id, x->clock_id);
    return x->realtime_offset && d->realtime_offset && x->host && !strcmp(d->id + 1, x->host) &&
           apart(x->realtime_offset, d->realtime_offset) <= SAME_BOOT_NS;
}

/* Of one that tells no clock the host's name, after a newline, stands for it. */
static uint32_t domain_of(struct merge *m, const struct merge_part *p)
{
    const struct meta *x = &p->meta;

    for (size_t i = 0; i < m->domains.n; i++)
        if (is_of(&m->domains.a[i], x))
            return (uint32_t)i;
    *vec_push(&m->domains) = (struct merge_domain){
        .id = x->clock_id ? mem_strdup(x->clock_id) : mem_printf("\n%s", x->host ? x->host : ""),
        .realtime_offset = x->realtime_offset,
        .dated = is_dated(x)};
    return (uint32_t)m->domains.n - 1;
}

/* ---- hosts ---- */

static int is_taken(const struct merge *m, const char *name)
{
    for (size_t i = 0; i < m->hosts.n; i++)
        if (!strcmp(m->hosts.a[i].name, name))
            return 1;
    return !strcmp(name, GRAPH_LOCAL);
}

/* "node1", and where that is another one's already "node1-2". */
static char *free_name(const struct merge *m, const char *wanted)
{
    char *name = mem_strdup(wanted);

    for (unsigned n = 2; is_taken(m, name); n++) {
        free(name);
        name = mem_printf("%s-%u", wanted, n);
    }
    return name;
}

/* A host is a name on a clock: of one boot may be several, in containers and namespaces. */
static uint32_t host_of(struct merge *m, struct merge_part *p, struct strtab *names, struct map *known)
{
    const char *host = p->meta.host && *p->meta.host ? p->meta.host : "host";
    uint32_t clock = m->domains.a[p->domain].dated ? p->domain : UINT32_MAX; /* nothing tells: by name */
    uint64_t *at = map_put(known, (uint64_t)strtab_add(names, host) << 32 | clock);

    if (!*at) {
        struct merge_host *h = vec_push(&m->hosts);

        *h = (struct merge_host){.domain = p->domain};
        m->hosts.n--;
        h->name = free_name(m, host);
        m->hosts.n++;
        graph_init(&h->graph);
        *at = m->hosts.n;
    }
    return (uint32_t)*at - 1;
}

/* -1: it is one of `ids`, to which it is added. */
static int is_new(struct strtab *ids, const struct merge_part *p, const char *id, struct err *e)
{
    if (id && *id && strtab_find(ids, id))
        return err_set(e, "%s: session %s is among those before it already", p->path, id);
    strtab_add(ids, id);
    return 0;
}

/* What a merged session is of counts, too. */
static int are_different(const struct merge *m, struct err *e)
{
    struct strtab ids = {0};
    int rc = 0;

    for (size_t i = 0; i < m->parts.n && !rc; i++) {
        const struct merge_part *p = &m->parts.a[i];

        rc = is_new(&ids, p, p->meta.session_id, e);
        for (size_t k = 0; k < p->meta.sessions.n && !rc; k++)
            rc = is_new(&ids, p, p->meta.sessions.a[k], e);
    }
    strtab_release(&ids);
    return rc;
}

static void add_barrier(struct merge *m, const char *kind)
{
    for (size_t i = 0; i < m->barriers.n; i++)
        if (!strcmp(m->barriers.a[i], kind))
            return;
    *vec_push(&m->barriers) = mem_strdup(kind);
}

/* Those of the options, and those that sessions were merged with before. */
static void find_barriers(struct merge *m)
{
    for (size_t i = 0; i < m->opts.nbarriers; i++)
        add_barrier(m, m->opts.barriers[i]);
    for (size_t i = 0; i < m->parts.n; i++)
        for (size_t k = 0; k < m->parts.a[i].meta.barriers.n; k++)
            add_barrier(m, m->parts.a[i].meta.barriers.a[k]);
}

int merge_plan(struct merge *m, struct err *e)
{
    struct strtab names = {0};
    struct map known = {0};

    if (are_different(m, e))
        return -1;
    number_ranks(m);
    find_barriers(m);
    for (size_t i = 0; i < m->parts.n; i++) {
        struct merge_part *p = &m->parts.a[i];

        p->domain = domain_of(m, p);
        p->host = host_of(m, p, &names, &known);
    }
    strtab_release(&names);
    map_release(&known);
    return 0;
}
