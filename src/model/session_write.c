/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"
#include "base/io.h"
#include "model/session.h"
#include "model/session_dir.h"
#include "model/spare.h"
#include "model/store_compact.h"
#include "model/store_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOG_RESERVE = 256 << 10, /* bytes: names of frames, of which a large run has some 100 KB */
    META_SPARE = 64 << 10,   /* bytes: meta.json, a few KB */
    FLUSH_LEVEL = 3,         /* zstd while recording */
    COMPACT_LEVEL = 15,      /* once, at sealing */
    COMPACT_MAX =
        64 << 20,         /* bytes of log beyond which sealing does not rewrite it: that would take seconds */
    RELOAD_MAX = 1 << 20, /* events: 48 MB of them, twice while the log is rewritten */
};

struct session_writer {
    char *path, *id; /* id NULL: the session has none */
    int dirfd, fd;
    int spare; /* for meta.json, or -1 */
    uid_t uid;
    gid_t gid;
    uint64_t max_size;
    uint64_t flushes;  /* that wrote something */
    int made;          /* the directory is ours */
    VEC(char *) files; /* that are ours, by name */
    int reloaded, full;
    int ended; /* the end block is written */
    int only;  /* the log holds events that are to be left out */
    int sums;  /* the store's events are the caller's sums: not to be written */
    struct store *store;
    struct store_log log;
};

/* ---- the directory ---- */

static int dir_take_over(int dirfd, const char *dir, int force, struct err *e)
{
    int recording;

    if (dir_is_empty(dirfd))
        return 0;
    if (!force)
        return err_set(e, "%s exists and is not empty (another -o, or --force to replace a wprof session)",
                       dir);
    if (!session_dir_holds(dirfd, &recording))
        return err_set(e, "%s is not empty and no wprof session: --force replaces nothing else", dir);
    if (recording)
        return err_set(e, "%s is being recorded by another wprof", dir);
    return session_dir_clear(dirfd, e) ? err_wrap(e, "%s", dir) : 0;
}

static int owned(const struct session_writer *w, int fd, const char *what, struct err *e)
{
    if (w->uid == (uid_t)-1 && w->gid == (gid_t)-1)
        return 0;
    return fchown(fd, w->uid, w->gid) ? err_sys(e, errno, "%s: chown to %u:%u", what, w->uid, w->gid) : 0;
}

static int dir_make(struct session_writer *w, int force, struct err *e)
{
    int made = *w->path && !mkdir(w->path, 0700);
    struct stat st;

    if (!*w->path)
        return err_set(e, "the session's directory has an empty name (-o DIR)");
    if (!made && errno != EEXIST)
        return err_sys(e, errno, "mkdir %s", w->path);
    w->dirfd = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    w->made = made;
    if (w->dirfd < 0 && !lstat(w->path, &st) && S_ISLNK(st.st_mode))
        return err_set(e, "%s is a symlink: a session is not written through one (name the directory itself)",
                       w->path);
    if (w->dirfd < 0)
        return err_sys(e, errno == ELOOP ? ENOTDIR : errno, "%s", w->path);
    if (!made && dir_take_over(w->dirfd, w->path, force, e))
        return -1;
    if (fchmod(w->dirfd, 0700))
        return err_sys(e, errno, "%s: chmod 0700", w->path);
    return owned(w, w->dirfd, w->path, e);
}

static void made_file(struct session_writer *w, const char *name)
{
    for (size_t i = 0; i < w->files.n; i++)
        if (!strcmp(w->files.a[i], name))
            return;
    *vec_push(&w->files) = mem_strdup(name);
}

/* Readers ask for this lock to tell a recording from what a killed recorder left. Where locks don't work, so
 * be it. */
static void lock_log(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    fcntl(fd, F_OFD_SETLK, &l);
}

static int log_begin(struct store_log *log, const struct session_writer *w, int fd, int level, int best,
                     struct err *e)
{
    if (store_log_create(log, fd, level, best, e))
        return -1;
    return w->id ? store_log_name(log, w->id, e) : 0;
}

static int log_open(struct session_writer *w, const char *name, struct err *e)
{
    int fd = openat(w->dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_sys(e, errno, "%s/%s", w->path, name);
    made_file(w, name);
    if (owned(w, fd, name, e)) {
        close(fd);
        return -1;
    }
    lock_log(fd);
    return fd;
}

struct session_writer *session_create(const struct session_create *how, struct store *s, const struct meta *m,
                                      struct err *e)
{
    struct session_writer *w = mem_calloc(1, sizeof(*w));
    size_t n = strlen(how->dir);

    while (n > 1 && how->dir[n - 1] == '/')
        n--; /* "dir/" would follow a symlink */
    *w = (struct session_writer){.path = mem_strndup(how->dir, n),
                                 .id = m->session_id ? mem_strdup(m->session_id) : NULL,
                                 .dirfd = -1,
                                 .fd = -1,
                                 .spare = -1,
                                 .uid = how->uid,
                                 .gid = how->gid,
                                 .max_size = how->max_size,
                                 .store = s};
    if (dir_make(w, how->force, e) || session_write_meta(w, m, e) ||
        (w->fd = log_open(w, SESSION_LOG, e)) < 0)
        goto fail;
    if (log_begin(&w->log, w, w->fd, FLUSH_LEVEL, 0, e)) {
        err_wrap(e, "%s/%s", w->path, SESSION_LOG);
        goto fail;
    }
    if (how->keep_room) {
        wlog_reserve(&w->log.log, LOG_RESERVE);
        w->spare = spare_open(w->dirfd, META_SPARE);
    }
    return w;
fail:
    session_discard(w);
    return NULL;
}

void session_writer_free(struct session_writer *w)
{
    if (!w)
        return;
    store_log_release(&w->log);
    if (w->fd >= 0)
        close(w->fd);
    if (w->dirfd >= 0)
        close(w->dirfd);
    if (w->spare >= 0)
        close(w->spare);
    for (size_t i = 0; i < w->files.n; i++)
        free(w->files.a[i]);
    vec_release(&w->files);
    free(w->path);
    free(w->id);
    free(w);
}

void session_discard(struct session_writer *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->files.n; i++)
        unlinkat(w->dirfd, w->files.a[i], 0);
    if (w->made)
        rmdir(w->path);
    session_writer_free(w);
}

int session_dirfd(const struct session_writer *w)
{
    return w->dirfd;
}

int session_is_gone(const struct session_writer *w)
{
    struct stat st;

    return !fstat(w->dirfd, &st) && !st.st_nlink;
}

const char *session_path(const struct session_writer *w)
{
    return w->path;
}

uint64_t session_bytes(const struct session_writer *w)
{
    return w->log.log.bytes;
}

/* ---- files ---- */

static int replace(struct session_writer *w, const char *path, const void *p, size_t n, struct err *e)
{
    if (io_replace_file_owned(w->dirfd, path, p, n, w->uid, w->gid, e))
        return err_wrap(e, "%s", w->path);
    made_file(w, path);
    return 0;
}

int session_write_meta(struct session_writer *w, const struct meta *m, struct err *e)
{
    struct buf text = {0};
    int rc;

    meta_write(m, w->store, &text);
    rc = replace(w, SESSION_META, text.data, text.len, e);
    if (rc && w->spare >= 0)
        rc = spare_write(&w->spare, w->dirfd, SESSION_META, text.data, text.len, w->uid, w->gid, e);
    buf_release(&text);
    return rc;
}

static int enter_artifact(struct session_writer *w, struct meta *m, const char *kind, const char *path,
                          struct err *e)
{
    struct meta_artifact a = {0};
    size_t i = 0;

    if (io_sha256(w->dirfd, path, a.sha256, &a.size, e))
        return err_wrap(e, "%s", w->path);
    a.kind = mem_strdup(kind);
    a.path = mem_strdup(path);
    while (i < m->artifacts.n && strcmp(m->artifacts.a[i].path, path))
        i++;
    if (i == m->artifacts.n) {
        *vec_push(&m->artifacts) = a;
        return 0;
    }
    free(m->artifacts.a[i].kind);
    free(m->artifacts.a[i].path);
    m->artifacts.a[i] = a;
    return 0;
}

int session_add_artifact(struct session_writer *w, struct meta *m, const char *kind, const char *path,
                         const void *p, size_t n, struct err *e)
{
    if (replace(w, path, p, n, e))
        return -1;
    return enter_artifact(w, m, kind, path, e);
}

int session_note_artifact(struct session_writer *w, struct meta *m, const char *kind, const char *path,
                          struct err *e)
{
    made_file(w, path);
    return enter_artifact(w, m, kind, path, e);
}

/* ---- the log ---- */

int session_flush(struct session_writer *w, struct err *e)
{
    uint64_t before = w->log.log.blocks;
    int rc;

    if (w->full)
        return 1;
    rc = store_log_flush(&w->log, w->store, 0, e);
    w->flushes += w->log.log.blocks > before;
    if (rc)
        return err_wrap(e, "%s/%s (whole up to %llu bytes)", w->path, SESSION_LOG,
                        (unsigned long long)w->log.log.bytes);
    w->full = w->max_size && w->log.log.bytes >= w->max_size;
    return w->full;
}

void session_last_words(struct session_writer *w)
{
    wlog_reserve(&w->log.log, 0);
}

int session_reload(struct session_writer *w, struct err *e)
{
    struct store_load load;
    struct store read = {0};

    if (w->reloaded)
        return w->sums;
    if (w->log.events > RELOAD_MAX) {
        w->reloaded = w->sums = 1;
        return 1;
    }
    if (w->log.events) {
        if (store_log_load(&read, w->fd, NULL, 0, &load, e)) {
            store_release(&read);
            return err_wrap(e, "%s/%s", w->path, SESSION_LOG);
        }
        /* Events that a full disk kept from being written are still in the store: keep them too. */
        for (size_t i = 0; i < w->store->events.n; i++)
            *vec_push(&read.events) = w->store->events.a[i];
        store_replace_events(w->store, &read);
        store_events_sort(w->store->events.a, w->store->events.n, 1);
        store_release(&read);
    }
    w->reloaded = 1;
    return 0;
}

enum rewrite { REWRITE_GOES_ON, REWRITE_ENDS };

/* The store into a new log that then takes the old one's place. A failure leaves the old one as it was. */
static int rewrite(struct session_writer *w, struct store *s, enum rewrite how, struct err *e)
{
    static const char tmp[] = SESSION_LOG ".tmp";
    int ends = how == REWRITE_ENDS, fd, rc = -1;
    struct store_log log = {0};

    unlinkat(w->dirfd, tmp, 0);
    fd = log_open(w, tmp, e);
    if (fd < 0)
        return -1;
    if (!log_begin(&log, w, fd, ends ? COMPACT_LEVEL : FLUSH_LEVEL, ends, e) &&
        !store_log_flush(&log, s, 1, e) && (!ends || !store_log_end(&log, s, e)))
        rc = renameat(w->dirfd, tmp, w->dirfd, SESSION_LOG) ? err_sys(e, errno, "rename") : 0;
    if (rc) {
        store_log_release(&log);
        unlinkat(w->dirfd, tmp, 0);
        close(fd);
        return err_wrap(e, "%s/%s", w->path, tmp);
    }
    store_log_release(&w->log);
    close(w->fd);
    w->log = log;
    w->fd = fd;
    return 0;
}

/* Its rows in the order that compresses best. */
static int rewrite_smaller(struct session_writer *w, struct err *e)
{
    struct store small = {0};
    int rc;

    if (w->only)
        store_compact_used(&small, w->store);
    else
        store_compact(&small, w->store);
    rc = rewrite(w, &small, REWRITE_ENDS, e);
    store_release(&small);
    return rc;
}

int session_renew(struct session_writer *w, struct store *s, struct err *e)
{
    uint64_t reserve = w->log.log.reserve;

    tasks_touch_all(&s->tasks);
    if (rewrite(w, s, REWRITE_GOES_ON, e))
        return -1;
    wlog_reserve(&w->log.log, reserve);
    return 0;
}

void session_only(struct session_writer *w)
{
    w->only = w->reloaded = 1;
}

/* Only the tables; the events are on disk already. */
static int flush_tables(struct session_writer *w, struct err *e)
{
    struct store *s = w->store;
    size_t n = s->events.n;
    int rc;

    s->events.n = 0;
    rc = store_log_flush(&w->log, s, 0, e);
    s->events.n = n;
    return rc;
}

static int is_to_be_rewritten(const struct session_writer *w)
{
    return w->only ||
           (w->flushes > 1 && w->log.log.bytes <= COMPACT_MAX && !w->sums && w->log.events <= RELOAD_MAX);
}

static int finish_log(struct session_writer *w, struct err *e)
{
    struct err why = {0};
    int rc;

    if (is_to_be_rewritten(w) && !session_reload(w, &why) && !rewrite_smaller(w, &why)) {
        w->ended = 1;
        return 0;
    }
    if (w->only) /* the old log is of another store: it opens as it was last written */
        return why.msg[0] ? err_set(e, "%s", why.msg) : -1;
    rc = w->reloaded ? flush_tables(w, e) : store_log_flush(&w->log, w->store, 1, e);
    /* A full disk may still have room for the few bytes that say: this is all. */
    if (store_log_end(&w->log, w->store, rc ? &why : e))
        return -1;
    w->ended = 1;
    return rc;
}

int session_seal(struct session_writer *w, struct meta *m, struct err *e)
{
    struct err ignored = {0};
    int rc;

    session_last_words(w);
    if (!w->reloaded && w->flushes)
        session_flush(w, &ignored); /* what it could not write, finish_log tries again */
    rc = finish_log(w, e);
    if (rc)
        err_wrap(e, "%s/%s", w->path, SESSION_LOG);
    free(m->state);
    m->state = mem_strdup(w->ended ? "sealed" : "unsealed");
    if (enter_artifact(w, m, "events", SESSION_LOG, rc ? &ignored : e))
        rc = -1;
    if (session_write_meta(w, m, rc ? &ignored : e))
        rc = -1;
    return rc;
}
