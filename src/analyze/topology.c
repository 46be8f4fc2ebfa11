/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/topology.h"

#include "base/io.h"
#include "model/graph_json.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The recording's topology; of one whose recorder was killed, or goes on, the looks that it wrote. */
static const char *const files[] = {"topology.json", "topology.ndjson"};

enum { LOOKS = 1 };

/* Opened, of files[*which]; -1: errno says why. */
static int open_file(const struct session *s, int *which)
{
    int fd = -1;

    for (*which = 0; *which < (int)ARRAY_SIZE(files); ++*which) {
        char *path = mem_printf("%s/%s", session_files(s), files[*which]);

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        free(path);
        if (fd >= 0 || errno != ENOENT)
            break;
    }
    return fd;
}

int topology_has(const struct session *s)
{
    int which, fd = open_file(s, &which);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int topology_read(const struct session *s, struct graph *g, struct err *e)
{
    struct buf text = {0};
    int which, fd = open_file(s, &which), rc;

    if (fd < 0 && errno == ENOENT)
        return err_set(e, "%s has no topology (topology.json)", s->path);
    if (fd < 0)
        return err_sys(e, errno, "%s/%s", s->path, files[which]);
    rc = io_read_fd(fd, &text, e);
    close(fd);
    if (!rc)
        rc = which == LOOKS ? graph_json_read_lines(g, buf_str(&text), text.len, e)
                            : graph_json_read(g, buf_str(&text), text.len, e);
    buf_release(&text);
    return rc ? err_wrap(e, "%s/%s", s->path, files[which]) : 0;
}
