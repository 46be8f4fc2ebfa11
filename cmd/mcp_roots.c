/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_roots.h"

#include "analyze/open.h"
#include "base/dir.h"
#include "collect/gpu_rest.h"
#include "exchange/sessions/find.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAMED = 5 }; /* paths in a refusal */

int mcp_roots_add(struct mcp_roots *r, const char *dir, struct err *e)
{
    char *path = realpath(dir, NULL);
    struct stat st;

    if (!path)
        return err_sys(e, errno, "--root %s", dir);
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        free(path);
        return err_set(e, "--root %s is no directory: sessions below it are served", dir);
    }
    *vec_push(&r->dirs) = path;
    return 0;
}

void mcp_roots_release(struct mcp_roots *r)
{
    for (size_t i = 0; i < r->dirs.n; i++)
        free(r->dirs.a[i]);
    vec_release(&r->dirs);
}

int mcp_roots_list(const struct mcp_roots *r, struct sessions *s, struct err *e)
{
    for (size_t i = 0; i < r->dirs.n; i++)
        if (sessions_find(s, r->dirs.a[i], e))
            return -1;
    return 0;
}

/* ---- nothing leads out ---- */

/* Without openat2 (before Linux 5.6, or a filter that does not know it) each part of the way is opened. */
static int open_stepwise(int at, const char *path)
{
    int fd = dup(at), next;

    while (fd >= 0 && *path) {
        size_t n = strcspn(path, "/");
        char *part = mem_strndup(path, n);

        next = openat(fd, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        free(part);
        close(fd);
        fd = next;
        path += n + strspn(path + n, "/");
    }
    return fd;
}

/* -1 with errno: a symlink is on the way. */
static int open_beneath(const char *root, const char *below)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

    if (at < 0)
        return -1;
    fd = (int)syscall(SYS_openat2, at, *below ? below : ".", &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open_stepwise(at, below);
    close(at);
    return fd;
}

static int refuse_link(const char *path, const char *name, struct err *e)
{
    return err_set(e,
                   "%s/%s is a symlink, which may lead out of --root, so the session is not read "
                   "(put the file itself there)",
                   path, name);
}

static int check_inside(int at, const char *name, const char *path, int depth, struct err *e);

static int check_below(int at, const char *name, const char *path, int depth, struct err *e)
{
    char *below = mem_printf("%s/%s", path, name);
    int rc = check_inside(at, name, below, depth, e);

    free(below);
    return rc;
}

/* No entry of the directory, nor of those in it, is a symlink. */
static int check_inside(int at, const char *name, const char *path, int depth, struct err *e)
{
    DIR *d = dir_open(at, name, O_NOFOLLOW);
    struct dirent *de;
    struct stat st;
    int rc = 0;

    if (!d)
        return err_sys(e, errno, "%s", path);
    while (!rc && (de = dir_next(d))) {
        if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW))
            rc = err_sys(e, errno, "%s/%s", path, de->d_name);
        else if (S_ISLNK(st.st_mode))
            rc = refuse_link(path, de->d_name, e);
        else if (S_ISDIR(st.st_mode) && depth)
            rc = check_below(dirfd(d), de->d_name, path, depth - 1, e);
    }
    dir_close(d);
    return rc;
}

static int check_way(const char *root, const char *path, struct err *e)
{
    const char *below = path + strlen(root);
    int fd = open_beneath(root, below + strspn(below, "/")), rc = 0;
    struct stat st;

    if (fd < 0)
        return errno == ELOOP || errno == EXDEV
                   ? err_set(e, "%s: a symlink on the way may lead out of --root", path)
                   : err_sys(e, errno, "%s", path);
    if (fstat(fd, &st))
        rc = err_sys(e, errno, "%s", path);
    else if (S_ISDIR(st.st_mode))
        rc = check_inside(fd, ".", path, 1, e);
    else if (!S_ISREG(st.st_mode))
        rc = err_set(e, "%s is neither a session's directory nor an archive", path);
    close(fd);
    return rc;
}

static int check(const struct mcp_roots *r, const char *path, struct err *e)
{
    for (size_t i = 0; i < r->dirs.n; i++) {
        size_t n = strcmp(r->dirs.a[i], "/") ? strlen(r->dirs.a[i]) : 0;

        if (!strncmp(path, r->dirs.a[i], n) && (!path[n] || path[n] == '/'))
            return check_way(r->dirs.a[i], path, e);
    }
    return err_set(e, "%s lies below no --root", path);
}

/* ---- by name ---- */

static int refuse_several(const struct sessions *s, const char *name, size_t n, struct err *e)
{
    struct buf paths = {0};
    size_t said = 0;

    for (size_t i = 0; i < s->list.n && said < NAMED; i++)
        if (!strcmp(sessions_text(s, s->list.a[i].session_id), name))
            buf_addf(&paths, "%s%s", said++ ? ", " : "", sessions_text(s, s->list.a[i].path));
    err_set(e, "%zu sessions have the session_id '%.80s': give one's path instead: %s%s", n, name,
            buf_str(&paths), n > NAMED ? ", ..." : "");
    buf_release(&paths);
    return -1;
}

/* What a name may be of: a session's directory goes before its archives, which hold the same. */
struct match {
    const char *path;
    size_t n;
};

static void take_match(struct match *m, const char *path)
{
    m->path = path;
    m->n++;
}

static const char *find(const struct sessions *s, const char *name, struct err *e)
{
    struct match found[2] = {{0}}, *m; /* directories, archives */

    for (size_t i = 0; i < s->list.n; i++) {
        const struct sessions_entry *x = &s->list.a[i];

        if (!strcmp(sessions_text(s, x->path), name))
            return sessions_text(s, x->path);
        if (!strcmp(sessions_text(s, x->session_id), name))
            take_match(&found[x->packed], sessions_text(s, x->path));
    }
    m = &found[!found[0].n];
    if (!m->n)
        err_set(e,
                "no session '%.80s' is below the server's roots (list_sessions tells the session_id and path "
                "of each that is; `wprof mcp --root DIR` serves others)",
                name);
    else if (m->n > 1)
        refuse_several(s, name, found[0].n + found[1].n, e);
    return m->n == 1 ? m->path : NULL;
}

char *mcp_roots_find(const struct mcp_roots *r, const char *name, struct err *e)
{
    struct sessions s = {0};
    const char *path = mcp_roots_list(r, &s, e) ? NULL : find(&s, name, e);
    char *found = path && !check(r, path, e) ? mem_strdup(path) : NULL;

    sessions_release(&s);
    return found;
}

int mcp_roots_open(const struct mcp_roots *r, const char *name, struct session *s, struct err *e)
{
    char *path = mcp_roots_find(r, name, e);
    int rc = path ? open_session(s, path, gpu_rest_take, e) : -1;

    free(path);
    return rc;
}
