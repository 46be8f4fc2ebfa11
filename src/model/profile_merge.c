/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/profile_index.h"

#include <stdlib.h>
#include <string.h>

/* What is found in `p` by what it is, not by its index. */
struct joiner {
    struct profile *p;
    struct index frames, nodes;               /* of p: index + 1 */
    uint32_t *string_of, *frame_of, *node_of; /* from's -> p's */
};

/* ---- frames ---- */

static uint64_t frame_hash(const struct profile_frame *f)
{
    return hash_u64((uint64_t)f->func << 32 | f->line) ^ hash_u64((uint64_t)f->file << 32 | f->module);
}

struct frame_key {
    const struct profile *p;
    const struct profile_frame *frame;
};

static int same_frame(const void *ctx, uint32_t id)
{
    const struct frame_key *k = ctx;
    const struct profile_frame *a = &k->p->frames.a[id - 1], *b = k->frame;

    return a->func == b->func && a->file == b->file && a->module == b->module && a->line == b->line &&
           a->kind == b->kind && a->inlined == b->inlined && a->unknown == b->unknown;
}

static uint32_t take_frame(struct joiner *j, const struct profile_frame *from)
{
    struct profile_frame f = *from;
    struct frame_key key = {j->p, &f};
    uint64_t hash;
    uint32_t id;

    f.func = j->string_of[from->func];
    f.file = j->string_of[from->file];
    f.module = j->string_of[from->module];
    hash = frame_hash(&f);
    id = index_find(&j->frames, hash, same_frame, &key);
    if (id)
        return id - 1;
    *vec_push(&j->p->frames) = f;
    index_add(&j->frames, hash, (uint32_t)j->p->frames.n);
    return (uint32_t)j->p->frames.n - 1;
}

static void take_frames(struct joiner *j, const struct profile *from)
{
    uint32_t strings = strtab_count(&from->strings);

    j->string_of = mem_calloc((size_t)strings + 1, sizeof(*j->string_of));
    for (uint32_t i = 1; i <= strings; i++)
        j->string_of[i] = strtab_add(&j->p->strings, strtab_get(&from->strings, i));
    index_reserve(&j->frames, j->p->frames.n + from->frames.n);
    for (size_t i = 0; i < j->p->frames.n; i++)
        index_add(&j->frames, frame_hash(&j->p->frames.a[i]), (uint32_t)i + 1);
    j->frame_of = mem_calloc(from->frames.n + 1, sizeof(*j->frame_of));
    for (size_t i = 0; i < from->frames.n; i++)
        j->frame_of[i] = take_frame(j, &from->frames.a[i]);
}

/* ---- nodes ---- */

static uint32_t take_node(struct joiner *j, uint32_t parent, uint32_t frame)
{
    uint32_t id = profile_index_find(&j->nodes, j->p, parent, frame);

    if (id)
        return id;
    id = (uint32_t)j->p->nodes.n;
    *vec_push(&j->p->nodes) = (struct profile_node){parent, frame, 0, j->p->nodes.a[parent].child};
    j->p->nodes.a[parent].child = id;
    profile_index_add(&j->nodes, j->p, id);
    return id;
}

/* A parent comes before its children, on both sides. */
static void take_nodes(struct joiner *j, const struct profile *from)
{
    index_reserve(&j->nodes, j->p->nodes.n + from->nodes.n);
    for (size_t i = 1; i < j->p->nodes.n; i++)
        profile_index_add(&j->nodes, j->p, (uint32_t)i);
    j->node_of = mem_calloc(from->nodes.n, sizeof(*j->node_of));
    for (size_t i = 1; i < from->nodes.n; i++)
        j->node_of[i] =
            take_node(j, j->node_of[from->nodes.a[i].parent], j->frame_of[from->nodes.a[i].frame]);
}

/* ---- weights ---- */

static void widen(struct profile_metric *m, size_t had, size_t n)
{
    m->self = mem_realloc(m->self, n, sizeof(*m->self));
    m->total = mem_realloc(m->total, n, sizeof(*m->total));
    memset(m->self + had, 0, (n - had) * sizeof(*m->self));
    memset(m->total + had, 0, (n - had) * sizeof(*m->total));
}

static void take_metric(struct joiner *j, const struct profile_metric *from, size_t nodes)
{
    struct profile_metric *m = vec_push(&j->p->metrics);
    size_t n = j->p->nodes.n;

    *m = (struct profile_metric){.name = mem_strdup(from->name), .unit = mem_strdup(from->unit)};
    m->sum = from->sum;
    m->self = mem_calloc(n, sizeof(*m->self));
    m->total = mem_calloc(n, sizeof(*m->total));
    for (size_t i = 0; i < nodes; i++) {
        m->self[j->node_of[i]] += from->self[i];
        m->total[j->node_of[i]] += from->total[i];
    }
}

/* Both come in order of time: from the back, so that there is room. */
static void take_samples(struct joiner *j, const struct profile *from, uint32_t first_metric)
{
    size_t have = j->p->samples.n, take = from->samples.n, at = have + take;
    struct profile_sample *a;

    vec_reserve(&j->p->samples, at);
    j->p->samples.n = at;
    a = j->p->samples.a;
    while (take) {
        struct profile_sample s = from->samples.a[take - 1];

        if (have && a[have - 1].ts > s.ts) {
            a[--at] = a[--have];
            continue;
        }
        s.node = j->node_of[s.node];
        s.metric += first_metric;
        a[--at] = s;
        take--;
    }
}

void profile_merge(struct profile *p, const struct profile *from)
{
    struct joiner j = {.p = p};
    size_t had = p->nodes.n, metrics = p->metrics.n;

    take_frames(&j, from);
    take_nodes(&j, from);
    for (size_t m = 0; m < metrics; m++)
        widen(&p->metrics.a[m], had, p->nodes.n);
    for (size_t m = 0; m < from->metrics.n; m++)
        take_metric(&j, &from->metrics.a[m], from->nodes.n);
    take_samples(&j, from, (uint32_t)metrics);
    index_release(&j.frames);
    index_release(&j.nodes);
    free(j.string_of);
    free(j.frame_of);
    free(j.node_of);
}
