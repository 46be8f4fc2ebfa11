/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPC namespaces: each has its own System V objects and POSIX message queues (ipc_namespaces(7)), and
 * /proc/sysvipc shows those of whoever reads it. A source is a process of its own, so it may move to each.
 */
#ifndef WPROF_TOPO_IPCNS_H
#define WPROF_TOPO_IPCNS_H

#include "topo/source.h"

struct ipcns {
    uint64_t ns; /* inode; 0: not known */
    int pid;     /* a process that is in it; 0: we are */
};

struct ipcns_list {
    VEC(struct ipcns) list; /* the one that /proc/sysvipc tells of first */
    uint64_t denied;        /* namespaces that could not be entered */
};

/* What the scan's processes are in. Of a recorded root only the first can be looked into. */
void ipcns_find(struct ipcns_list *l, struct topo_ctx *ctx);
void ipcns_release(struct ipcns_list *l);
/* For good. -1: not allowed, counted in l and ctx; or of a recorded root. */
int ipcns_enter(struct ipcns_list *l, size_t i, struct topo_ctx *ctx);

/*
 * A table of /proc/sysvipc ("shm", "msg", "sem"): its lines by name of column. sysvipc_next() gives the next
 * line that is as long as its head, 0 at the end.
 */
enum { SYSVIPC_COLUMNS = 20 };
struct sysvipc {
    struct buf text;
    char *rest;
    const char *name[SYSVIPC_COLUMNS];
    int64_t value[SYSVIPC_COLUMNS];
    size_t n;
};
int sysvipc_open(struct sysvipc *t, struct topo_ctx *ctx, const char *which); /* -1: not there */
int sysvipc_next(struct sysvipc *t);
int64_t sysvipc_get(const struct sysvipc *t, const char *name); /* 0: no such column */
void sysvipc_close(struct sysvipc *t);

/* The process of that pid, if it is as old as `since` (seconds since the epoch): else the pid was used again.
 * NULL: gone. */
struct graph_node *ipcns_process(struct topo_ctx *ctx, struct graph *g, int64_t pid, int64_t since);

#endif
