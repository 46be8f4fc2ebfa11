/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int io_write_all(int fd, const void *p, size_t n, struct err *e)
{
    const char *s = p;

    while (n) {
        ssize_t w = write(fd, s, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return err_sys(e, errno, "write");
        s += w;
        n -= (size_t)w;
    }
    return 0;
}

int io_read_fd(int fd, struct buf *out, struct err *e)
{
    for (;;) {
        ssize_t n;

        buf_reserve(out, 65536);
        n = read(fd, out->data + out->len, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "read");
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (!n)
            return 0;
    }
}

int io_read_file(int dirfd, const char *path, struct buf *out, struct err *e)
{
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return err_sys(e, errno, "%s", path);
    rc = io_read_fd(fd, out, e);
    close(fd);
    return rc ? err_wrap(e, "%s", path) : 0;
}

int io_replace_file(int dirfd, const char *path, const void *p, size_t n, struct err *e)
{
    return io_replace_file_owned(dirfd, path, p, n, (uid_t)-1, (gid_t)-1, e);
}

int io_replace_file_owned(int dirfd, const char *path, const void *p, size_t n, uid_t uid, gid_t gid,
                          struct err *e)
{
    char *tmp = mem_printf("%s.tmp", path);
    int fd, rc = -1;

    unlinkat(dirfd, tmp, 0);
    fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        err_sys(e, errno, "%s", tmp);
        goto out;
    }
    rc = io_write_all(fd, p, n, e);
    if (!rc && fchown(fd, uid, gid))
        rc = err_sys(e, errno, "chown to %u:%u", (unsigned)uid, (unsigned)gid);
    if (close(fd) && !rc)
        rc = err_sys(e, errno, "close");
    if (!rc && renameat(dirfd, tmp, dirfd, path))
        rc = err_sys(e, errno, "rename");
    if (rc) {
        err_wrap(e, "%s", path);
        unlinkat(dirfd, tmp, 0);
    }
out:
    free(tmp);
    return rc;
}

int io_map_fd(int fd, struct io_map *m, struct err *e)
{
    struct stat st;
    void *p;

    *m = (struct io_map){0};
    if (fstat(fd, &st))
        return err_sys(e, errno, "stat");
    if (!S_ISREG(st.st_mode))
        return err_set(e, "not a regular file");
    if (!st.st_size)
        return 0;
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return err_sys(e, errno, "mmap");
    *m = (struct io_map){p, (size_t)st.st_size};
    return 0;
}

int io_map_file(const char *path, struct io_map *m, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

    *m = (struct io_map){0};
    if (fd < 0)
        return err_sys(e, errno, "%s", path);
    rc = io_map_fd(fd, m, e);
    close(fd);
    return rc ? err_wrap(e, "%s", path) : 0;
}

void io_unmap(struct io_map *m)
{
    if (m->p)
        munmap((void *)m->p, m->n);
    *m = (struct io_map){0};
}

int io_mkdirs(const char *path, mode_t mode, struct err *e)
{
    char *s = mem_strdup(path);
    int rc = 0;

    for (char *p = s + 1; *s && !rc; p++) {
        char c = *p;

        if (c && c != '/')
            continue;
        *p = '\0';
        if (mkdir(s, mode) && errno != EEXIST)
            rc = err_sys(e, errno, "mkdir %s", s);
        *p = c;
        if (!c)
            break;
    }
    free(s);
    return rc;
}

int io_sha256(int dirfd, const char *path, char hex[65], uint64_t *size, struct err *e)
{
    int fd = openat(dirfd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct io_map m = {0};
    SHA2_CTX ctx;
    uint8_t sum[SHA256_DIGEST_LENGTH];

    if (fd < 0)
        return err_sys(e, errno, "%s", path);
    if (io_map_fd(fd, &m, e)) {
        close(fd);
        return err_wrap(e, "%s", path);
    }
    SHA256Init(&ctx);
    SHA256Update(&ctx, m.p, m.n);
    SHA256Final(sum, &ctx);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    if (size)
        *size = m.n;
    io_unmap(&m);
    close(fd);
    return 0;
}

char *io_cache_dir(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (xdg && xdg[0] == '/')
        return mem_printf("%s/wprof", xdg);
    return home && home[0] == '/' ? mem_printf("%s/.cache/wprof", home) : NULL;
}
