/* SPDX-License-Identifier: Apache-2.0 */
#include "model/baseline.h"

#include "base/buf.h"
#include "base/dir.h"
#include "base/io.h"
#include "model/session_dir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMIT_MAX = 64 };

/* ---- names ---- */

static int plain(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

int baseline_commit_ok(const char *commit)
{
    size_t n = 0;

    while (plain(commit[n]))
        n++;
    return n && n <= COMMIT_MAX && !commit[n] && *commit != '.';
}

static char *encode_branch(const char *branch)
{
    struct buf out = {0};

    for (const char *p = branch; *p; p++) {
        if (plain(*p) && (p > branch || *p != '.'))
            buf_addch(&out, *p);
        else
            buf_addf(&out, "%%%02X", (unsigned char)*p);
    }
    return buf_detach(&out);
}

static char *decode_branch(const char *name)
{
    struct buf out = {0};
    unsigned byte;

    for (const char *p = name; *p; p++) {
        if (*p == '%' && sscanf(p + 1, "%2x", &byte) == 1 && byte) {
            buf_addch(&out, (char)byte);
            p += 2;
        } else {
            buf_addch(&out, *p);
        }
    }
    return buf_detach(&out);
}

/* ---- reading ---- */

/* "000012-abc123"; 0: not ours. */
static unsigned entry_number(const char *name)
{
    unsigned number = 0;
    int n = 0;

    return sscanf(name, "%6u-%n", &number, &n) == 1 && n == 7 && name[n] ? number : 0;
}

static int by_place(const void *pa, const void *pb)
{
    const struct baseline_entry *a = pa, *b = pb;
    int order = strcmp(a->branch, b->branch);

    if (order)
        return order;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int is_shown(const struct dirent *de)
{
    return de->d_name[0] != '.';
}

/* -1: it is no directory. */
static int read_sessions(struct baseline_entry *entry)
{
    struct dir_names names = {0};

    if (dir_names(&names, AT_FDCWD, entry->path, is_shown))
        return -1;
    for (size_t i = 0; i < names.list.n; i++) {
        char *path = mem_printf("%s/%s", entry->path, names.list.a[i]);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0 && session_dir_holds(fd, NULL))
            *vec_push(&entry->sessions) = path;
        else
            free(path);
        if (fd >= 0)
            close(fd);
    }
    dir_names_release(&names);
    return 0;
}

static void read_branch(struct baseline *b, const char *folder, const char *name)
{
    char *path = mem_printf("%s/%s", folder, name);
    DIR *d = dir_open(AT_FDCWD, path, 0);
    struct dirent *de;

    while ((de = dir_next(d))) {
        struct baseline_entry entry = {.number = entry_number(de->d_name)};

        if (!entry.number)
            continue;
        entry.path = mem_printf("%s/%s", path, de->d_name);
        if (read_sessions(&entry)) {
            free(entry.path);
            continue;
        }
        entry.branch = decode_branch(name);
        entry.commit = mem_strdup(strchr(de->d_name, '-') + 1);
        *vec_push(&b->list) = entry;
    }
    dir_close(d);
    free(path);
}

int baseline_read(struct baseline *b, const char *folder, const char *branch, struct err *e)
{
    char *wanted = branch ? encode_branch(branch) : NULL;
    DIR *d = dir_open(AT_FDCWD, folder, 0);
    struct dirent *de;

    if (!d && errno != ENOENT) {
        free(wanted);
        return err_sys(e, errno, "%s", folder);
    }
    while ((de = dir_next(d)))
        if (is_shown(de) && (!wanted || !strcmp(wanted, de->d_name)))
            read_branch(b, folder, de->d_name);
    dir_close(d);
    free(wanted);
    if (b->list.n)
        qsort(b->list.a, b->list.n, sizeof(*b->list.a), by_place);
    return 0;
}

void baseline_release(struct baseline *b)
{
    for (size_t i = 0; i < b->list.n; i++) {
        struct baseline_entry *entry = &b->list.a[i];

        free(entry->branch);
        free(entry->commit);
        free(entry->path);
        for (size_t k = 0; k < entry->sessions.n; k++)
            free(entry->sessions.a[k]);
        vec_release(&entry->sessions);
    }
    vec_release(&b->list);
}

/* ---- adding ---- */

static int copy_file(int from, int to, const char *name, struct err *e)
{
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), out, rc;
    struct io_map m;

    if (in < 0)
        return err_sys(e, errno, "%s", name);
    rc = io_map_fd(in, &m, e);
    close(in);
    if (rc)
        return err_wrap(e, "%s", name);
    out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    rc = out < 0 ? err_sys(e, errno, "%s", name) : io_write_all(out, m.p, m.n, e);
    if (out >= 0 && close(out) && !rc)
        rc = err_sys(e, errno, "%s", name);
    io_unmap(&m);
    return rc;
}

/* The session's own files; folders in it hold what somebody made of it. */
static int copy_files(DIR *from, int to, struct err *e)
{
    struct dirent *de;
    struct stat st;

    while ((de = dir_next(from)))
        if (!fstatat(dirfd(from), de->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
            copy_file(dirfd(from), to, de->d_name, e))
            return -1;
    return 0;
}

static int copy_session(const char *session, const char *to, struct err *e)
{
    DIR *from = dir_open(AT_FDCWD, session, 0);
    int fd, rc;

    if (!from)
        return err_sys(e, errno, "%s", session);
    fd = mkdir(to, 0700) ? -1 : open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = fd < 0 ? err_sys(e, errno, "%s", to) : copy_files(from, fd, e);
    if (fd >= 0)
        close(fd);
    dir_close(from);
    return rc;
}

/* The entry of the branch that is of this commit, the last of them where there are several; else a new one.
 */
static char *entry_path(const char *folder, const char *branch, const char *commit, struct err *e)
{
    struct baseline b = {0};
    char *name = encode_branch(branch), *path = NULL;

    if (!baseline_read(&b, folder, branch, e)) {
        const struct baseline_entry *last = b.list.n ? &b.list.a[b.list.n - 1] : NULL;

        for (size_t i = b.list.n; i-- > 0 && !path;)
            if (!strcmp(b.list.a[i].commit, commit))
                path = mem_strdup(b.list.a[i].path);
        if (!path)
            path = mem_printf("%s/%s/%06u-%s", folder, name, last ? last->number + 1 : 1, commit);
    }
    baseline_release(&b);
    free(name);
    return path;
}

char *baseline_add(const char *folder, const char *branch, const char *commit, const char *session,
                   struct err *e)
{
    char *entry = entry_path(folder, branch, commit, e), *path = NULL;
    struct stat st;
    int rc;

    if (!entry)
        return NULL;
    rc = io_mkdirs(entry, 0700, e);
    for (unsigned i = 1; !rc; i++) {
        free(path);
        path = mem_printf("%s/%u", entry, i);
        if (lstat(path, &st))
            break;
    }
    if (!rc)
        rc = copy_session(session, path, e);
    free(entry);
    if (!rc)
        return path;
    free(path);
    return NULL;
}
