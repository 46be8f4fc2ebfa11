/* SPDX-License-Identifier: Apache-2.0 */
#include "record/marks_send.h"

#include "record/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE = 200 /* ms for room in the socket */ };

static enum marks_sent explain(int error, const char *path, struct err *e)
{
    if (error == ENOENT || error == ECONNREFUSED || error == ENOTDIR) {
        err_set(e, "%s: no recording takes marks there", path);
        return MARKS_NOBODY;
    }
    if (error == EAGAIN) {
        err_set(e, "%s: the recording takes no more just now: the mark is lost", path);
        return MARKS_FULL;
    }
    err_sys(e, error, "%s", path);
    return MARKS_FAILED;
}

/* 0 or errno */
static int send_line(int fd, const struct sockaddr_un *addr, const char *line, size_t n)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
        return errno;
    if (send(fd, line, n, MSG_NOSIGNAL) >= 0)
        return 0;
    if (errno == EAGAIN && poll(&p, 1, PATIENCE) > 0 && send(fd, line, n, MSG_NOSIGNAL) >= 0)
        return 0;
    return errno;
}

static enum marks_sent send_as(const char *path, const char *called, const char *line, size_t n,
                               struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd, error;

    if (strlen(path) >= sizeof(addr.sun_path))
        return explain(ENAMETOOLONG, called, e);
    memcpy(addr.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return explain(errno, called, e);
    error = send_line(fd, &addr, line, n);
    close(fd);
    return error ? explain(error, called, e) : MARKS_SENT;
}

enum marks_sent marks_send(const char *path, const char *line, size_t n, struct err *e)
{
    return send_as(path, path, line, n, e);
}

enum marks_sent marks_send_to(const char *dir, const char *line, size_t n, struct err *e)
{
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    enum marks_sent sent;
    char path[64];

    if (fd < 0)
        return explain(errno, dir, e);
    /* However long the session's path is. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", fd, MARKS_SOCKET);
    sent = send_as(path, dir, line, n, e);
    close(fd);
    return sent;
}
