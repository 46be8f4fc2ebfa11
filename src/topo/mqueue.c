/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX message queues, by IPC namespace: which there are, how full they are, who is to be told of a message.
 * Who has one open the source "pipe" finds by descriptors. mq_overview(7).
 */
#include "topo/ipcns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mqueue.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "QSIZE:129 NOTIFY:2 SIGNO:0 NOTIFY_PID:8260" */
static void read_queue(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *path)
{
    struct graph_node *told;
    char line[256];
    const char *at;

    if (topo_read_line(ctx, path, line, sizeof(line)))
        return;
    if ((at = strstr(line, "QSIZE:")))
        graph_set_int(g, &n->attrs, "bytes", strtoll(at + 6, NULL, 10));
    at = strstr(line, "NOTIFY_PID:");
    told = at ? ipcns_process(ctx, g, strtoll(at + 11, NULL, 10), 0) : NULL;
    if (told)
        graph_set_str(g, &graph_edge(g, GRAPH_EDGE_ACCESS, told, n)->attrs, "use", "is told of messages");
}

/* In its namespace the kernel tells more; the C library's mq_open() takes no name that contains a slash, nor
 * does the kernel a leading one. */
static void ask(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *name)
{
    struct mq_attr attr;
    int fd = (int)syscall(SYS_mq_open, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0, NULL);

    if (fd < 0) {
        ctx->denied += errno == EACCES;
        return;
    }
    if (!syscall(SYS_mq_getsetattr, fd, NULL, &attr)) {
        graph_set_int(g, &n->attrs, "messages", attr.mq_curmsgs);
        graph_set_int(g, &n->attrs, "max_messages", attr.mq_maxmsg);
        graph_set_int(g, &n->attrs, "message_size", attr.mq_msgsize);
    }
    close(fd);
}

/* The queues of the folder that is that namespace's /dev/mqueue. -1: it has none. */
static int add_queues(struct topo_ctx *ctx, struct graph *g, const char *dir, int entered)
{
    struct dir_names names = {0};

    if (topo_list(ctx, dir, &names))
        return -1;
    for (size_t i = 0; i < names.list.n; i++) {
        char *path = mem_printf("%s/%s", dir, names.list.a[i]), *full = topo_path(ctx, path), file[64],
             *name = mem_printf("/%s", names.list.a[i]);
        struct stat st;
        struct graph_node *n;

        if (lstat(full, &st) || !S_ISREG(st.st_mode)) {
            ctx->vanished++;
        } else {
            snprintf(file, sizeof(file), "%" PRIx64 ":%" PRIu64, (uint64_t)st.st_dev, (uint64_t)st.st_ino);
            n = graph_add(g, &(struct graph_id){
                                 .kind = GRAPH_MQUEUE, .instance = ctx->live ? file : NULL, .field = {name}});
            ctx->seen++;
            graph_set_int(g, &n->attrs, "uid", st.st_uid);
            read_queue(ctx, g, n, path);
            if (entered)
                ask(ctx, g, n, names.list.a[i]);
        }
        free(name);
        free(full);
        free(path);
    }
    dir_names_release(&names);
    return 0;
}

/* The file system that lists them, mounted where nobody but this process sees it. */
static int mount_own(void)
{
    return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
           mount("none", "/dev", "mqueue", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* Else /dev/mqueue as a process of that namespace sees it. */
static int read_space(struct topo_ctx *ctx, struct graph *g, const struct ipcns *space, int entered)
{
    uint64_t denied = ctx->denied;
    char dir[64];
    int rc;

    if (entered && !mount_own())
        return add_queues(ctx, g, "/dev", entered);
    if (!space->pid || !ctx->live)
        return add_queues(ctx, g, "/dev/mqueue", entered);
    snprintf(dir, sizeof(dir), "/proc/%d/root/dev/mqueue", space->pid);
    rc = add_queues(ctx, g, dir, entered);
    if (rc && !entered)
        ctx->denied = denied; /* once is enough */
    return rc;
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct ipcns_list spaces;
    size_t unmounted = 0;

    ipcns_find(&spaces, ctx);
    for (size_t i = 0; i < spaces.list.n; i++) {
        int entered = !ipcns_enter(&spaces, i, ctx) && ctx->live;

        unmounted += read_space(ctx, g, &spaces.list.a[i], entered) != 0;
    }
    if (unmounted == spaces.list.n && !ctx->denied && !ctx->seen) {
        ctx->state = "unavailable";
        snprintf(ctx->detail, sizeof(ctx->detail), "no /dev/mqueue: only queues that are open are seen");
    } else if (unmounted) {
        snprintf(ctx->detail, sizeof(ctx->detail),
                 "%zu of %zu IPC namespaces have no /dev/mqueue: only queues that are open are seen there",
                 unmounted, spaces.list.n);
    }
    ipcns_release(&spaces);
    return 0;
}

const struct topo_source topo_source_mqueue = {
    .name = "mqueue",
    .summary = "POSIX message queues: how full they are",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_HARDWARE,
    .goes_away = 1,
    .describes = {1, {GRAPH_MQUEUE}},
    .witty = "IPC",
    .collect = collect,
};
