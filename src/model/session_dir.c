/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session_dir.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/tree.h"
#include "base/vec.h"
#include "model/session.h"
#include "model/wlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 32 };

int session_log_locked(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

uint64_t session_dir_agents(int session)
{
    DIR *d = dir_open(session, SESSION_AGENTS, O_NOFOLLOW);
    uint64_t bytes = 0;
    struct dirent *de;
    struct stat st;

    while ((de = dir_next(d)))
        if (!fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
    dir_close(d);
    return bytes;
}

static int log_is_ours(int dirfd, int *recording)
{
    int fd = openat(dirfd, SESSION_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), ours;
    struct wlog_reader r;
    struct err e;

    if (fd < 0)
        return 0;
    ours = !wlog_open(&r, fd, NULL, 0, &e);
    wlog_reader_release(&r);
    if (recording)
        *recording = session_log_locked(fd);
    close(fd);
    return ours;
}

/* -1: there is none that makes sense, and *m is empty. */
static int meta_read(int dirfd, struct meta *m)
{
    int fd = openat(dirfd, SESSION_META, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = -1;
    struct buf text = {0};
    struct stat st;
    struct err e;

    *m = (struct meta){0};
    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= SESSION_META_MAX &&
        !io_read_fd(fd, &text, &e))
        rc = meta_parse(m, buf_str(&text), text.len, &e);
    if (rc)
        meta_release(m);
    buf_release(&text);
    close(fd);
    return rc;
}

static int meta_is_ours(int dirfd)
{
    struct meta m;
    int ours = !meta_read(dirfd, &m);

    meta_release(&m);
    return ours;
}

int session_dir_holds(int dirfd, int *recording)
{
    if (recording)
        *recording = 0;
    return meta_is_ours(dirfd) && log_is_ours(dirfd, recording);
}

struct found {
    char *name;
    struct timespec when;
};

static int newest_first(const void *pa, const void *pb)
{
    const struct found *a = pa, *b = pb;

    if (a->when.tv_sec != b->when.tv_sec)
        return a->when.tv_sec > b->when.tv_sec ? -1 : 1;
    if (a->when.tv_nsec != b->when.tv_nsec)
        return a->when.tv_nsec > b->when.tv_nsec ? -1 : 1;
    return strcmp(b->name, a->name);
}

size_t session_dir_list(int dirfd, struct buf *names)
{
    DIR *d = dir_open(dirfd, ".", 0);
    VEC(struct found) list = {0};
    struct dirent *de;
    size_t n;

    while ((de = dir_next(d))) {
        int sub;
        struct stat st;

        if (de->d_name[0] == '.' || (de->d_type != DT_DIR && de->d_type != DT_UNKNOWN))
            continue;
        sub = openat(dirfd, de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0)
            continue;
        if (!fstatat(sub, SESSION_META, &st, AT_SYMLINK_NOFOLLOW) && session_dir_holds(sub, NULL))
            *vec_push(&list) = (struct found){mem_strdup(de->d_name), st.st_mtim};
        close(sub);
    }
    dir_close(d);
    if (list.n)
        qsort(list.a, list.n, sizeof(*list.a), newest_first);
    for (size_t i = 0; i < list.n; i++) {
        buf_add(names, list.a[i].name, strlen(list.a[i].name) + 1);
        free(list.a[i].name);
    }
    n = list.n;
    vec_release(&list);
    return n;
}

static int clear(int dirfd, int depth, struct err *e);

static int remove_tree(int dirfd, const char *name, int depth, struct err *e)
{
    int sub, rc = 0;

    if (!unlinkat(dirfd, name, 0))
        return 0;
    sub = depth < DEPTH_MAX ? openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (sub >= 0) {
        rc = clear(sub, depth + 1, e);
        close(sub);
    }
    if (!rc && unlinkat(dirfd, name, AT_REMOVEDIR))
        rc = err_sys(e, errno, "remove %s", name);
    return rc;
}

static int clear(int dirfd, int depth, struct err *e)
{
    struct dir_names names = {0};
    int rc = dir_names(&names, dirfd, ".", NULL) ? err_sys(e, errno, "open") : 0;

    for (size_t i = 0; i < names.list.n && !rc; i++)
        rc = remove_tree(dirfd, names.list.a[i], depth, e);
    dir_names_release(&names);
    return rc;
}

void session_dir_remove(const char *path)
{
    struct err e;

    remove_tree(AT_FDCWD, path, 0, &e);
}

/* "folded.txt", or "folded.txt.tmp" that a killed writer left. */
static int is_named(const char *name, const char *file)
{
    size_t n = strlen(file);

    return !strncmp(name, file, n) && (!name[n] || !strcmp(name + n, ".tmp"));
}

/* Of those that meta.json lists, and that are still as they were then: 0, and counted. */
struct listed {
    int dirfd;
    const struct meta *m;
    size_t n;
};

static int check_listed(void *ctx, int fd, const char *path, struct err *e)
{
    struct listed *l = ctx;

    for (size_t i = 0; i < l->m->artifacts.n; i++)
        if (l->m->artifacts.a[i].path && !strcmp(l->m->artifacts.a[i].path, path) &&
            session_check(l->dirfd, &l->m->artifacts.a[i]) == SESSION_FILE_OK) {
            l->n++;
            return 0;
        }
    return err_set(e, "%s is not listed", path);
}

static int is_listed_whole(const struct meta *m, int dirfd, const char *name)
{
    struct listed l = {dirfd, m, 0};
    struct tree_visit visit = {check_listed, &l, NULL};
    uint64_t left = 0;
    struct err e;

    return !tree_walk(dirfd, name, &visit, &left, &e) && !left && l.n;
}

static int is_made(const struct meta *m, int dirfd, const char *name)
{
    static const char *const ours[] = {SESSION_META,        SESSION_LOG,     "folded.txt",
                                       "offcpu.folded.txt", "timeline.json", "topology.json",
                                       "topology.ndjson",   "marks"};
    struct stat st;

    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT;
    if (S_ISDIR(st.st_mode))
        return !strcmp(name, "reports") || !strcmp(name, "gpu") || is_listed_whole(m, dirfd, name);
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (is_named(name, ours[i]))
            return 1;
    for (size_t i = 0; i < m->artifacts.n; i++)
        if (m->artifacts.a[i].path && is_named(name, m->artifacts.a[i].path))
            return 1;
    return 0;
}

int session_dir_clear(int dirfd, struct err *e)
{
    struct dir_names names = {0};
    struct meta m = {0};
    int rc = dir_names(&names, dirfd, ".", NULL) ? err_sys(e, errno, "open") : 0;

    meta_read(dirfd, &m);
    for (size_t i = 0; i < names.list.n && !rc; i++)
        if (!is_made(&m, dirfd, names.list.a[i]))
            rc = err_set(e,
                         "it holds %s, which wprof did not make: move that away, --force removes only a "
                         "session's own files",
                         names.list.a[i]);
    for (size_t i = 0; i < names.list.n && !rc; i++)
        rc = remove_tree(dirfd, names.list.a[i], 0, e);
    dir_names_release(&names);
    meta_release(&m);
    return rc;
}

static int may_write_parent(const char *path, struct err *e)
{
    const char *end = path + strlen(path), *slash;
    char *parent;
    int rc;

    while (end > path + 1 && end[-1] == '/')
        end--;
    slash = memrchr(path, '/', (size_t)(end - path));
    parent = slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : mem_strdup(".");
    rc = faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) ? err_sys(e, errno, "mkdir %s", path) : 0;
    free(parent);
    return rc;
}

int session_dir_may_make(const char *path, struct err *e)
{
    struct stat st;

    if (!path)
        return may_write_parent("a session", e);
    if (lstat(path, &st))
        return errno == ENOENT ? may_write_parent(path, e) : err_sys(e, errno, "%s", path);
    if (st.st_uid != geteuid() && geteuid())
        return err_set(e, "%s is another user's: a session isn't written there (another -o)", path);
    return 0;
}
