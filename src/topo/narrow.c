/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/narrow.h"

#include "topo/reduce.h"
#include "topo/runner.h"

#include <string.h>

struct narrow {
    const struct topo_source *const *sources;
    size_t n;
    const struct topo_ctx *ctx;
    const struct topo_opts *o;
    struct scan scan; /* everybody, in short */
    struct scan part; /* those near the pids, in full */
    struct graph all; /* what was found */
    struct graph near;
};

/* ---- sources ---- */

static void run_into(struct graph *g, const struct narrow *w, const struct topo_source *s,
                     const struct scan *scan)
{
    struct topo_ctx ctx = *w->ctx;
    struct err e = {0};

    ctx.scan = scan;
    if ((s->part != TOPO_USES && !s->goes_away) || runner_run(g, &s, 1, &ctx, &e))
        runner_run_here(g, s, &ctx);
}

static void run_on(struct narrow *w, const struct topo_source *s, const struct scan *scan)
{
    run_into(&w->all, w, s, scan);
}

static void leave_out(struct narrow *w, const struct topo_source *s, const char *why)
{
    graph_cover(&w->all, &(struct graph_coverage){.source = s->name, .state = "off", .detail = why});
}

/* What is near the pids by all that is known until now. */
static int find_near(struct narrow *w, struct err *e)
{
    graph_release(&w->near);
    graph_init(&w->near);
    return topo_reduce(&w->near, &w->all, w->o, e);
}

static size_t count_of(const struct graph *g, enum graph_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nodes.n; i++)
        n += g->nodes.a[i]->kind == kind;
    return n;
}

/* ---- processes ---- */

static void add_family(struct narrow *w)
{
    struct topo_ctx ctx = *w->ctx;

    ctx.scan = &w->scan;
    for (size_t i = 0; i < w->scan.processes.n; i++) {
        const struct scan_process *p = &w->scan.processes.a[i], *parent;
        struct graph_node *n;

        if (p->kernel)
            continue;
        n = topo_process(&ctx, &w->all, p->pid);
        parent = p->ppid ? scan_find(&w->scan, p->ppid) : NULL;
        if (parent && !parent->kernel)
            graph_edge(&w->all, GRAPH_EDGE_OWN, topo_process(&ctx, &w->all, parent->pid), n);
    }
}

/* Marks processes that are near, in bytes by the scan's index: owned by the caller. The machine's first is
 * always there: it tells which namespace is the machine's own. */
static uint8_t *mark_near(const struct narrow *w)
{
    uint8_t *marks = mem_calloc(w->scan.processes.n + 1, 1);

    marks[0] = 1;
    for (size_t i = 0; i < w->near.nodes.n; i++) {
        const struct graph_node *n = w->near.nodes.a[i];
        const struct scan_process *p =
            n->kind == GRAPH_PROCESS ? scan_find(&w->scan, (int)graph_attr_int(&n->attrs, "pid", 0)) : NULL;

        if (p)
            marks[p - w->scan.processes.a] = 1;
    }
    return marks;
}

static void take_part(struct narrow *w)
{
    uint8_t *marks = mark_near(w);

    scan_release(&w->part);
    scan_part(&w->part, &w->scan, w->ctx->root, marks);
    free(marks);
}

static int has_fd(const struct scan *scan, enum scan_fd_kind kind, const char *paths)
{
    for (size_t i = 0; i < scan->fds.n; i++) {
        const struct scan_fd *f = &scan->fds.a[i];

        if (f->kind != kind)
            continue;
        if (!paths)
            return 1;
        for (const char *p = paths; *p; p += strlen(p) + 1)
            if (!strncmp(scan_text(scan, f->path), p, strlen(p)))
                return 1;
    }
    return 0;
}

/* Descriptors of the pids and what descends from them; where these have some that others may have, too, of
 * all. Whether a name is a FIFO's costs a look at it: others' are asked where there is one. */
static void read_fds(struct narrow *w)
{
    uint8_t *of = mem_calloc(w->scan.processes.n + 1, 1);
    struct topo_ctx ctx = *w->ctx;
    int all;

    ctx.scan = &w->scan;
    for (size_t i = 0; i < w->scan.processes.n; i++)
        of[i] = topo_asked(&ctx, &w->scan.processes.a[i]) != 0;
    scan_more(&w->scan, w->ctx->root, of, SCAN_FDS);
    all = !w->ctx->live || has_fd(&w->scan, SCAN_FD_FIFO, NULL) || has_fd(&w->scan, SCAN_FD_MQUEUE, NULL);
    if (w->scan.fds.n)
        scan_more(&w->scan, w->ctx->root, NULL, all ? SCAN_FDS : SCAN_FDS_HASTY);
    free(of);
}

/* ---- the parts ---- */

/* Sockets are asked for only where somebody near has one: to list all of a machine takes its time. */
static int join(struct narrow *w, struct err *e)
{
    add_family(w);
    read_fds(w);
    for (int sockets = 0; sockets < 2; sockets++) {
        if (sockets && has_fd(&w->part, SCAN_FD_SOCKET, NULL))
            scan_more(&w->scan, w->ctx->root, NULL, SCAN_SPACES);
        for (size_t i = 0; i < w->n; i++) {
            const struct topo_source *s = w->sources[i];

            if (s->part != TOPO_JOINS || s->goes_away != sockets)
                continue;
            if (sockets && !has_fd(&w->part, SCAN_FD_SOCKET, NULL))
                leave_out(w, s, "nobody near has one");
            else
                run_on(w, s, &w->scan);
        }
        if (find_near(w, e))
            return -1;
        take_part(w);
    }
    return 0;
}

/* Who shares no memory is not found by reading all mappings of all. */
static int join_shared(struct narrow *w, const struct topo_source *s, struct err *e)
{
    struct graph first;
    int none;

    graph_init(&first);
    run_into(&first, w, s, &w->part);
    none = !first.edges.n;
    for (size_t i = 0; none && i < first.coverage.n; i++)
        graph_cover(&w->all, &first.coverage.a[i]);
    graph_release(&first);
    if (none)
        return 0;
    scan_more(&w->scan, w->ctx->root, NULL, SCAN_SPACES);
    run_on(w, s, &w->scan);
    if (find_near(w, e))
        return -1;
    take_part(w);
    return 0;
}

static void describe(struct narrow *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct topo_source *s = w->sources[i];

        if (s->part == TOPO_DESCRIBES)
            run_on(w, s, &w->part);
        else if (s->part == TOPO_USES && !has_fd(&w->part, SCAN_FD_DEVICE, s->devices))
            leave_out(w, s, "nobody near has such a device open");
        else if (s->part == TOPO_USES)
            run_on(w, s, &w->scan);
    }
}

static void describe_hardware(struct narrow *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct topo_source *s = w->sources[i];
        size_t kinds = 0;

        for (size_t k = 0; s->part == TOPO_HARDWARE && k < s->describes.n; k++)
            kinds += count_of(&w->near, s->describes.kind[k]);
        if (kinds)
            run_on(w, s, &w->scan);
        else if (s->part == TOPO_HARDWARE)
            leave_out(w, s, "nothing near is joined to such");
    }
}

static int run_all(struct narrow *w, struct err *e)
{
    if (scan_begin(&w->scan, w->ctx->root, e) || join(w, e))
        return -1;
    for (size_t i = 0; i < w->n; i++)
        if (w->sources[i]->part == TOPO_SHARES && join_shared(w, w->sources[i], e))
            return -1;
    describe(w);
    if (find_near(w, e))
        return -1;
    describe_hardware(w);
    return find_near(w, e);
}

int narrow_run(struct graph *g, const struct topo_source *const *sources, size_t n,
               const struct topo_ctx *ctx, const struct topo_opts *o, struct err *e)
{
    struct narrow w = {.sources = sources, .n = n, .ctx = ctx, .o = o};
    int rc;

    graph_init(&w.near);
    w.all = *g;
    rc = run_all(&w, e);
    graph_release(&w.all);
    *g = w.near;
    scan_release(&w.part);
    scan_release(&w.scan);
    return rc;
}
