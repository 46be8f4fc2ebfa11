/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/dump_fds.h"

#include "base/buf.h"
#include "base/io.h"
#include "platform/procfs.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than some C libraries' headers (arch/x86/entry/syscalls/syscall_64.tbl). */
enum { NR_EPOLL_PWAIT2 = 441, POLL_MAX = 1024 };

/* The value of a line "KEY:\tNUMBER" of a descriptor's fdinfo, from *at on; 0: there is none. */
static uint64_t info_number(const char **at, const char *key)
{
    const char *p = strstr(*at, key);

    if (!p)
        return 0;
    *at = p + strlen(key);
    return strtoull(*at, NULL, 10);
}

static int read_info(uint32_t pid, int fd, struct buf *out)
{
    char path[96];

    snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", pid, fd);
    return io_read_file(AT_FDCWD, path, out, NULL);
}

const char *dump_fd_path(uint32_t pid, int fd, char path[DUMP_FD_PATH])
{
    char link[96];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/%u/fd/%d", pid, fd);
    n = readlink(link, path, DUMP_FD_PATH - 1);
    if (n <= 0)
        n = snprintf(path, DUMP_FD_PATH, "descriptor %d", fd);
    path[n] = '\0';
    return path;
}

static int is_pidfd(uint32_t pid, int fd)
{
    char link[DUMP_FD_PATH];

    dump_fd_path(pid, fd, link);
    return !strcmp(link, "anon_inode:[pidfd]") || !strncmp(link, "pidfd:", 6);
}

static void add(uint32_t pid, int fd, int writes, struct dump_fds *out)
{
    struct dump_fd *at = &out->list[out->n];
    char path[96];
    struct stat st;

    if (fd < 0)
        return;
    if (out->n == DUMP_FDS_MAX) {
        out->left_out++;
        return;
    }
    *at = (struct dump_fd){.fd = fd, .writes = (uint8_t)writes};
    snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
    if (!stat(path, &st)) {
        at->mode = st.st_mode;
        at->ino = st.st_ino;
    }
    if (!S_ISFIFO(at->mode) && !S_ISSOCK(at->mode) && is_pidfd(pid, fd)) {
        struct buf info = {0};
        const char *p;

        if (!read_info(pid, fd, &info)) {
            p = buf_str(&info);
            at->child = (uint32_t)info_number(&p, "\nPid:");
        }
        buf_release(&info);
    }
    out->n++;
}

static void of_poll(uint32_t pid, uint64_t addr, uint64_t n, struct dump_fds *out)
{
    for (uint64_t i = 0; i < n && i < POLL_MAX; i++) {
        struct pollfd p;

        if (procfs_read_memory((pid_t)pid, addr + i * sizeof(p), &p, sizeof(p)) != sizeof(p))
            return;
        add(pid, p.fd, !(p.events & POLLIN) && (p.events & POLLOUT), out);
    }
}

static void of_select(uint32_t pid, const struct proctask_call *call, struct dump_fds *out)
{
    uint64_t bytes = (call->args[0] + 63) / 64 * 8;

    for (int set = 0; set < 2; set++) {
        uint64_t at = call->args[1 + set];
        fd_set fds;

        FD_ZERO(&fds);
        if (!at || bytes > sizeof(fds) || procfs_read_memory((pid_t)pid, at, &fds, bytes) != (ssize_t)bytes)
            continue;
        for (int fd = 0; fd < (int)call->args[0]; fd++)
            if (FD_ISSET(fd, &fds))
                add(pid, fd, set, out);
    }
}

static void of_epoll(uint32_t pid, int fd, struct dump_fds *out)
{
    struct buf info = {0};
    const char *p;

    if (!read_info(pid, fd, &info)) {
        p = buf_str(&info);
        while (strstr(p, "\ntfd:"))
            add(pid, (int)info_number(&p, "\ntfd:"), 0, out);
    }
    buf_release(&info);
}

void dump_fds_of(uint32_t pid, const struct proctask_call *call, struct dump_fds *out)
{
    int fd = (int)call->args[0];

    *out = (struct dump_fds){.n = 0};
    switch (call->nr) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_splice:
        add(pid, fd, 0, out);
        break;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_connect:
    case SYS_sendfile:
        add(pid, fd, 1, out);
        break;
    case SYS_poll:
    case SYS_ppoll:
        of_poll(pid, call->args[0], call->args[1], out);
        break;
    case SYS_select:
    case SYS_pselect6:
        of_select(pid, call, out);
        break;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case NR_EPOLL_PWAIT2:
        of_epoll(pid, fd, out);
        break;
    case SYS_waitid:
        add(pid, (int)call->args[1], 0, out);
        break;
    default:
        break;
    }
}

/* proc_locks(5): "1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 0 EOF"; those that wait have "->" behind the
 * number. The inode alone is compared: a file system may show another device to stat(2). */
static uint32_t owner_of(const char *locks, uint64_t ino, uint32_t not_pid)
{
    for (const char *line = locks; line && *line; line = strchr(line, '\n')) {
        unsigned long long found;
        int pid;

        line += *line == '\n';
        if (sscanf(line, "%*d: %*s %*s %*s %d %*x:%*x:%llu", &pid, &found) != 2)
            continue;
        if (found == ino && pid > 0 && (uint32_t)pid != not_pid)
            return (uint32_t)pid;
    }
    return 0;
}

uint32_t dump_file_lock(uint32_t pid, const struct proctask_call *call)
{
    int op = (int)call->args[1];
    struct dump_fds fds = {0};
    struct buf locks = {0};
    uint32_t owner = 0;

    if (call->nr != SYS_flock && (call->nr != SYS_fcntl || (op != F_SETLKW && op != F_OFD_SETLKW)))
        return 0;
    add(pid, (int)call->args[0], 0, &fds);
    if (fds.n && fds.list[0].ino && !io_read_file(AT_FDCWD, "/proc/locks", &locks, NULL))
        owner = owner_of(buf_str(&locks), fds.list[0].ino, pid);
    buf_release(&locks);
    return owner;
}
