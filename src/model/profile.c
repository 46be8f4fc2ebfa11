/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile.h"

#include "model/frame_text.h"

#include <string.h>

void profile_release(struct profile *p)
{
    for (size_t i = 0; i < p->metrics.n; i++) {
        free(p->metrics.a[i].name);
        free(p->metrics.a[i].unit);
        free(p->metrics.a[i].self);
        free(p->metrics.a[i].total);
    }
    strtab_release(&p->strings);
    vec_release(&p->frames);
    vec_release(&p->nodes);
    vec_release(&p->metrics);
    vec_release(&p->samples);
}

static void sum_up(const struct profile *p, struct profile_metric *m)
{
    size_t n = p->nodes.n;

    m->total = mem_calloc(n, sizeof(*m->total));
    for (size_t i = n; i-- > 1;) {
        m->total[i] += m->self[i];
        m->total[p->nodes.a[i].parent] += m->total[i];
    }
    m->total[0] += m->self[0];
}

void profile_link(struct profile *p)
{
    struct profile_node *nodes = p->nodes.a;

    for (size_t k = 0; k < p->metrics.n; k++)
        sum_up(p, &p->metrics.a[k]);
    for (size_t i = 0; i < p->nodes.n; i++)
        nodes[i].child = 0;
    for (size_t i = p->nodes.n; i-- > 1;) {
        nodes[i].next = nodes[nodes[i].parent].child;
        nodes[nodes[i].parent].child = (uint32_t)i;
    }
}

void profile_frame_label(const struct profile *p, uint32_t frame, struct buf *out)
{
    const struct profile_frame *f = &p->frames.a[frame];

    frame_label(strtab_get(&p->strings, f->func), strtab_get(&p->strings, f->file), f->line, f->kind, out);
}
