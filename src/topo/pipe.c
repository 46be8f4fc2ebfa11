/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes, FIFOs, eventfds and POSIX message queues: who writes to whom, by who has which end open. */
#include "topo/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of descriptors this is about, and what becomes of them. */
static const struct channel {
    enum scan_fd_kind kind;
    enum graph_kind node;
    enum graph_relation edge;
    const char *counts; /* the attribute that says how many of them join two processes */
} channels[] = {
    {SCAN_FD_PIPE, GRAPH_PIPE, GRAPH_EDGE_PIPE, "pipes"},
    {SCAN_FD_FIFO, GRAPH_FIFO, GRAPH_EDGE_FIFO, "fifos"},
    {SCAN_FD_EVENTFD, GRAPH_EVENTFD, GRAPH_EDGE_EVENTFD, "eventfds"},
    {SCAN_FD_MQUEUE, GRAPH_MQUEUE, GRAPH_EDGE_MQUEUE, "mqueues"},
};

static const struct channel *channel_of(const struct scan_fd *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(channels); i++)
        if (channels[i].kind == (enum scan_fd_kind)f->kind)
            return &channels[i];
    return NULL;
}

static int by_object(const void *a, const void *b)
{
    const struct scan_fd *x = *(const struct scan_fd *const *)a, *y = *(const struct scan_fd *const *)b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    if (x->ino != y->ino)
        return x->ino < y->ino ? -1 : 1;
    if (!x->ino && x->path != y->path) /* of a recorded root */
        return x->path < y->path ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static int same_object(const struct scan_fd *x, const struct scan_fd *y)
{
    return x->kind == y->kind && x->dev == y->dev && x->ino == y->ino && (x->ino || x->path == y->path);
}

struct holder {
    struct graph_node *node;
    uint8_t mode;
};

struct holders {
    VEC(struct holder) list;
};

static void hold(struct topo_ctx *ctx, struct graph *g, struct holders *h, const struct scan_fd *f)
{
    struct graph_node *n = topo_process(ctx, g, ctx->scan->processes.a[f->process].pid);
    uint8_t mode = f->mode ? f->mode : 3;

    if (h->list.n && h->list.a[h->list.n - 1].node == n)
        h->list.a[h->list.n - 1].mode |= mode;
    else
        *vec_push(&h->list) = (struct holder){n, mode};
}

static struct graph_node *object_node(struct topo_ctx *ctx, struct graph *g, const struct channel *c,
                                      const struct scan_fd *f)
{
    char file[64];
    const char *path = scan_text(ctx->scan, f->path);

    if (c->kind == SCAN_FD_PIPE || c->kind == SCAN_FD_EVENTFD)
        return graph_numbered(g, c->node, (int64_t)f->ino);
    if (c->kind == SCAN_FD_MQUEUE && !strncmp(path, "/dev/mqueue/", 12))
        path += 11; /* it is called "/name" however it was opened */
    snprintf(file, sizeof(file), "%" PRIx64 ":%" PRIu64, f->dev, f->ino);
    return graph_add(g,
                     &(struct graph_id){.kind = c->node, .instance = f->ino ? file : NULL, .field = {path}});
}

static void add_edge(struct topo_ctx *ctx, struct graph *g, const struct channel *c, const struct scan_fd *f,
                     struct graph_node *a, struct graph_node *b)
{
    struct graph_edge *e = graph_edge(g, c->edge, a, b);

    graph_set_int(g, &e->attrs, c->counts, graph_attr_int(&e->attrs, c->counts, 0) + 1);
    if (f->path)
        graph_set_str(g, &e->attrs, "path", scan_text(ctx->scan, f->path));
}

static uint64_t count_pairs(const struct holders *h, int directed)
{
    uint64_t writers = 0, readers = 0, both = 0, n = h->list.n;

    for (size_t i = 0; i < n; i++) {
        writers += (h->list.a[i].mode & 2) != 0;
        readers += h->list.a[i].mode & 1;
        both += h->list.a[i].mode == 3;
    }
    return directed ? writers * readers - both : n * (n - 1) / 2;
}

static void join(struct topo_ctx *ctx, struct graph *g, const struct channel *c, const struct scan_fd *f,
                 const struct holders *h)
{
    int directed = graph_relation(c->edge)->directed;

    for (size_t i = 0; i < h->list.n; i++) {
        for (size_t k = directed ? 0 : i + 1; k < h->list.n; k++) {
            const struct holder *a = &h->list.a[i], *b = &h->list.a[k];

            if (a->node != b->node && (!directed || ((a->mode & 2) && (b->mode & 1))))
                add_edge(ctx, g, c, f, a->node, b->node);
        }
    }
}

/* Too many for an edge between any two: the object stands between them, as queues always do. */
static void gather(struct topo_ctx *ctx, struct graph *g, const struct channel *c, const struct scan_fd *f,
                   const struct holders *h)
{
    static const char *const modes[] = {"", "read", "write", "read, write"};
    struct graph_node *object = object_node(ctx, g, c, f);

    for (size_t i = 0; i < h->list.n; i++) {
        struct graph_edge *e = graph_edge(g, GRAPH_EDGE_ACCESS, h->list.a[i].node, object);

        graph_set_str(g, &e->attrs, "mode", modes[h->list.a[i].mode & 3]);
    }
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    const struct scan *s = ctx->scan;
    VEC(const struct scan_fd *) fds = {0};
    struct holders h = {0};
    uint64_t crowds = 0;

    for (size_t i = 0; i < s->fds.n; i++)
        if (channel_of(&s->fds.a[i]) && (s->fds.a[i].ino || s->fds.a[i].path))
            *vec_push(&fds) = &s->fds.a[i];
    if (fds.n)
        qsort(fds.a, fds.n, sizeof(*fds.a), by_object);
    for (size_t i = 0, end; i < fds.n; i = end) {
        const struct channel *c = channel_of(fds.a[i]);
        uint64_t pairs;

        vec_clear(&h.list);
        for (end = i + 1; end < fds.n && same_object(fds.a[i], fds.a[end]);)
            end++;
        ctx->seen++;
        if (fds.a[i]->process == fds.a[end - 1]->process && c->kind != SCAN_FD_MQUEUE)
            continue; /* nobody else has it */
        for (size_t k = i; k < end; k++)
            hold(ctx, g, &h, fds.a[k]);
        pairs = count_pairs(&h, graph_relation(c->edge)->directed);
        if (pairs > ctx->limits.max_pairs || (c->kind == SCAN_FD_MQUEUE && h.list.n)) {
            gather(ctx, g, c, fds.a[i], &h);
            crowds += c->kind != SCAN_FD_MQUEUE;
        }
        if (pairs <= ctx->limits.max_pairs)
            join(ctx, g, c, fds.a[i], &h);
    }
    vec_release(&fds);
    vec_release(&h.list);
    ctx->denied += s->denied;
    if (crowds)
        snprintf(ctx->detail, sizeof(ctx->detail), "%" PRIu64 " that many processes share stand between them",
                 crowds);
    return 0;
}

const struct topo_source topo_source_pipe = {
    .name = "pipe",
    .summary = "pipes, FIFOs, eventfds, POSIX message queues between processes",
    .on_by_default = 1,
    .needs_scan = 1,
    .witty = "IPC",
    .collect = collect,
};
