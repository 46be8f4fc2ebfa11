/* SPDX-License-Identifier: Apache-2.0 */
/* What sources share: files and folders of the root, processes, pairs. */
#include "topo/source.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *topo_path(const struct topo_ctx *ctx, const char *path)
{
    return mem_printf("%s%s", ctx->root, path);
}

static int failed(struct topo_ctx *ctx, int errnum)
{
    ctx->denied += errnum == EACCES || errnum == EPERM;
    ctx->vanished += errnum == ESRCH;
    return -1;
}

int topo_read(struct topo_ctx *ctx, const char *path, struct buf *out)
{
    char *full = topo_path(ctx, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc = -1;

    free(full);
    if (fd < 0)
        return failed(ctx, errno);
    errno = 0;
    rc = io_read_fd(fd, out, NULL);
    if (rc)
        failed(ctx, errno);
    close(fd);
    return rc;
}

int topo_read_line(struct topo_ctx *ctx, const char *path, char *out, size_t n)
{
    struct buf b = {0};
    int rc = topo_read(ctx, path, &b);

    snprintf(out, n, "%.*s", (int)strcspn(buf_str(&b), "\n"), buf_str(&b));
    buf_release(&b);
    return rc;
}

int64_t topo_read_int(struct topo_ctx *ctx, const char *path, int64_t otherwise)
{
    char line[64], *end;
    int64_t v;

    if (topo_read_line(ctx, path, line, sizeof(line)))
        return otherwise;
    v = strtoll(line, &end, 0);
    return end == line ? otherwise : v;
}

int topo_list(struct topo_ctx *ctx, const char *path, struct dir_names *out)
{
    char *full = topo_path(ctx, path);
    int err = dir_names(out, AT_FDCWD, full, NULL) ? errno : 0;

    free(full);
    return err ? failed(ctx, err) : 0;
}

struct graph_node *topo_process(const struct topo_ctx *ctx, struct graph *g, int pid)
{
    const struct scan_process *p = scan_find(ctx->scan, pid);
    struct graph_node *n;

    if (!p)
        return NULL;
    n = graph_process(g, p->pid, p->ppid, p->start);
    if (graph_attr(&n->attrs, "name"))
        return n;
    graph_set_str(g, &n->attrs, "name", scan_text(ctx->scan, p->comm));
    if (p->cmdline)
        graph_set_str(g, &n->attrs, "cmdline", scan_text(ctx->scan, p->cmdline));
    return n;
}

enum { DEPTH_MAX = 256 }; /* of parents: a pid may be used again while we read, so it could go round */

int topo_asked(const struct topo_ctx *ctx, const struct scan_process *p)
{
    for (int depth = 0; p && depth < DEPTH_MAX; depth++) {
        for (size_t i = 0; i < ctx->npids; i++)
            if (p->pid == ctx->pids[i])
                return 1;
        p = p->ppid ? scan_find(ctx->scan, p->ppid) : NULL;
    }
    return 0;
}

uint64_t topo_join(const struct topo_ctx *ctx, struct graph *g, enum graph_relation kind,
                   struct graph_node *const *p, size_t n)
{
    uint64_t pairs = n ? (uint64_t)n * (n - 1) / 2 : 0;

    if (pairs > ctx->limits.max_pairs)
        return pairs;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (p[i] != p[k])
                graph_edge(g, kind, p[i], p[k]);
    return 0;
}
