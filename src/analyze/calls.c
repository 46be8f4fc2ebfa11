/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/calls.h"

#include "base/opt.h"
#include "model/frames.h"
#include "model/stacks.h"

#include <string.h>

struct calls {
    const struct profile *p;
    const struct profile_metric *m;
    uint8_t *match;      /* by profile frame */
    struct stacks nodes; /* the new tree; frame: profile frame + 1 */
    VEC(uint64_t) self;  /* by node of the new tree */
};

static const char *func_of(const struct profile *p, size_t i)
{
    return strtab_get(&p->strings, p->frames.a[i].func);
}

/* 2: exactly so called, 1: contains it. */
static int fits(const struct profile *p, uint32_t i, const char *name)
{
    struct buf label = {0};
    int rc;

    if (p->frames.a[i].kind == FRAME_NONE)
        return 0;
    profile_frame_label(p, i, &label);
    if (!strcmp(func_of(p, i), name) || !strcmp(buf_str(&label), name))
        rc = 2;
    else
        rc = strstr(buf_str(&label), name) != NULL;
    buf_release(&label);
    return rc;
}

static int no_function(const struct profile *p, const char *name, struct err *e)
{
    const char **names = mem_alloc(p->frames.n * sizeof(*names)), *near;
    size_t n = 0;

    for (size_t i = 0; i < p->frames.n; i++)
        if (p->frames.a[i].kind != FRAME_NONE)
            names[n++] = func_of(p, i);
    near = opt_nearest(name, names, n);
    if (near)
        err_set(e, "no function '%s' in the profile (did you mean '%s'?)", name, near);
    else
        err_set(e, "no function '%s' in the profile", name);
    free(names);
    return -1;
}

static int find(struct calls *c, const char *name, struct err *e)
{
    int best = 0;

    c->match = mem_calloc(c->p->frames.n, 1);
    for (uint32_t i = 0; i < c->p->frames.n; i++) {
        int fit = fits(c->p, i, name);

        c->match[i] = (uint8_t)fit;
        best = fit > best ? fit : best;
    }
    for (size_t i = 0; i < c->p->frames.n; i++)
        c->match[i] = best && c->match[i] == best;
    return best ? 0 : no_function(c->p, name, e);
}

static uint32_t push(struct calls *c, uint32_t parent, uint32_t frame)
{
    uint32_t id = stacks_push(&c->nodes, parent, frame + 1);

    while (c->self.n <= id)
        *vec_push(&c->self) = 0;
    return id;
}

/* below[i]: node i lies in a matching subtree, as the new tree's node; 0 outside. */
static void callees(struct calls *c)
{
    uint32_t *below = mem_calloc(c->p->nodes.n, sizeof(*below));

    for (size_t i = 1; i < c->p->nodes.n; i++) {
        const struct profile_node *n = &c->p->nodes.a[i];

        if (!below[n->parent] && !c->match[n->frame])
            continue;
        below[i] = push(c, below[n->parent], n->frame);
        c->self.a[below[i]] += c->m->self[i];
    }
    free(below);
}

/* Each sample counts once, at the innermost call of the function: with recursion a;b;a the caller is b. */
static void callers(struct calls *c)
{
    size_t n = c->p->nodes.n;
    uint32_t *nearest = mem_calloc(n, sizeof(*nearest));
    uint64_t *weight = mem_calloc(n, sizeof(*weight));

    for (size_t i = 1; i < n; i++) {
        const struct profile_node *node = &c->p->nodes.a[i];

        nearest[i] = c->match[node->frame] ? (uint32_t)i : nearest[node->parent];
        if (nearest[i])
            weight[nearest[i]] += c->m->self[i];
    }
    for (size_t i = 1; i < n; i++) {
        uint32_t id = 0;

        if (!weight[i])
            continue;
        for (uint32_t at = (uint32_t)i; at; at = c->p->nodes.a[at].parent)
            id = push(c, id, c->p->nodes.a[at].frame);
        c->self.a[id] += weight[i];
    }
    free(nearest);
    free(weight);
}

static void copy_frames(struct profile *out, const struct profile *p)
{
    for (size_t i = 0; i < p->frames.n; i++) {
        struct profile_frame f = p->frames.a[i];

        f.func = strtab_add(&out->strings, strtab_get(&p->strings, f.func));
        f.file = strtab_add(&out->strings, strtab_get(&p->strings, f.file));
        f.module = strtab_add(&out->strings, strtab_get(&p->strings, f.module));
        *vec_push(&out->frames) = f;
    }
}

static void build(struct profile *out, struct calls *c)
{
    size_t n = c->nodes.nodes.n + 1;
    struct profile_metric *m = vec_push(&out->metrics);

    copy_frames(out, c->p);
    *m = (struct profile_metric){.name = mem_strdup(c->m->name), .unit = mem_strdup(c->m->unit)};
    m->self = mem_calloc(n, sizeof(*m->self));
    m->total = mem_calloc(n, sizeof(*m->total));
    *vec_push(&out->nodes) = (struct profile_node){0};
    for (size_t i = 1; i < n; i++) {
        const struct stack_node *k = &c->nodes.nodes.a[i - 1];

        *vec_push(&out->nodes) = (struct profile_node){.parent = k->parent, .frame = k->frame - 1};
        m->self[i] = m->total[i] = c->self.a[i];
    }
    for (size_t i = n; i-- > 1;) {
        struct profile_node *node = &out->nodes.a[i], *parent = &out->nodes.a[node->parent];

        m->total[node->parent] += m->total[i];
        node->next = parent->child;
        parent->child = (uint32_t)i;
    }
    m->sum = m->total[0];
}

int calls_profile(struct profile *out, const struct profile *p, size_t metric, const char *name, int up,
                  struct err *e)
{
    struct calls c = {.p = p, .m = &p->metrics.a[metric]};
    int rc;

    *out = (struct profile){0};
    rc = find(&c, name, e);
    if (!rc) {
        if (up)
            callers(&c);
        else
            callees(&c);
        build(out, &c);
    }
    stacks_release(&c.nodes);
    vec_release(&c.self);
    free(c.match);
    return rc;
}
