/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline_job.h"
#include "model/profile_index.h"

static uint32_t child_of(struct timeline_stacks *x, uint32_t parent, uint32_t frame)
{
    struct profile *p = &x->t->stacks;
    uint32_t id = profile_index_find(&x->children, p, parent, frame);

    if (id)
        return id;
    id = (uint32_t)p->nodes.n;
    *vec_push(&p->nodes) = (struct profile_node){.parent = parent, .frame = frame};
    profile_index_add(&x->children, p, id);
    return id;
}

void timeline_stacks_init(struct timeline_stacks *x, struct timeline *t, const struct store *s,
                          const struct timeline_opts *o)
{
    *x = (struct timeline_stacks){
        .t = t,
        .s = s,
        .fold = {.lines = o->lines, .inlines = o->inlines, .kernel_suffix = o->kernel_suffix},
        .max_nodes = o->max_nodes};
    fold_frames_init(&x->frames, &t->stacks, s, &x->fold);
    *vec_push(&t->stacks.nodes) = (struct profile_node){0};
    x->node_of = mem_calloc(s->stacks.nodes.n + 1, sizeof(*x->node_of));
}

void timeline_stacks_release(struct timeline_stacks *x)
{
    fold_frames_release(&x->frames);
    index_release(&x->children);
    free(x->node_of);
    vec_release(&x->pending);
}

uint32_t timeline_stacks_take(struct timeline_stacks *x, uint32_t stack)
{
    const struct stack_node *nodes = x->s->stacks.nodes.a;
    uint32_t node;

    if (!stack || stack > x->s->stacks.nodes.n)
        return 0;
    if (x->node_of[stack])
        return x->node_of[stack];
    if (x->max_nodes && x->t->stacks.nodes.n >= x->max_nodes) {
        x->t->left_stacks++;
        return 0;
    }
    vec_clear(&x->pending);
    for (; stack && !x->node_of[stack]; stack = nodes[stack - 1].parent)
        *vec_push(&x->pending) = stack;
    node = stack ? x->node_of[stack] : 0;
    while (x->pending.n) {
        uint32_t id = x->pending.a[--x->pending.n], frame = nodes[id - 1].frame;
        const uint32_t *seq = x->frames.seq.a + x->frames.first[frame];

        for (uint32_t k = 0; k < x->frames.n[frame]; k++)
            node = child_of(x, node, seq[k]);
        x->node_of[id] = node;
    }
    return node;
}
