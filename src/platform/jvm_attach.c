/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/jvm_attach.h"

#include "base/buf.h"
#include "base/io.h"
#include "platform/clock.h"
#include "platform/procfs.h"
#include "platform/proctask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX 65536
#define LOOK_MS    20 /* between two looks for its socket */

struct jvm {
    pid_t pid, own_pid;
    uid_t uid;
    int pidfd, tmp; /* its /tmp: a directory */
    uint64_t until; /* CLOCK_MONOTONIC ns */
};

struct look {
    int found;
};

static void on_map(void *arg, const struct procfs_map *m)
{
    const char *slash = strrchr(m->path, '/');

    if (slash && !strncmp(slash, "/libjvm.so", 10))
        ((struct look *)arg)->found = 1;
}

int jvm_is(pid_t pid)
{
    struct look l = {0};
    struct err e = {0};

    return !procfs_exec_maps(pid, on_map, &l, &e) && l.found;
}

/* "NAME:\tVALUE" of /proc/PID/status; NULL: not there. */
static const char *field(const char *status, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = status; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (!strncmp(p, name, n) && p[n] == ':')
            return p + n + 1 + strspn(p + n + 1, " \t");
    return NULL;
}

/* The innermost one is last in the line. */
static pid_t own_pid(const char *nspid, pid_t pid)
{
    long last = pid;

    while (nspid && *nspid && *nspid != '\n') {
        char *end;
        long v = strtol(nspid, &end, 10);

        if (end == nspid)
            break;
        last = v;
        nspid = end + strspn(end, " \t");
    }
    return (pid_t)last;
}

/* SIGQUIT ends a process that doesn't catch it. */
static int read_status(struct jvm *j, struct err *e)
{
    struct buf path = {0}, text = {0};
    const char *caught, *uid;
    int rc = -1;

    buf_addf(&path, "/proc/%d/status", (int)j->pid);
    if (!io_read_file(AT_FDCWD, buf_str(&path), &text, e)) {
        caught = field(buf_str(&text), "SigCgt");
        uid = field(buf_str(&text), "Uid");
        uid = uid ? uid + strcspn(uid, "\t") : NULL; /* real, then effective */
        j->uid = uid ? (uid_t)strtoul(uid, NULL, 10) : (uid_t)-1;
        j->own_pid = own_pid(field(buf_str(&text), "NSpid"), j->pid);
        if (!caught || !(strtoull(caught, NULL, 16) >> (SIGQUIT - 1) & 1))
            err_set(e, "it takes no requests (started with -Xrs, or too young)");
        else if (geteuid() && geteuid() != j->uid)
            err_set(e, "it is another user's: only root and that user may ask it");
        else
            rc = 0;
    }
    buf_release(&path);
    buf_release(&text);
    return rc;
}

/* With this a JVM answers SIGQUIT by printing its threads. */
static int refuses(pid_t pid)
{
    static const char flag[] = "-XX:+DisableAttachMechanism";
    struct buf text = {0};
    int found = 0;

    if (!proctask_read(pid, 0, "cmdline", &text))
        for (size_t i = 0; i < text.len && !found; i += strlen(text.data + i) + 1)
            found = !strcmp(text.data + i, flag);
    buf_release(&text);
    return found;
}

static int left_ms(const struct jvm *j)
{
    uint64_t now = clock_monotonic();

    return now < j->until ? (int)((j->until - now) / 1000000) + 1 : 0;
}

/* Is there a socket of its, or root's, user? */
static int listens(const struct jvm *j)
{
    char name[64];
    struct stat st;

    snprintf(name, sizeof(name), ".java_pid%d", (int)j->own_pid);
    return !fstatat(j->tmp, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode) &&
           (!st.st_uid || st.st_uid == j->uid);
}

/* Makes it listen. */
static int wake(struct jvm *j, struct err *e)
{
    char name[64];
    int fd;

    if (listens(j))
        return 0;
    snprintf(name, sizeof(name), ".attach_pid%d", (int)j->own_pid);
    fd = openat(j->tmp, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
        return err_sys(e, errno, "%s in its /tmp", name);
    if (fd >= 0)
        close(fd);
    if (syscall(SYS_pidfd_send_signal, j->pidfd, SIGQUIT, NULL, 0))
        err_sys(e, errno, "send a signal");
    else
        while (!listens(j) && left_ms(j))
            poll(NULL, 0, LOOK_MS);
    unlinkat(j->tmp, name, 0);
    if (listens(j))
        return 0;
    return e && e->msg[0] ? -1 : err_set(e, "it doesn't answer");
}

static int dial(const struct jvm *j, struct err *e)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval t = {.tv_sec = left_ms(j) / 1000, .tv_usec = left_ms(j) % 1000 * 1000 + 1};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_sys(e, errno, "socket");
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)); /* connect(2), too */
    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/.java_pid%d", j->tmp, (int)j->own_pid);
    if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
        err_sys(e, errno, "connect");
        close(fd);
        return -1;
    }
    return fd;
}

/* Everything up to the end of the connection. */
static int read_answer(const struct jvm *j, int fd, struct buf *out, struct err *e)
{
    char chunk[4096];

    while (out->len < ANSWER_MAX) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&p, 1, left_ms(j)) <= 0)
            return err_set(e, "it doesn't answer");
        n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "read its answer");
        if (!n)
            return 0;
        buf_add(out, chunk, (size_t)n);
    }
    return err_set(e, "its answer has no end");
}

/* Protocol "1", the command and three arguments, each ends in a NUL. The answer's first line is 0 where it
 * was done. */
static int ask(const struct jvm *j, struct err *e)
{
    static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0";
    struct buf answer = {0};
    int fd = dial(j, e), rc = -1;

    if (fd < 0)
        return -1;
    if (send(fd, request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
        err_sys(e, errno, "send a request");
    else if (!read_answer(j, fd, &answer, e)) {
        rc = !strncmp(buf_str(&answer), "0\n", 2) ? 0 : -1;
        if (rc)
            err_set(e, "%s",
                    strstr(buf_str(&answer), "Unknown diagnostic command")
                        ? "it has no Compiler.perfmap (older than JDK 17)"
                        : "it refused");
    }
    buf_release(&answer);
    close(fd);
    return rc;
}

int jvm_write_perf_map(pid_t pid, int timeout_ms, struct err *e)
{
    struct jvm j = {.pid = pid, .tmp = -1, .until = clock_monotonic() + (uint64_t)timeout_ms * 1000000};
    int rc = -1;

    j.pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* from here on it is this process or none */
    if (j.pidfd < 0)
        return err_sys(e, errno, "process %d", (int)pid);
    if (!jvm_is(pid))
        err_set(e, "it is no JVM");
    else if (refuses(pid))
        err_set(e, "it takes no requests (-XX:+DisableAttachMechanism)");
    else if (!read_status(&j, e)) {
        j.tmp = procfs_open_tmp(pid);
        if (j.tmp < 0)
            err_sys(e, errno, "its /tmp");
        else if (!wake(&j, e))
            rc = ask(&j, e);
    }
    if (j.tmp >= 0)
        close(j.tmp);
    close(j.pidfd);
    return rc;
}
