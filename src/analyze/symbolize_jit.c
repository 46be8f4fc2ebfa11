/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/jit_name.h"
#include "analyze/symbolize_job.h"

#include "base/log.h"
#include "platform/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Below the process's own root, with its symbolic links resolved there: a path in a container leads nowhere
 * else. */
static int open_below(const char *root, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

    if (dir < 0)
        return -1;
    fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
    if (fd < 0 &&
        (errno == ENOSYS || errno == EPERM)) /* Linux before 5.6, or a filter that does not know it */
        fd = openat(dir, path, (int)how.flags);
    close(dir);
    return fd;
}

static int is_stale(const struct stat *st, const struct task *t)
{
    return t && t->start_ns && perfmap_is_older(st, t->start_ns);
}

/* The map where perf's convention has it, seen through the process while it lives, else in our own /tmp. */
static int open_conventional(const struct job *j)
{
    const struct task *t = j->task;
    uint32_t ns_pid = t ? t->ns_pid ? t->ns_pid : t->pid : 0, own_pid = t && t->own_pid ? t->own_pid : ns_pid;
    char *root, *path;
    struct stat st;
    int fd;

    if (!own_pid || !j->opts->same_boot)
        return -1;
    root = mem_printf("%s/%u/root", j->opts->proc_root ? j->opts->proc_root : "/proc", ns_pid);
    path = mem_printf("tmp/perf-%u.map", own_pid);
    fd = open_below(root, path);
    if (fd < 0)
        fd = open_below("/", path);
    free(root);
    free(path);
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || is_stale(&st, t))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* In the directory that was /tmp for the process. */
static int open_in_tmp(const struct job *j, int tmp)
{
    char name[64];
    struct stat st;
    int fd;

    if (!j->task)
        return -1;
    snprintf(name, sizeof(name), "perf-%u.map", j->task->own_pid ? j->task->own_pid : j->task->pid);
    fd = openat(tmp, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || is_stale(&st, j->task))) {
        close(fd);
        return -1;
    }
    return fd;
}

static int open_map(const struct job *j)
{
    struct stat st;
    int fd = -1;

    if (j->module->fd >= 0 && !fstat(j->module->fd, &st) && S_ISDIR(st.st_mode))
        return open_in_tmp(j, j->module->fd);
    if (j->module->fd >= 0)
        return fcntl(j->module->fd, F_DUPFD_CLOEXEC, 0);
    if (j->path[0] == '/')
        fd = open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || is_stale(&st, j->task))) {
        close(fd);
        fd = -1;
    }
    return fd >= 0 ? fd : open_conventional(j);
}

static void take_names(struct job *j, const struct perfmap *m)
{
    struct jit_name parsed = {0};

    for (size_t i = 0; i < j->n; i++) {
        struct frame_name name = {0};

        if (!perfmap_name(m, i))
            continue;
        jit_name_parse(perfmap_name(m, i), &parsed);
        name.func = strtab_add(&j->strings, demangle_cached(&j->demangled, buf_str(&parsed.func)));
        name.file = strtab_add(&j->strings, buf_str(&parsed.file));
        name.line = parsed.line;
        j->languages |= 1u << parsed.language;
        job_set(j, i, &name, 1);
    }
    jit_name_release(&parsed);
}

void symbolize_jit(struct job *j)
{
    struct err e = {""};
    struct perfmap m;
    int fd = open_map(j);

    if (fd < 0) { /* most JIT compilers write none */
        j->no_symbols = 1;
        return;
    }
    perfmap_init(&m, j->addrs, j->n);
    if (perfmap_read_fd(&m, fd, &e))
        log_warn("%s: %s", j->path, e.msg);
    take_names(j, &m);
    if (m.bad)
        log_warn("%s: %llu of %llu lines are not \"START SIZE NAME\": ignored", j->path,
                 (unsigned long long)m.bad, (unsigned long long)m.lines);
    perfmap_release(&m);
    close(fd);
}
