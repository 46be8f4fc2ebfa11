/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/maps.h"

#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    TEXT_MAX = 32 << 20, /* bytes of all maps together: about a third of a second of the kernel's time */
    NAME_MAX_ = 4096,
};

/* include/uapi/linux/fs.h since Linux 6.11; older headers lack it. */
struct query {
    uint64_t size, flags, addr;
    uint64_t start, end, vma_flags, page_size, offset, inode;
    uint32_t dev_major, dev_minor, name_size, build_id_size;
    uint64_t name_addr, build_id_addr;
};
#define QUERY _IOWR('f', 17, struct query)
enum { VMA_READ = 1, VMA_WRITE = 2, VMA_SHARED = 8, OR_NEXT = 16, FILE_BACKED = 32 };

void maps_init(struct maps *m, struct topo_ctx *ctx)
{
    struct stat st;
    int fd;

    *m = (struct maps){.ctx = ctx, .no_query = !ctx->live, .text_left = TEXT_MAX};
    fd = ctx->live ? memfd_create("wprof", MFD_CLOEXEC) : -1;
    if (fd >= 0 && !fstat(fd, &st))
        m->nameless = st.st_dev;
    if (fd >= 0)
        close(fd);
}

void maps_release(struct maps *m)
{
    vec_release(&m->list);
    buf_release(&m->text);
    buf_release(&m->file);
    map_release(&m->paths);
    map_release(&m->objects);
}

static uint32_t add_path(struct maps *m, const char *path)
{
    size_t n = strlen(path) + 1;
    uint64_t *at = map_put(&m->paths, hash_bytes(path, n));

    if (!m->text.len)
        buf_addch(&m->text, '\0'); /* offset 0: "" */
    if (*at && !strcmp(maps_path(m, (uint32_t)*at), path))
        return (uint32_t)*at;
    if (n == 1)
        return 0;
    *at = m->text.len;
    buf_add(&m->text, path, n);
    return (uint32_t)*at;
}

static int failed(struct maps *m, int errnum)
{
    m->ctx->denied += errnum == EACCES || errnum == EPERM;
    m->ctx->vanished += m->ctx->live && errnum == ENOENT; /* ESRCH: it ended, and has no memory any more */
    return -1;
}

/* ---- asking ---- */

/* Its path: asked for once, where an inode says which file it is. */
static uint32_t query_path(struct maps *m, int fd, const struct query *found, uint64_t dev)
{
    uint64_t id[2] = {dev, found->inode}, *known = NULL;
    char name[NAME_MAX_] = "";
    struct query q = {.size = sizeof(q),
                      .addr = found->start,
                      .name_size = sizeof(name),
                      .name_addr = (uint64_t)(uintptr_t)name};
    uint32_t path;

    if (m->nameless && dev != m->nameless)
        known = map_put(&m->objects, hash_bytes(id, sizeof(id)));
    if (known && *known)
        return (uint32_t)*known;
    if (ioctl(fd, QUERY, &q))
        return 0;
    name[sizeof(name) - 1] = '\0';
    path = add_path(m, name);
    if (known)
        *known = path;
    return path;
}

/* 1: the kernel does not know the question. */
static int query_all(struct maps *m, int fd)
{
    struct query q = {.size = sizeof(q), .flags = VMA_SHARED | OR_NEXT | FILE_BACKED};

    while (!ioctl(fd, QUERY, &q)) {
        uint64_t dev = makedev(q.dev_major, q.dev_minor);
        uint32_t path = query_path(m, fd, &q, dev);

        *vec_push(&m->list) = (struct shared_map){.start = q.start,
                                                  .end = q.end,
                                                  .offset = q.offset,
                                                  .dev = dev,
                                                  .ino = q.inode,
                                                  .path = path,
                                                  .mode = q.vma_flags & (VMA_READ | VMA_WRITE)};
        q = (struct query){.size = sizeof(q), .flags = VMA_SHARED | OR_NEXT | FILE_BACKED, .addr = q.end};
    }
    return errno == ENOTTY || errno == EINVAL;
}

/* ---- reading ---- */

/* "7f0000000000-7f0000010000 rw-s 00000000 00:01 1027    /memfd:name (deleted)" */
static void add_line(struct maps *m, const char *line)
{
    struct shared_map map = {0};
    unsigned major, minor;
    char mode[5];
    int n = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &map.start, &map.end,
               mode, &map.offset, &major, &minor, &map.ino, &n) != 7 ||
        mode[3] != 's' || map.end <= map.start)
        return;
    map.dev = makedev(major, minor);
    map.mode = (uint8_t)((mode[0] == 'r' ? 1 : 0) | (mode[1] == 'w' ? 2 : 0));
    map.path = add_path(m, line + n + strspn(line + n, " "));
    *vec_push(&m->list) = map;
}

void maps_parse(struct maps *m, char *text)
{
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")))
        if (*line)
            add_line(m, line);
}

/* status, "RssShmem:	       0 kB" (since Linux 4.5): nothing of it is resident. */
static int has_none(struct maps *m, int pid)
{
    struct buf status = {0};
    char path[64];
    const char *at;
    int none = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    if (!topo_read(m->ctx, path, &status) && (at = strstr(buf_str(&status), "\nRssShmem:")))
        none = strtoull(at + strlen("\nRssShmem:"), NULL, 10) == 0;
    buf_release(&status);
    return none;
}

static int read_text(struct maps *m, int fd, int pid, int must)
{
    if (!must && has_none(m, pid)) {
        m->without++;
        return 0;
    }
    if (!m->text_left) {
        m->left_out++;
        return 0;
    }
    buf_clear(&m->file);
    errno = 0;
    if (io_read_fd(fd, &m->file, NULL))
        return failed(m, errno);
    m->text_left -= m->file.len < m->text_left ? m->file.len : m->text_left;
    if (m->file.len)
        maps_parse(m, m->file.data);
    m->read++;
    return 0;
}

int maps_read(struct maps *m, int pid, int must)
{
    char path[64], *full;
    int fd, rc = 0;

    vec_clear(&m->list);
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    full = topo_path(m->ctx, path);
    fd = open(full, O_RDONLY | O_CLOEXEC);
    free(full);
    if (fd < 0)
        return failed(m, errno);
    if (!m->no_query)
        m->no_query = query_all(m, fd);
    if (m->no_query)
        rc = read_text(m, fd, pid, must);
    else
        m->read++;
    close(fd);
    return rc;
}
