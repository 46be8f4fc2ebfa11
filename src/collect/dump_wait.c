/* SPDX-License-Identifier: Apache-2.0 */
/* What a blocked thread waits for, and on whom: by its system call, as /proc shows it. */
#include "base/mem.h"
#include "collect/dump_fds.h"
#include "collect/dump_job.h"
#include "platform/clock.h"
#include "platform/procfs.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PEERS_MAX = 64, NR_FUTEX_WAIT = 455, WAIT_PIDFD = 3 /* P_PIDFD */ };

uint32_t dump_text(struct dump_job *j, const char *fmt, ...)
{
    struct buf text = {0};
    uint32_t id;
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&text, fmt, ap);
    va_end(ap);
    id = strtab_add(&j->d->store.strings, buf_str(&text));
    buf_release(&text);
    return id;
}

void dump_add_edge(struct dump_job *j, struct dump_thread *t, uint32_t pid, uint32_t tid, enum dump_how how)
{
    for (uint32_t i = 0; i < t->edges; i++) {
        const struct dump_edge *e = &j->d->edges.a[t->edge + i];

        if (e->pid == pid && e->tid == tid)
            return;
    }
    if (!t->edges)
        t->edge = (uint32_t)j->d->edges.n;
    *vec_push(&j->d->edges) = (struct dump_edge){pid, tid, (uint8_t)how};
    t->edges++;
}

struct outside_thread *dump_own_tid(struct dump_job *j, uint32_t pid, uint32_t own)
{
    for (size_t i = 0; i < j->o.threads.n; i++) {
        struct outside_thread *t = j->o.threads.a[i];

        if (t->task.tgid == pid && t->own_tid == own && !t->ended)
            return t;
    }
    return NULL;
}

/* ---- descriptors ---- */

static void wait_on_fds(struct dump_job *j, const struct dump_fds *fds, struct process *p,
                        struct dump_thread *out)
{
    struct buf names = {0};

    for (size_t i = 0; i < fds->n; i++) {
        struct wire_wait w = {.reason = WAIT_OTHER, .fd = fds->list[i].fd};
        pid_t peers[PEERS_MAX];
        uint32_t name;
        size_t n;

        if (fds->list[i].child) {
            dump_add_edge(j, out, fds->list[i].child, 0, DUMP_CHILD);
            buf_addf(&names, "%send of process %u", names.len ? ", " : "", fds->list[i].child);
            continue;
        }
        w.syscall = fds->list[i].writes ? SYS_write : SYS_read;
        w.mode = fds->list[i].mode;
        w.ino = fds->list[i].ino;
        n = wait_peers(&j->o.namer, p, &w, peers, PEERS_MAX);
        for (size_t k = 0; k < n; k++)
            dump_add_edge(j, out, (uint32_t)peers[k], 0, S_ISFIFO(w.mode) ? DUMP_PIPE : DUMP_SOCKET);
        name = fds->n > 1 && w.mode ? wait_name(&j->o.namer, p, &w) : 0;
        if (name)
            buf_addf(&names, "%s%s", names.len ? ", " : "", strtab_get(&j->d->store.strings, name));
    }
    if (fds->left_out)
        buf_addf(&names, "%sand %u more descriptors", names.len ? " " : "", fds->left_out);
    if (names.len)
        out->what = strtab_add(&j->d->store.strings, buf_str(&names));
    buf_release(&names);
}

/* ---- processes ---- */

static int is_child(uint32_t pid, uint32_t parent)
{
    struct proctask st;

    return !proctask_stat((pid_t)pid, 0, &st) && (uint32_t)st.ppid == parent;
}

static void wait_for_child(struct dump_job *j, const struct proctask_call *call, struct process *p,
                           struct dump_thread *out)
{
    int pid = (int)call->args[0];

    if (call->nr == SYS_waitid)
        pid = call->args[0] == P_PID ? (int)call->args[1] : -1;
    if (pid > 0) { /* a number of its own pid namespace */
        struct outside_thread *t = NULL;

        for (size_t i = 0; i < j->o.threads.n && !t; i++) {
            struct outside_thread *each = j->o.threads.a[i];

            if (each->task.tid == each->task.tgid && each->own_tid == (uint32_t)pid && !each->ended &&
                is_child(each->task.tgid, out->pid))
                t = each;
        }
        if (t)
            dump_add_edge(j, out, t->task.tgid, 0, DUMP_CHILD);
        else if (p->own_tgid == p->ns_tgid)
            dump_add_edge(j, out, (uint32_t)pid, 0, DUMP_CHILD);
        return;
    }
    for (size_t i = 0; i < j->o.processes.n; i++) {
        if (is_child(j->o.processes.a[i]->pid, out->pid))
            dump_add_edge(j, out, j->o.processes.a[i]->pid, 0, DUMP_CHILD);
    }
}

static int waits_for_child(const struct proctask_call *call)
{
    return call->nr == SYS_wait4 || (call->nr == SYS_waitid && call->args[0] != WAIT_PIDFD);
}

/* ---- all of them ---- */

void dump_wait(struct dump_job *j, struct outside_thread *t, struct process *p,
               const struct proctask_call *call, struct dump_thread *out)
{
    struct dump_fds fds = {0};
    char path[DUMP_FD_PATH];
    uint32_t owner;

    out->edges = 0;
    if (call->nr == SYS_futex || call->nr == NR_FUTEX_WAIT) {
        dump_futex(j, t, p, call, out);
    } else if (waits_for_child(call)) {
        wait_for_child(j, call, p, out);
    } else if ((owner = dump_file_lock(out->pid, call))) {
        out->reason = WAIT_LOCK;
        out->what = dump_text(j, "the lock of %s", dump_fd_path(out->pid, (int)call->args[0], path));
        dump_add_edge(j, out, owner, 0, DUMP_FILE_LOCK);
    } else {
        dump_fds_of(out->pid, call, &fds);
        wait_on_fds(j, &fds, p, out);
    }
}
