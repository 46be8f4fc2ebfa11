/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/proctask.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND     1000000000ull
#define PF_KTHREAD 0x00200000u /* include/linux/sched.h */

static uint64_t ticks_ns(unsigned long long ticks)
{
    long hz = sysconf(_SC_CLK_TCK);

    return ticks * (SECOND / (uint64_t)(hz > 0 ? hz : 100));
}

/* The number in field n of a stat file, `close` being the end of field 2; -1: cut off before it. */
static int late_field(const char *close, int n)
{
    for (int field = 2; field < n && close; field++)
        close = strchr(close + 1, ' ');
    return close ? atoi(close) : -1;
}

int proctask_parse_stat(const char *text, struct proctask *out)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    unsigned long long user, sys, start, stack = 0;
    long long child_user, child_sys;
    size_t n;
    unsigned flags;
    int ppid;

    *out = (struct proctask){0};
    if (!open || !close || close < open)
        return -1;
    n = (size_t)(close - open) - 1;
    memcpy(out->comm, open + 1, n < sizeof(out->comm) ? n : sizeof(out->comm) - 1);
    /* From field 3 on: the state, ppid; 9: flags; 14 to 17: utime, stime, cutime, cstime; 22: starttime; 28:
     * startstack; 39: processor.
     */
    if (sscanf(close + 1,
               " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d %*d %*d %llu"
               " %*u %*d %*u %*u %*u %llu",
               &out->state, &ppid, &flags, &user, &sys, &child_user, &child_sys, &start, &stack) < 8)
        return -1;
    out->ppid = ppid;
    out->user_ns = ticks_ns(user);
    out->sys_ns = ticks_ns(sys);
    out->children_ns = ticks_ns((uint64_t)(child_user + child_sys));
    out->start_ns = ticks_ns(start);
    out->stack_start = stack;
    out->kernel_thread = !!(flags & PF_KTHREAD);
    out->cpu = late_field(close, 39);
    return 0;
}

static int path_of(char *path, size_t n, pid_t pid, pid_t tid, const char *name)
{
    if (tid)
        return snprintf(path, n, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return snprintf(path, n, "/proc/%d/%s", (int)pid, name);
}

int proctask_open(pid_t pid, pid_t tid, const char *name)
{
    char path[96];

    path_of(path, sizeof(path), pid, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int proctask_read(pid_t pid, pid_t tid, const char *name, struct buf *out)
{
    char path[96];

    path_of(path, sizeof(path), pid, tid, name);
    return io_read_file(AT_FDCWD, path, out, NULL);
}

static int read_text(int fd, char *text, size_t n)
{
    ssize_t got = pread(fd, text, n - 1, 0);

    if (got <= 0)
        return -1;
    text[got] = '\0';
    return 0;
}

static int read_once(pid_t pid, pid_t tid, const char *name, char *text, size_t n)
{
    int fd = proctask_open(pid, tid, name), rc;

    if (fd < 0)
        return -1;
    rc = read_text(fd, text, n);
    close(fd);
    return rc;
}

int proctask_stat(pid_t pid, pid_t tid, struct proctask *out)
{
    char text[1024];

    return read_once(pid, tid, "stat", text, sizeof(text)) ? -1 : proctask_parse_stat(text, out);
}

uint32_t proctask_own_tid(pid_t pid, pid_t tid)
{
    char text[4096];
    const char *p;
    uint32_t own = (uint32_t)tid;

    if (read_once(pid, tid, "status", text, sizeof(text)) || !(p = strstr(text, "\nNSpid:")))
        return own;
    for (p += strlen("\nNSpid:"); *p && *p != '\n';) {
        char *end;
        unsigned long v = strtoul(p, &end, 10);

        if (end == p)
            break;
        own = (uint32_t)v;
        p = end;
    }
    return own;
}

int proctask_run(int fd, struct proctask_run *out)
{
    char text[128];
    unsigned long long run, delay, slices;

    if (read_text(fd, text, sizeof(text)) || sscanf(text, "%llu %llu %llu", &run, &delay, &slices) != 3)
        return -1;
    *out = (struct proctask_run){run, delay, slices};
    return 0;
}

int proctask_parse_call(const char *text, struct proctask_call *out)
{
    unsigned long long a[8];
    int n = sscanf(text, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &out->nr, &a[0], &a[1], &a[2], &a[3],
                   &a[4], &a[5], &a[6], &a[7]);

    if (!strncmp(text, "running", 7))
        return 0;
    if (n == 9) {
        for (int i = 0; i < 6; i++)
            out->args[i] = a[i];
        out->sp = a[6];
        out->pc = a[7];
    } else if (n == 3 && out->nr == -1) {
        memset(out->args, 0, sizeof(out->args));
        out->sp = a[0];
        out->pc = a[1];
    } else {
        return -1;
    }
    return 1;
}

int proctask_call(int fd, struct proctask_call *out)
{
    char text[256];

    return read_text(fd, text, sizeof(text)) ? -1 : proctask_parse_call(text, out);
}

static int numbers_in_dir(DIR *d, struct pid_list *out)
{
    if (!d)
        return -1;
    for (struct dirent *x; (x = readdir(d));) {
        long id = strtol(x->d_name, NULL, 10);

        if (id > 0)
            *vec_push(&out->list) = (pid_t)id;
    }
    closedir(d);
    return 0;
}

static int numbers_in(const char *path, struct pid_list *out)
{
    return numbers_in_dir(opendir(path), out);
}

int proctask_threads_at(int root, pid_t pid, struct pid_list *out)
{
    char path[64];
    int fd, rc;

    snprintf(path, sizeof(path), "proc/%d/task", (int)pid);
    fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = fd < 0 ? -1 : numbers_in_dir(fdopendir(fd), out);
    return rc;
}

int proctask_threads(pid_t pid, struct pid_list *out)
{
    char path[64];

    path_of(path, sizeof(path), pid, 0, "task");
    return numbers_in(path, out);
}

int proctask_processes(struct pid_list *out)
{
    return numbers_in("/proc", out);
}

static int children_of_thread(pid_t pid, pid_t tid, struct pid_list *out)
{
    struct buf b = {0};
    char path[96];
    int rc;

    path_of(path, sizeof(path), pid, tid, "children");
    rc = io_read_file(AT_FDCWD, path, &b, NULL);
    for (const char *p = buf_str(&b); !rc && *p;) {
        char *end;
        long id = strtol(p, &end, 10);

        if (end == p)
            break;
        *vec_push(&out->list) = (pid_t)id;
        p = end + strspn(end, " ");
    }
    buf_release(&b);
    return rc;
}

int proctask_children(pid_t pid, struct pid_list *out)
{
    struct pid_list threads = {0};
    int rc = proctask_threads(pid, &threads), some = 0;

    for (size_t i = 0; !rc && i < threads.list.n; i++)
        some |= !children_of_thread(pid, threads.list.a[i], out);
    vec_release(&threads.list);
    return some ? 0 : -1;
}
