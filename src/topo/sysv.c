/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System V message queues and semaphores, by IPC namespace: who sent and received last, who worked on a
 * semaphore last, and who waits in a call for one now.
 */
#include "topo/ipcns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/syscall.h>

enum { SEMS_LOOKED_AT = 256 }; /* of one set */

struct waiter {
    uint64_t ns;
    int64_t id;
    int pid;
    uint8_t sem, sends;
};

struct job {
    struct topo_ctx *ctx;
    struct graph *g;
    VEC(struct waiter) waiters;
    uint64_t ns;
    int own; /* the namespace is entered: calls tell of it */
    uint64_t unread, hidden, looked;
};

static struct graph_node *object_node(struct job *j, enum graph_kind kind, int64_t id, int64_t key,
                                      const struct sysvipc *t)
{
    char number[24], ipc[24], text[16];
    struct graph_node *n;

    snprintf(number, sizeof(number), "%lld", (long long)id);
    snprintf(ipc, sizeof(ipc), "%llu", (unsigned long long)j->ns);
    n = graph_add(j->g, &(struct graph_id){.kind = kind, .instance = j->ns ? ipc : NULL, .field = {number}});
    snprintf(text, sizeof(text), "0x%08x", (unsigned)key);
    graph_set_str(j->g, &n->attrs, "key", text);
    graph_set_int(j->g, &n->attrs, "uid", sysvipc_get(t, "uid"));
    graph_set_int(j->g, &n->attrs, "mode", sysvipc_get(t, "perms"));
    j->ctx->seen++;
    return n;
}

/* ---- who waits ---- */

/* /proc/PID/task/TID/syscall: "69 0x8000 ...": in msgsnd() for queue 0x8000. */
static void look_at(struct job *j, const struct scan_process *p, const char *tid)
{
    struct waiter w = {.ns = p->ipc, .pid = p->pid};
    uint64_t denied = j->ctx->denied, vanished = j->ctx->vanished;
    char path[80], line[256];
    int rc;
    long nr;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/syscall", p->pid, tid);
    rc = topo_read_line(j->ctx, path, line, sizeof(line));
    j->hidden += j->ctx->denied - denied;
    j->ctx->denied = denied; /* what is there is seen all the same */
    j->ctx->vanished = vanished;
    if (rc || sscanf(line, "%ld 0x%llx", &nr, (unsigned long long *)&w.id) != 2)
        return;
    switch (nr) {
    case SYS_msgsnd:
        w.sends = 1;
        break;
    case SYS_msgrcv:
        break;
    case SYS_semop:
    case SYS_semtimedop:
        w.sem = 1;
        break;
    default:
        return;
    }
    *vec_push(&j->waiters) = w;
}

/* Threads of a process are looked at where it has as many as a loader, not as a database. */
static void find_waiters(struct job *j)
{
    enum { THREADS_MAX = 64 };

    for (size_t i = 0; i < j->ctx->scan->processes.n; i++) {
        const struct scan_process *p = &j->ctx->scan->processes.a[i];
        struct dir_names tids = {0};
        char path[64], pid[16];

        if (p->kernel)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
        snprintf(pid, sizeof(pid), "%d", p->pid);
        if (p->threads > 1 && p->threads <= THREADS_MAX && !topo_list(j->ctx, path, &tids))
            for (size_t k = 0; k < tids.list.n; k++)
                look_at(j, p, tids.list.a[k]);
        else
            look_at(j, p, pid);
        dir_names_release(&tids);
    }
    j->looked = 1;
}

/* ---- message queues ---- */

static void uses(struct job *j, struct graph_node *p, struct graph_node *object, const char *how)
{
    struct graph_edge *e = graph_edge(j->g, GRAPH_EDGE_ACCESS, p, object);
    const char *had = graph_attr_str(&e->attrs, "use", NULL);
    char both[128];

    if (had && strstr(had, how))
        return;
    snprintf(both, sizeof(both), "%s%s%s", had ? had : "", had ? ", " : "", how);
    graph_set_str(j->g, &e->attrs, "use", both);
}

static void add_queue(struct job *j, const struct sysvipc *t)
{
    int64_t id = sysvipc_get(t, "msqid"), sent = sysvipc_get(t, "lspid"), got = sysvipc_get(t, "lrpid");
    struct graph_node *n = object_node(j, GRAPH_SYSV_MSG, id, sysvipc_get(t, "key"), t);
    struct graph_node *sender = ipcns_process(j->ctx, j->g, sent, sysvipc_get(t, "stime"));
    struct graph_node *receiver = ipcns_process(j->ctx, j->g, got, sysvipc_get(t, "rtime"));

    graph_set_int(j->g, &n->attrs, "bytes", sysvipc_get(t, "cbytes"));
    graph_set_int(j->g, &n->attrs, "messages", sysvipc_get(t, "qnum"));
    graph_set_int(j->g, &n->attrs, "last_sender_pid", sent);
    graph_set_int(j->g, &n->attrs, "last_receiver_pid", got);
    graph_set_int(j->g, &n->attrs, "last_sent_s", sysvipc_get(t, "stime"));
    graph_set_int(j->g, &n->attrs, "last_received_s", sysvipc_get(t, "rtime"));
    if (sender)
        uses(j, sender, n, "sent last");
    if (receiver)
        uses(j, receiver, n, "received last");
    for (size_t i = 0; i < j->waiters.n; i++) {
        const struct waiter *w = &j->waiters.a[i];
        struct graph_node *p;

        if (w->sem || w->id != id || w->ns != j->ns || !(p = topo_process(j->ctx, j->g, w->pid)))
            continue;
        uses(j, p, n, w->sends ? "waits to send" : "waits to receive");
        sender = w->sends && !sender ? p : sender;
        receiver = !w->sends && !receiver ? p : receiver;
    }
    if (sender && receiver && sender != receiver)
        graph_set_int(j->g, &graph_edge(j->g, GRAPH_EDGE_SYSV_MSG, sender, receiver)->attrs, "ipc_id", id);
}

/* ---- semaphores ---- */

struct workers {
    VEC(struct graph_node *) list;
};

static void add_worker(struct workers *w, struct graph_node *n)
{
    for (size_t i = 0; i < w->list.n; i++)
        if (w->list.a[i] == n)
            return;
    *vec_push(&w->list) = n;
}

/* Asks for each semaphore of a set who worked on it last, and how many wait. */
static void ask(struct job *j, struct graph_node *n, int64_t id, int64_t count, int64_t since,
                struct workers *w)
{
    int64_t waiting = 0, limit = count < SEMS_LOOKED_AT ? count : SEMS_LOOKED_AT;

    for (int i = 0; i < limit; i++) {
        int pid = semctl((int)id, i, GETPID), more = semctl((int)id, i, GETNCNT),
            zero = semctl((int)id, i, GETZCNT);
        struct graph_node *p;

        if (pid < 0) {
            j->ctx->denied++;
            break;
        }
        waiting += (more > 0 ? more : 0) + (zero > 0 ? zero : 0);
        p = ipcns_process(j->ctx, j->g, pid, since);
        if (!p)
            continue;
        uses(j, p, n, "worked on it last");
        add_worker(w, p);
    }
    j->unread += (uint64_t)(count - limit);
    graph_set_int(j->g, &n->attrs, "waiting", waiting);
}

static void add_set(struct job *j, const struct sysvipc *t)
{
    int64_t id = sysvipc_get(t, "semid"), count = sysvipc_get(t, "nsems"), since = sysvipc_get(t, "otime");
    struct graph_node *n = object_node(j, GRAPH_SYSV_SEM, id, sysvipc_get(t, "key"), t);
    struct workers workers = {0};

    graph_set_int(j->g, &n->attrs, "semaphores", count);
    if (j->own)
        ask(j, n, id, count, since, &workers);
    for (size_t i = 0; i < j->waiters.n; i++) {
        const struct waiter *w = &j->waiters.a[i];
        struct graph_node *p;

        if (!w->sem || w->id != id || w->ns != j->ns || !(p = topo_process(j->ctx, j->g, w->pid)))
            continue;
        uses(j, p, n, "waits");
        add_worker(&workers, p);
    }
    topo_join(j->ctx, j->g, GRAPH_EDGE_SYSV_SEM, workers.list.a, workers.list.n);
    vec_release(&workers.list);
}

/* ---- */

/* Whether there is such a table. Waiting is looked for only where there is something to wait for. */
static int read_table(struct job *j, const char *which, void (*add)(struct job *, const struct sysvipc *))
{
    struct sysvipc t;
    int rc = sysvipc_open(&t, j->ctx, which);

    while (!rc && sysvipc_next(&t)) {
        if (!j->looked)
            find_waiters(j);
        add(j, &t);
    }
    sysvipc_close(&t);
    return rc;
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct job j = {.ctx = ctx, .g = g, .own = ctx->live};
    struct ipcns_list spaces;
    int none = 1;

    ipcns_find(&spaces, ctx);
    for (size_t i = 0; i < spaces.list.n; i++) {
        if (ipcns_enter(&spaces, i, ctx))
            continue;
        j.ns = spaces.list.a[i].ns;
        none &= read_table(&j, "msg", add_queue) & read_table(&j, "sem", add_set);
    }
    if (none && !ctx->denied)
        ctx->state = "unavailable";
    if (none)
        snprintf(ctx->detail, sizeof(ctx->detail), "no /proc/sysvipc here");
    else if (j.unread)
        snprintf(ctx->detail, sizeof(ctx->detail), "%llu semaphores of large sets were not asked",
                 (unsigned long long)j.unread);
    else
        snprintf(ctx->detail, sizeof(ctx->detail), "%zu IPC namespace%s%s", spaces.list.n,
                 spaces.list.n == 1 ? "" : "s", j.hidden ? "; who waits in a call is not told of all" : "");
    ipcns_release(&spaces);
    vec_release(&j.waiters);
    return 0;
}

const struct topo_source topo_source_sysv = {
    .name = "sysv",
    .summary = "System V message queues and semaphores, and who uses them",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_SHARES,
    .witty = "IPC",
    .collect = collect,
};
