/* SPDX-License-Identifier: Apache-2.0 */
/* Common parents: processes that have at least two children. */
#include "topo/source.h"

enum { CHILDREN = 2 };

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    const struct scan *s = ctx->scan;
    uint32_t *children = mem_calloc(s->processes.n + 1, sizeof(*children));

    for (size_t i = 0; i < s->processes.n; i++) {
        const struct scan_process *parent = scan_find(s, s->processes.a[i].ppid);

        if (parent && !parent->kernel)
            children[parent - s->processes.a]++;
    }
    for (size_t i = 0; i < s->processes.n; i++) {
        const struct scan_process *p = &s->processes.a[i], *parent = scan_find(s, p->ppid);
        struct graph_node *n;

        if (p->kernel || !parent || parent->kernel || children[parent - s->processes.a] < CHILDREN)
            continue;
        n = topo_process(ctx, g, parent->pid);
        if (!graph_attr(&n->attrs, "children")) {
            graph_set_int(g, &n->attrs, "children", children[parent - s->processes.a]);
            ctx->seen++;
        }
        graph_edge(g, GRAPH_EDGE_OWN, n, topo_process(ctx, g, p->pid));
    }
    free(children);
    return 0;
}

const struct topo_source topo_source_common_parent = {
    .name = "common-parent",
    .summary = "processes that have at least two children",
    .on_by_default = 1,
    .needs_scan = 1,
    .witty = "CommonProcessParent",
    .collect = collect,
};
