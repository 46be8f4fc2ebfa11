/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/sessions/find.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/log.h"
#include "exchange/sessions/index.h"
#include "model/session.h"
#include "model/session_dir.h"
#include "platform/archive.h"
#include "platform/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 16 };

struct finder {
    struct sessions *s;
    struct sessions_index index;
    struct buf path, absolute; /* of the directory in work: as it is shown, as the index has it */
    int no_archives;           /* they cannot be read here */
};

/* ---- one session ---- */

static uint32_t joined(struct sessions *s, char *const *words, size_t n, char between)
{
    struct buf text = {0};
    uint32_t id;

    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_addch(&text, between);
        buf_addstr(&text, words[i]);
    }
    id = strtab_add(&s->strings, buf_str(&text));
    buf_release(&text);
    return id;
}

static void take_meta(struct sessions *s, struct sessions_entry *n, const struct meta *m)
{
    *n = (struct sessions_entry){.session_id = strtab_add(&s->strings, m->session_id),
                                 .host = strtab_add(&s->strings, m->host),
                                 .workload = strtab_add(&s->strings, m->workload),
                                 .kind = strtab_add(&s->strings, m->kind),
                                 .hosts = joined(s, m->hosts.a, m->hosts.n, ','),
                                 .kinds = joined(s, m->kinds.a, m->kinds.n, ','),
                                 .state = strtab_add(&s->strings, m->state ? m->state : "sealed"),
                                 .command = joined(s, m->command.a, m->command.n, ' '),
                                 .start_ts = m->start_ts,
                                 .duration_s = m->duration_s,
                                 .exit_code = m->exit_code};
    for (size_t i = 0; i < m->artifacts.n; i++)
        n->size += m->artifacts.a[i].size;
}

/* 0: of a session, ours or AIProf's. */
static int read_text(struct finder *f, const struct buf *text, struct sessions_entry *n)
{
    struct meta m = {0};
    struct err e = {0};
    int rc = meta_parse(&m, buf_str(text), text->len, &e) || !m.session_id ? -1 : 0;

    if (!rc)
        take_meta(f->s, n, &m);
    meta_release(&m);
    return rc;
}

/* The same; what is of neither counts as damaged. */
static int read_meta(struct finder *f, int dirfd, struct sessions_entry *n)
{
    int fd = openat(dirfd, SESSION_META, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = -1;
    struct buf text = {0};
    struct err e = {0};

    if (fd >= 0 && !io_read_fd(fd, &text, &e))
        rc = read_text(f, &text, n);
    if (fd >= 0)
        close(fd);
    buf_release(&text);
    return rc;
}

/* Whether somebody records it is not written anywhere, but in the lock. */
static void look_at_state(struct finder *f, int dirfd, struct sessions_entry *n)
{
    int fd;

    if (strcmp(sessions_text(f->s, n->state), "recording") != 0)
        return;
    fd = openat(dirfd, SESSION_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || !session_log_locked(fd))
        n->state = strtab_add(&f->s->strings, "unsealed");
    if (fd >= 0)
        close(fd);
}

static void add_entry(struct finder *f, int dirfd, struct sessions_entry n)
{
    n.path = strtab_add(&f->s->strings, f->path.data);
    if (dirfd >= 0)
        look_at_state(f, dirfd, &n);
    *vec_push(&f->s->list) = n;
}

static void take_stat(struct sessions_known *k, const struct stat *st)
{
    k->seen = k->changed = 1;
    k->ino = (int64_t)st->st_ino;
    k->size = st->st_size;
    k->mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static int is_recording(const struct finder *f, const struct sessions_known *k)
{
    return !strcmp(sessions_text(f->s, k->entry.state), "recording");
}

/* The directory in work has this meta.json. parent, name: how it is opened, where it must be. 0: a session.
 */
static int add_session(struct finder *f, int parent, const char *name, const struct stat *st)
{
    struct sessions_known *k = sessions_index_find(&f->index, f->absolute.data);
    uint64_t *seen;
    int fd, rc = 0;

    k = k ? k : sessions_index_add(&f->index, f->absolute.data);
    seen = map_put(&f->s->seen, k->path);
    if (*seen) { /* below two of the directories that were named */
        k->seen = 1;
        return 0;
    }
    if (sessions_index_is_current(k, st) && !is_recording(f, k)) {
        *seen = k->seen = 1;
        add_entry(f, -1, k->entry);
        return 0;
    }
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (read_meta(f, fd, &k->entry)) {
        if (!f->s->damaged++)
            f->s->damaged_at = strtab_add(&f->s->strings, f->path.data);
        rc = -1;
    } else {
        *seen = 1;
        take_stat(k, st);
        add_entry(f, fd, k->entry);
    }
    close(fd);
    return rc;
}

/* ---- one archive ---- */

/* By its name: pack's, and what AIProf's collector stores. Plain .tar are left alone, training data has
 * thousands of them. */
static int is_archive(const char *name)
{
    static const char *const ends[] = {".tar.zst", ".tar.gz"};
    size_t n = strlen(name);

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
            return 1;
    return 0;
}

/* Nobody records into one. */
static void settle_packed(struct finder *f, struct sessions_entry *n)
{
    if (!strcmp(sessions_text(f->s, n->state), "recording"))
        n->state = strtab_add(&f->s->strings, "unsealed");
}

/* What an archive that is not known holds. */
static void take_archive(struct finder *f, int fd, struct sessions_known *k, const struct stat *st)
{
    struct sessions_entry *n = &k->entry;
    struct buf text = {0};
    struct err e = {0};
    int rc = packed_read_meta(fd, &text, SESSION_META_MAX, &e);

    if (rc && archive_check(&e)) {
        log_warn("archives of sessions are not listed: %s", e.msg);
        f->no_archives = 1;
    } else {
        *n = (struct sessions_entry){0};
        if (rc || read_text(f, &text, n)) {
            log_debug("%s: %s", f->path.data, rc ? e.msg : "its " SESSION_META " is no session's");
            *n = (struct sessions_entry){0};
        } else {
            settle_packed(f, n);
        }
        n->size = (uint64_t)st->st_size;
        take_stat(k, st);
    }
    buf_release(&text);
}

/* -1: it could not be looked at, and nothing is known of it. */
static int look_into_archive(struct finder *f, int parent, const char *name, struct sessions_known *k,
                             const struct stat *st)
{
    int fd;

    if (sessions_index_is_current(k, st))
        return 0;
    k->seen = 0;
    fd = f->no_archives ? -1 : openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        f->s->unread += 1;
        return -1;
    }
    take_archive(f, fd, k, st);
    close(fd);
    f->s->unread += (uint64_t)!k->seen;
    return k->seen ? 0 : -1;
}

/* What holds no session is known as well, by its empty session_id: it is not read again. */
static void add_archive(struct finder *f, int parent, const char *name, const struct stat *st)
{
    struct sessions_known *k = sessions_index_find(&f->index, f->absolute.data);
    uint64_t *seen;

    k = k ? k : sessions_index_add(&f->index, f->absolute.data);
    seen = map_put(&f->s->seen, k->path);
    k->seen = 1;
    if (*seen)
        return;
    *seen = 1;
    if (look_into_archive(f, parent, name, k, st))
        return;
    if (*sessions_text(f->s, k->entry.session_id)) {
        k->entry.packed = 1;
        add_entry(f, -1, k->entry);
    } else {
        f->s->foreign++;
    }
}

/* ---- directories ---- */

static void walk(struct finder *f, int fd, int depth);

static void enter(struct finder *f, int parent, const char *name, int depth)
{
    int fd;

    if (depth >= DEPTH_MAX) {
        f->s->too_deep++;
        return;
    }
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        f->s->denied += errno == EACCES || errno == EPERM;
        return;
    }
    walk(f, fd, depth + 1);
}

static void push(struct buf *path, const char *name)
{
    if (path->len && path->data[path->len - 1] != '/')
        buf_addch(path, '/');
    buf_addstr(path, name);
}

static void pop(struct buf *path, size_t len)
{
    path->len = len;
    path->data[len] = '\0';
}

static void look_at(struct finder *f, int parent, const struct dirent *de, int depth)
{
    size_t path = f->path.len, absolute = f->absolute.len;
    char meta[sizeof(de->d_name) + sizeof(SESSION_META) + 1];
    struct stat st;
    size_t n = strlen(de->d_name);

    memcpy(meta, de->d_name, n);
    memcpy(meta + n, "/" SESSION_META, sizeof("/" SESSION_META));
    push(&f->path, de->d_name);
    push(&f->absolute, de->d_name);
    if (fstatat(parent, meta, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
        st.st_size > SESSION_META_MAX || add_session(f, parent, de->d_name, &st))
        enter(f, parent, de->d_name, depth);
    pop(&f->path, path);
    pop(&f->absolute, absolute);
}

static void look_at_file(struct finder *f, int parent, const char *name)
{
    size_t path = f->path.len, absolute = f->absolute.len;
    struct stat st;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
        return;
    push(&f->path, name);
    push(&f->absolute, name);
    add_archive(f, parent, name, &st);
    pop(&f->path, path);
    pop(&f->absolute, absolute);
}

/* Takes fd over. */
static void walk(struct finder *f, int fd, int depth)
{
    DIR *d = fdopendir(fd);
    struct dirent *de;
    struct stat st;

    if (!d) {
        close(fd);
        return;
    }
    while ((de = dir_next(d))) {
        if (de->d_name[0] == '.')
            continue;
        if ((de->d_type == DT_REG || de->d_type == DT_UNKNOWN) && is_archive(de->d_name))
            look_at_file(f, fd, de->d_name);
        if (de->d_type != DT_DIR && de->d_type != DT_UNKNOWN)
            continue;
        if (de->d_type == DT_UNKNOWN &&
            (fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode)))
            continue;
        look_at(f, fd, de, depth);
    }
    closedir(d);
}

static void find_below(struct finder *f, int fd)
{
    struct stat st;

    if (!fstatat(fd, SESSION_META, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode)) {
        buf_addstr(&f->path, f->path.len ? "" : ".");
        add_session(f, fd, ".", &st);
        close(fd);
    } else {
        walk(f, fd, 0);
    }
}

/* ---- one that is named ---- */

static int is_no_archive(const char *name, struct err *e)
{
    return err_set(e, "%s is neither a directory nor an archive of a session", name);
}

/* An archive by its name, whatever it ends in. */
static int find_archive(struct finder *f, const char *name, struct err *e)
{
    struct sessions *s = f->s;
    uint64_t foreign = s->foreign, unread = s->unread;
    struct stat st;

    if (stat(f->absolute.data, &st))
        return err_sys(e, errno, "%s", name);
    if (!S_ISREG(st.st_mode))
        return is_no_archive(name, e);
    add_archive(f, AT_FDCWD, f->absolute.data, &st);
    if (s->unread > unread)
        return err_set(e, "%s could not be read", name);
    return s->foreign > foreign ? is_no_archive(name, e) : 0;
}

/* To its end: whoever writes it has no broken pipe then. */
static void read_over(int fd)
{
    char piece[1 << 16];
    ssize_t n;

    do {
        n = read(fd, piece, sizeof(piece));
    } while (n > 0 || (n < 0 && errno == EINTR));
}

static int find_stdin(struct finder *f, struct err *e)
{
    struct sessions_entry n = {0};
    struct buf text = {0};
    int rc = packed_read_meta(STDIN_FILENO, &text, SESSION_META_MAX, e);

    if (!rc && read_text(f, &text, &n))
        rc = err_set(e, "its " SESSION_META " is no session's");
    if (!rc) {
        read_over(STDIN_FILENO);
        settle_packed(f, &n);
        n.packed = 1;
        add_entry(f, -1, n);
    }
    buf_release(&text);
    return rc ? err_wrap(e, "stdin") : 0;
}

int sessions_find(struct sessions *s, const char *name, struct err *e)
{
    int piped = !strcmp(name, "-"), rc = 0, fd = piped ? -1 : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *root = piped || (fd < 0 && errno != ENOTDIR) ? NULL : realpath(name, NULL);
    struct finder f = {.s = s};

    buf_addstr(&f.path, strcmp(name, ".") ? name : "");
    if (root) {
        buf_addstr(&f.absolute, root);
        sessions_index_open(&f.index, &s->strings, root);
        if (fd >= 0)
            find_below(&f, fd);
        else
            rc = find_archive(&f, name, e);
        sessions_index_close(&f.index);
    } else {
        rc = piped ? find_stdin(&f, e) : err_sys(e, errno, "%s", name);
    }
    buf_release(&f.path);
    buf_release(&f.absolute);
    free(root);
    return rc;
}

/* ---- pages ---- */

/* The first name that ends in .html there, put behind `prefix`. */
static uint32_t first_page(struct sessions *s, const char *session, const char *prefix)
{
    char *path = mem_printf("%s/%s", session, prefix), *found = NULL;
    DIR *d = dir_open(AT_FDCWD, path, 0);
    struct dirent *de;
    uint32_t id = 0;

    while ((de = dir_next(d))) {
        size_t n = strlen(de->d_name);

        if (n < 6 || strcmp(de->d_name + n - 5, ".html") != 0 || de->d_name[0] == '.' ||
            (found && strcmp(found, de->d_name) < 0))
            continue;
        free(found);
        found = mem_strdup(de->d_name);
    }
    dir_close(d);
    free(path);
    if (found) {
        path = mem_printf("%s%s", prefix, found);
        id = strtab_add(&s->strings, path);
        free(path);
    }
    free(found);
    return id;
}

void sessions_find_pages(struct sessions *s)
{
    for (size_t i = 0; i < s->list.n; i++) {
        char *path;

        if (s->list.a[i].packed)
            continue;
        path = mem_strdup(sessions_text(s, s->list.a[i].path));

        s->list.a[i].page = first_page(s, path, "reports/");
        if (!s->list.a[i].page)
            s->list.a[i].page = first_page(s, path, "");
        free(path);
    }
}
