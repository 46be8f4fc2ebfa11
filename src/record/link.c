/* SPDX-License-Identifier: Apache-2.0 */
#include "record/link.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct head {
    uint32_t type, n;
};

enum { MESSAGE_MAX = 16 << 20 }; /* arguments may take a quarter of the stack's limit: 2 MiB mostly */

/* Binding to no name makes the kernel choose one (unix(7), "Autobind feature"): a zero byte and five others.
 */
int link_listen(char name[LINK_NAME], struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n;

    if (fd < 0)
        return err_sys(e, errno, "socket");
    if (bind(fd, (struct sockaddr *)&at, sizeof(sa_family_t)) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)&at, &len)) {
        err_sys(e, errno, "listen");
        close(fd);
        return -1;
    }
    n = len - offsetof(struct sockaddr_un, sun_path) - 1;
    name[0] = '\0';
    for (size_t i = 0; i < n && i < LINK_NAME / 2 - 1; i++)
        sprintf(name + 2 * i, "%02x", (unsigned char)at.sun_path[1 + i]);
    return fd;
}

int link_connect(const char *name, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t n = strlen(name) / 2;
    int fd;

    if (!n || n >= sizeof(at.sun_path))
        return err_set(e, "'%s' is no socket's name", name);
    for (size_t i = 0; i < n; i++) {
        char digits[3] = {name[2 * i], name[2 * i + 1], '\0'};

        at.sun_path[1 + i] = (char)strtoul(digits, NULL, 16);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(e, errno, "socket");
    if (connect(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n))) {
        err_sys(e, errno, "connect to the front end");
        close(fd);
        return -1;
    }
    return fd;
}

int link_peer(int fd, pid_t *pid, uid_t *uid)
{
    struct ucred who;
    socklen_t len = sizeof(who);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
        return -1;
    *pid = who.pid;
    *uid = who.uid;
    return 0;
}

static int send_all(int fd, const void *p, size_t n)
{
    for (const char *at = p; n;) {
        ssize_t done = send(fd, at, n, MSG_NOSIGNAL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

static int receive_all(int fd, void *p, size_t n)
{
    for (char *at = p; n;) {
        ssize_t done = recv(fd, at, n, 0);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

union control {
    char bytes[CMSG_SPACE(LINK_FDS * sizeof(int))];
    struct cmsghdr align;
};

int link_send(int fd, enum link_type type, const void *p, size_t n, const int *fds)
{
    struct head h = {type, (uint32_t)n};
    struct iovec v = {&h, sizeof(h)};
    union control c = {{0}};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    ssize_t done;

    if (fds) {
        struct cmsghdr *cm;

        m.msg_control = c.bytes;
        m.msg_controllen = sizeof(c.bytes);
        cm = CMSG_FIRSTHDR(&m);
        cm->cmsg_level = SOL_SOCKET;
        cm->cmsg_type = SCM_RIGHTS;
        cm->cmsg_len = CMSG_LEN(LINK_FDS * sizeof(int));
        memcpy(CMSG_DATA(cm), fds, LINK_FDS * sizeof(int));
    }
    do
        done = sendmsg(fd, &m, MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    return done == sizeof(h) ? send_all(fd, p, n) : -1;
}

static void take_fds(struct msghdr *m, int fds[LINK_FDS])
{
    struct cmsghdr *cm = CMSG_FIRSTHDR(m);
    int got[LINK_FDS];
    size_t n;

    if (!cm || cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
        return;
    n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(got, CMSG_DATA(cm), n * sizeof(int));
    for (size_t i = 0; i < n; i++) {
        if (fds && n == LINK_FDS)
            fds[i] = got[i];
        else
            close(got[i]);
    }
}

int link_receive(int fd, struct buf *out, int fds[LINK_FDS])
{
    struct head h;
    struct iovec v = {&h, sizeof(h)};
    union control c;
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.bytes, .msg_controllen = sizeof(c.bytes)};
    ssize_t n;

    buf_clear(out);
    for (int i = 0; fds && i < LINK_FDS; i++)
        fds[i] = -1;
    do
        n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return -1;
    take_fds(&m, fds);
    if (receive_all(fd, (char *)&h + n, sizeof(h) - (size_t)n) || h.n > MESSAGE_MAX)
        return -1;
    buf_reserve(out, h.n + 1);
    if (receive_all(fd, out->data, h.n))
        return -1;
    out->len = h.n;
    out->data[h.n] = '\0';
    return (int)h.type;
}
