/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces other than the machine's own, what they are called, and who is in them. Names are those
 * of ip-netns(8), of container plug-ins and of Docker: files that a namespace is mounted on.
 */
#include "topo/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const folders[] = {"/run/netns", "/run/docker/netns"};

/* The machine's own is that of its first process. */
static uint64_t own_space(const struct scan *s)
{
    for (size_t i = 0; i < s->processes.n; i++)
        if (s->processes.a[i].net)
            return s->processes.a[i].net;
    return 0;
}

static struct graph_node *space_node(struct topo_ctx *ctx, struct graph *g, uint64_t net)
{
    struct graph_node *n = graph_numbered(g, GRAPH_NETNS, (int64_t)net);

    if (!graph_attr(&n->attrs, "processes")) {
        graph_set_int(g, &n->attrs, "processes", 0);
        ctx->seen++;
    }
    return n;
}

/* Also those that nobody is in. */
static void add_names(struct topo_ctx *ctx, struct graph *g, const char *folder, uint64_t own)
{
    struct dir_names names = {0};
    struct stat self;

    if (stat("/proc/self/ns/net", &self))
        return;
    topo_list(ctx, folder, &names);
    for (size_t i = 0; i < names.list.n; i++) {
        char *path = mem_printf("%s/%s", folder, names.list.a[i]), *full = topo_path(ctx, path);
        struct stat st;

        if (stat(full, &st))
            ctx->vanished++;
        else if (st.st_dev == self.st_dev && st.st_ino != own) /* one that is mounted */
            graph_set_str(g, &space_node(ctx, g, st.st_ino)->attrs, "name", names.list.a[i]);
        free(full);
        free(path);
    }
    dir_names_release(&names);
}

/* proc(5), net/dev: two lines of titles, then "  eth0: 12 ...". */
static void add_interfaces(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, int pid)
{
    struct buf text = {0}, list = {0};
    char path[64], *rest, *line, *colon;

    snprintf(path, sizeof(path), "/proc/%d/net/dev", pid);
    if (topo_read(ctx, path, &text) || !text.len)
        return;
    rest = text.data;
    while ((line = strsep(&rest, "\n"))) {
        colon = strchr(line, ':');
        if (!colon || strchr(line, '|'))
            continue;
        *colon = '\0';
        buf_addf(&list, "%s%s", list.len ? "," : "", line + strspn(line, " "));
    }
    graph_set_str(g, &n->attrs, "interfaces", buf_str(&list));
    buf_release(&list);
    buf_release(&text);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    uint64_t own = own_space(ctx->scan);

    for (size_t i = 0; i < ctx->scan->processes.n; i++) {
        const struct scan_process *p = &ctx->scan->processes.a[i];
        struct graph_node *n;

        if (p->kernel || !p->net || p->net == own)
            continue;
        n = space_node(ctx, g, p->net);
        if (!graph_attr(&n->attrs, "interfaces"))
            add_interfaces(ctx, g, n, p->pid);
        graph_set_int(g, &n->attrs, "processes", graph_attr_int(&n->attrs, "processes", 0) + 1);
        graph_edge(g, GRAPH_EDGE_RUN_ON, topo_process(ctx, g, p->pid), n);
    }
    for (size_t i = 0; ctx->live && i < ARRAY_SIZE(folders); i++)
        add_names(ctx, g, folders[i], own);
    return 0;
}

const struct topo_source topo_source_netns = {
    .name = "netns",
    .summary = "network namespaces beside the machine's own, and who is in them",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_DESCRIBES,
    .witty = "",
    .collect = collect,
};
