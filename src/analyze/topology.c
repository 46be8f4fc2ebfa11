/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/topology.h"

#include "base/io.h"
#include "model/graph_json.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Opened; -1: errno says why. */
static int open_file(const struct session *s)
{
    char *path = mem_printf("%s/topology.json", session_files(s));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    free(path);
    return fd;
}

int topology_has(const struct session *s)
{
    int fd = open_file(s);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int topology_read(const struct session *s, struct graph *g, struct err *e)
{
    struct buf text = {0};
    int fd = open_file(s), rc;

    if (fd < 0 && errno == ENOENT)
        return err_set(e, "%s has no topology (topology.json)", s->path);
    if (fd < 0)
        return err_sys(e, errno, "%s/topology.json", s->path);
    rc = io_read_fd(fd, &text, e);
    close(fd);
    if (!rc)
        rc = graph_json_read(g, buf_str(&text), text.len, e);
    buf_release(&text);
    return rc ? err_wrap(e, "%s/topology.json", s->path) : 0;
}
