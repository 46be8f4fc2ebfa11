/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, their parents, their threads. */
#include "topo/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Name and start of a thread, from its stat: "12 (name) S ..." with the start as the 22nd field. */
static int read_thread(struct topo_ctx *ctx, int pid, const char *tid, char name[64], uint64_t *start)
{
    struct buf b = {0};
    char path[80], *open, *close;
    int rc = -1;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid, tid);
    if (!topo_read(ctx, path, &b) && (open = strchr(buf_str(&b), '(')) && (close = strrchr(open, ')'))) {
        snprintf(name, 64, "%.*s", (int)(close - open - 1), open + 1);
        for (int field = 2; close && field < 22; field++)
            close = strchr(close + 1, ' ');
        if (close) {
            *start = strtoull(close + 1, NULL, 10);
            rc = 0;
        }
    }
    buf_release(&b);
    return rc;
}

static void add_threads(struct topo_ctx *ctx, struct graph *g, struct graph_node *process, int pid)
{
    struct dir_names tids = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    topo_list(ctx, path, &tids);
    for (size_t i = 0; i < tids.list.n; i++) {
        struct graph_node *t;
        uint64_t start;
        char name[64];

        if (read_thread(ctx, pid, tids.list.a[i], name, &start)) {
            ctx->vanished++;
            continue;
        }
        t = graph_thread(g, atoll(tids.list.a[i]), start);
        graph_set_str(g, &t->attrs, "name", name);
        graph_set_int(g, &t->attrs, "pid", pid);
        graph_edge(g, GRAPH_EDGE_OWN, process, t);
        ctx->seen++;
    }
    dir_names_release(&tids);
}

static void describe(const struct topo_ctx *ctx, struct graph *g, struct graph_node *n,
                     const struct scan_process *p)
{
    long hz = sysconf(_SC_CLK_TCK);

    graph_set_int(g, &n->attrs, "uid", p->uid);
    graph_set_int(g, &n->attrs, "threads", p->threads);
    graph_set_f64(g, &n->attrs, "cpu_s", (double)p->cpu_ticks / (double)hz);
    if (ctx->scan->boot_ns && p->start)
        graph_set_int(g, &n->attrs, "started_ns",
                      (int64_t)(ctx->scan->boot_ns + p->start * (1000000000u / (uint64_t)hz)));
    if (p->net)
        graph_set_int(g, &n->attrs, "net_ns", (int64_t)p->net);
    if (p->pidns)
        graph_set_int(g, &n->attrs, "pid_ns", (int64_t)p->pidns);
}

static void say(struct topo_ctx *ctx, uint64_t threads_left_out)
{
    struct buf d = {0};

    if (threads_left_out)
        buf_addf(&d, "%llu threads are not shown, only how many each process has",
                 (unsigned long long)threads_left_out);
    if (ctx->scan->stuck) {
        buf_addf(&d, "%s%llu command lines are missing: their processes hang in the kernel",
                 d.len ? "; " : "", (unsigned long long)ctx->scan->stuck);
        ctx->state = "partial";
    }
    snprintf(ctx->detail, sizeof(ctx->detail), "%s", buf_str(&d));
    buf_release(&d);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    const struct scan *s = ctx->scan;
    uint64_t threads = 0, left_out = 0;

    if (!s->processes.n)
        return err_set(e, "no process in %s/proc", ctx->root);
    for (size_t i = 0; i < s->processes.n; i++)
        threads += s->processes.a[i].kernel ? 0 : s->processes.a[i].threads;
    for (size_t i = 0; i < s->processes.n; i++) {
        const struct scan_process *p = &s->processes.a[i], *parent;
        struct graph_node *n;

        if (p->kernel)
            continue;
        n = topo_process(ctx, g, p->pid);
        describe(ctx, g, n, p);
        ctx->seen++;
        parent = p->ppid ? scan_find(s, p->ppid) : NULL;
        if (parent && !parent->kernel)
            graph_edge(g, GRAPH_EDGE_OWN, topo_process(ctx, g, parent->pid), n);
        if (p->threads > 1 && (threads <= ctx->limits.max_threads || topo_asked(ctx, p)))
            add_threads(ctx, g, n, p->pid);
        else if (p->threads > 1)
            left_out += p->threads;
    }
    ctx->denied += s->denied;
    ctx->vanished += s->vanished;
    say(ctx, left_out);
    return 0;
}

const struct topo_source topo_source_process = {
    .name = "process",
    .summary = "processes, their parents and threads",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_DESCRIBES,
    .witty = "Static",
    .collect = collect,
};
