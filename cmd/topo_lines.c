/* SPDX-License-Identifier: Apache-2.0 */
#include "topo_lines.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* A pipe that is ready takes so much at once: pipe(7). Not to wait is no matter of flags, since others share
 * the open file. */
enum { CHUNK = PIPE_BUF };

static int is_ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) > 0;
}

int topo_lines_flush(struct topo_lines *l, struct err *e)
{
    while (l->line.len && is_ready(l->fd)) {
        size_t left = l->line.len - l->written;
        ssize_t n = write(l->fd, l->line.data + l->written, left < CHUNK ? left : CHUNK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return err_sys(e, errno, "stdout");
        l->written += (size_t)n;
        if (l->written == l->line.len) {
            buf_clear(&l->line);
            l->written = 0;
        }
    }
    return 0;
}

int topo_lines_put(struct topo_lines *l, struct buf *line, struct err *e)
{
    if (topo_lines_flush(l, e))
        return -1;
    if (topo_lines_wait(l))
        l->dropped++;
    else
        buf_add(&l->line, line->data, line->len);
    buf_clear(line);
    return topo_lines_flush(l, e);
}

int topo_lines_end(struct topo_lines *l, struct err *e)
{
    while (topo_lines_wait(l)) {
        struct pollfd p = {.fd = l->fd, .events = POLLOUT};

        if ((poll(&p, 1, -1) < 0 && errno != EINTR) || topo_lines_flush(l, e))
            return -1;
    }
    return 0;
}

void topo_lines_release(struct topo_lines *l)
{
    buf_release(&l->line);
}
