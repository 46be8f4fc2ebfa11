/* SPDX-License-Identifier: Apache-2.0 */
#include "record/targets.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/units.h"
#include "platform/procfs.h"
#include "platform/proctask.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The thread group of a pid or tid, 0 when there is no such task. */
static pid_t process_of(pid_t pid)
{
    struct buf b = {0};
    const char *line;
    pid_t tgid = 0;

    if (!proctask_read(pid, 0, "status", &b)) {
        line = strstr(buf_str(&b), "\nTgid:");
        if (line)
            tgid = (pid_t)strtol(line + 6, NULL, 10);
        if (strstr(buf_str(&b), "\nState:\tZ") && !procfs_heir(pid))
            tgid = 0; /* ended, only not yet waited for */
    }
    buf_release(&b);
    return tgid;
}

static int add(struct targets *t, const char *text, struct err *e)
{
    uint64_t v;
    pid_t pid, tgid;

    if (units_parse_uint(text, &v, e) || !v || v > INT_MAX)
        return err_set(e, "-p %s: not a process id", text);
    pid = (pid_t)v;
    tgid = process_of(pid);
    if (!tgid) {
        log_warn("process %s does not exist: left out", text);
        return 0;
    }
    if (tgid != pid)
        log_info("%d is a thread of process %d: the whole process is recorded", (int)pid, (int)tgid);
    for (size_t i = 0; i < t->list.n; i++) {
        if (t->list.a[i].pid == tgid)
            return 0;
    }
    /* Kernels before 5.3 and strict sandboxes have no pidfd: then we look from time to time. */
    *vec_push(&t->list) = (struct target){.pid = tgid, .fd = (int)syscall(SYS_pidfd_open, tgid, 0)};
    return 0;
}

int targets_take(struct targets *t, const char *const *pids, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (add(t, pids[i], e))
            return -1;
    }
    if (!t->list.n)
        return err_set(e, "none of the processes named by -p exists: nothing to record");
    return 0;
}

size_t targets_alive(struct targets *t)
{
    size_t alive = 0;

    for (size_t i = 0; i < t->list.n; i++) {
        struct target *x = &t->list.a[i];
        struct pollfd p = {.fd = x->fd, .events = POLLIN};

        if (x->ended)
            continue;
        if (x->fd >= 0)
            x->ended = poll(&p, 1, 0) > 0;
        else
            x->ended = kill(x->pid, 0) && errno == ESRCH;
        alive += !x->ended;
    }
    return alive;
}

void targets_release(struct targets *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        if (t->list.a[i].fd >= 0)
            close(t->list.a[i].fd);
    }
    vec_release(&t->list);
}

static char **read_words(pid_t pid, const char *name)
{
    struct buf b = {0};
    VEC(char *) words = {0};

    if (!proctask_read(pid, 0, name, &b)) {
        for (size_t i = 0; i < b.len; i += strlen(b.data + i) + 1)
            *vec_push(&words) = mem_strdup(b.data + i);
    }
    buf_release(&b);
    *vec_push(&words) = NULL;
    return words.a;
}

char **targets_argv(pid_t pid)
{
    return read_words(pid, "cmdline");
}

char **targets_env(pid_t pid)
{
    return read_words(pid, "environ");
}

void targets_free_argv(char **argv)
{
    for (char **p = argv; p && *p; p++)
        free(*p);
    free(argv);
}

uint64_t targets_cpu_ns(pid_t pid)
{
    struct proctask t;

    return proctask_stat(pid, 0, &t) ? 0 : t.user_ns + t.sys_ns + t.children_ns;
}
