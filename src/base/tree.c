/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include "base/buf.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

/* ---- walking ---- */

struct walk {
    const struct tree_visit *v;
    uint64_t *left;
};

static void leave_out(const struct walk *w, const char *path)
{
    ++*w->left;
    if (w->v->other)
        w->v->other(w->v->ctx, path);
}

static int walk_dir(const struct walk *w, int dirfd, const char *below, int depth, struct err *e);

static int walk_one(const struct walk *w, int dirfd, const char *below, const char *name, int depth,
                    struct err *e)
{
    char *path = mem_printf("%s%s%s", below, *below ? "/" : "", name);
    int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
    struct stat st;

    if (fd < 0 && errno != ELOOP && errno != ENXIO)
        rc = err_sys(e, errno, "%s", path);
    else if (fd < 0 || fstat(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
             (S_ISDIR(st.st_mode) && depth >= TREE_DEPTH_MAX))
        leave_out(w, path);
    else if (S_ISDIR(st.st_mode))
        rc = walk_dir(w, fd, path, depth + 1, e);
    else
        rc = w->v->file(w->v->ctx, fd, path, e);
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

static int walk_dir(const struct walk *w, int dirfd, const char *below, int depth, struct err *e)
{
    struct dir_names names = {0};
    int rc = 0;

    if (dir_names(&names, dirfd, ".", NULL))
        return err_sys(e, errno, "%s", *below ? below : ".");
    if (names.list.n && w->v->order)
        qsort(names.list.a, names.list.n, sizeof(*names.list.a), w->v->order);
    for (size_t i = 0; i < names.list.n && !rc; i++)
        rc = walk_one(w, dirfd, below, names.list.a[i], depth, e);
    dir_names_release(&names);
    return rc;
}

int tree_walk(int dirfd, const char *below, const struct tree_visit *v, uint64_t *left, struct err *e)
{
    struct walk w = {v, left};
    int fd, rc;

    if (!*below)
        return walk_dir(&w, dirfd, "", 0, e);
    fd = openat(dirfd, below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT && errno != ELOOP && errno != ENOTDIR)
        return err_sys(e, errno, "%s", below);
    if (fd < 0) {
        *left += errno != ENOENT;
        return 0;
    }
    rc = walk_dir(&w, fd, below, 1, e);
    close(fd);
    return rc;
}

/* ---- writing ---- */

static int own(int fd, uid_t uid, gid_t gid, const char *name, struct err *e)
{
    return uid != (uid_t)-1 && fchown(fd, uid, gid) ? err_sys(e, errno, "chown %s", name) : 0;
}

int tree_create(int dirfd, const char *path, uid_t uid, gid_t gid, struct err *e)
{
    int at = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
    const char *name = path, *slash;

    for (int depth = 0; at >= 0 && (slash = strchr(name, '/')); depth++) {
        char *part = mem_strndup(name, (size_t)(slash - name));
        int sub = -1;

        if (depth >= TREE_DEPTH_MAX)
            errno = ELOOP;
        else if (!mkdirat(at, part, 0700) || errno == EEXIST)
            sub = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0 ? err_sys(e, errno, "%s", path) : own(sub, uid, gid, path, e)) {
            close(at);
            if (sub >= 0)
                close(sub);
            free(part);
            return -1;
        }
        close(at);
        free(part);
        at = sub;
        name = slash + 1;
    }
    fd = at < 0 ? -1 : openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        err_sys(e, errno, "%s", path);
    if (at >= 0)
        close(at);
    if (fd >= 0 && own(fd, uid, gid, path, e)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int tree_copy_fd(int from, int to, struct err *e)
{
    char *chunk = mem_alloc(CHUNK);
    ssize_t n;
    int rc = 0;

    while (!rc && (n = read(from, chunk, CHUNK)))
        if (n > 0)
            rc = io_write_all(to, chunk, (size_t)n, e);
        else if (errno != EINTR)
            rc = err_sys(e, errno, "read");
    free(chunk);
    return rc;
}
