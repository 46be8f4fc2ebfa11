/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/ipcns.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add(struct ipcns_list *l, uint64_t ns, int pid)
{
    for (size_t i = 0; i < l->list.n; i++)
        if (l->list.a[i].ns == ns)
            return;
    *vec_push(&l->list) = (struct ipcns){ns, pid};
}

static uint64_t own_ns(void)
{
    char link[64];
    ssize_t n = readlink("/proc/self/ns/ipc", link, sizeof(link) - 1);
    const char *bracket;

    if (n <= 0)
        return 0;
    link[n] = '\0';
    bracket = strchr(link, '[');
    return bracket ? strtoull(bracket + 1, NULL, 10) : 0;
}

void ipcns_find(struct ipcns_list *l, struct topo_ctx *ctx)
{
    const struct scan *s = ctx->scan;

    *l = (struct ipcns_list){0};
    if (ctx->live)
        add(l, own_ns(), 0);
    for (size_t i = 0; i < s->processes.n; i++)
        if (s->processes.a[i].ipc)
            add(l, s->processes.a[i].ipc, s->processes.a[i].pid);
    if (!l->list.n)
        add(l, 0, 0);
}

void ipcns_release(struct ipcns_list *l)
{
    vec_release(&l->list);
}

int ipcns_enter(struct ipcns_list *l, size_t i, struct topo_ctx *ctx)
{
    char path[64];
    int fd, rc;

    if (!i)
        return 0;
    if (!ctx->live)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/ns/ipc", l->list.a[i].pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    rc = fd < 0 ? -1 : setns(fd, CLONE_NEWIPC);
    if (fd >= 0)
        close(fd);
    l->denied += rc != 0;
    ctx->denied += rc != 0;
    return rc;
}

/* ---- tables ---- */

int sysvipc_open(struct sysvipc *t, struct topo_ctx *ctx, const char *which)
{
    char path[64], *line, *word, *at = NULL;

    *t = (struct sysvipc){0};
    snprintf(path, sizeof(path), "/proc/sysvipc/%s", which);
    if (topo_read(ctx, path, &t->text) || !t->text.len)
        return -1;
    t->rest = t->text.data;
    line = strsep(&t->rest, "\n");
    for (word = strtok_r(line, " ", &at); word && t->n < SYSVIPC_COLUMNS; word = strtok_r(NULL, " ", &at))
        t->name[t->n++] = word;
    return 0;
}

int sysvipc_next(struct sysvipc *t)
{
    char *line, *end;

    while (t->rest && (line = strsep(&t->rest, "\n"))) {
        size_t n;

        for (n = 0; n < t->n; n++) {
            t->value[n] = strtoll(line, &end, !strcmp(t->name[n], "perms") ? 8 : 10);
            if (end == line)
                break;
            line = end;
        }
        if (n && n == t->n)
            return 1;
    }
    return 0;
}

int64_t sysvipc_get(const struct sysvipc *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->name[i], name))
            return t->value[i];
    return 0;
}

void sysvipc_close(struct sysvipc *t)
{
    buf_release(&t->text);
}

struct graph_node *ipcns_process(struct topo_ctx *ctx, struct graph *g, int64_t pid, int64_t since)
{
    const struct scan_process *p = pid > 0 ? scan_find(ctx->scan, (int)pid) : NULL;
    uint64_t started;

    if (!p)
        return NULL;
    started = ctx->scan->boot_ns / 1000000000u + p->start / (uint64_t)sysconf(_SC_CLK_TCK);
    if (ctx->scan->boot_ns && since && started > (uint64_t)since + 1)
        return NULL;
    return topo_process(ctx, g, p->pid);
}
