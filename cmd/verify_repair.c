/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include "product.h"
#include "record_seal.h"

#include "analyze/open.h"
#include "base/io.h"
#include "base/log.h"
#include "base/tree.h"
#include "model/session_extra.h"
#include "model/source_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files that are taken over where they are whole: those that are not made of the log, and where events of it
 * are lost those that were made of it while it had them. */
static const struct kept {
    const char *kind, *path;
    int made;
} kept[] = {
    {"topology", "topology.json", 0}, {"topology-lines", "topology.ndjson", 0},
    {"source", SOURCE_TEXT, 0},       {"folded", "folded.txt", 1},
    {"timeline", "timeline.json", 1}, {"offcpu-folded", "offcpu.folded.txt", 1},
};

static int is_kept(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (!kept[i].made && !strcmp(kept[i].path, path))
            return 1;
    return 0;
}

/* Of a recording that was cut off no file is listed: then what is there is as good as it is. */
static int may_keep(const struct meta *before, int dirfd, const struct kept *k)
{
    for (size_t i = 0; i < before->artifacts.n; i++)
        if (before->artifacts.a[i].path && !strcmp(before->artifacts.a[i].path, k->path))
            return session_check(dirfd, &before->artifacts.a[i]) == SESSION_FILE_OK;
    return !k->made && !faccessat(dirfd, k->path, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* What is taken over: those that are made of the log, or the others. Adds their names. */
static int keep(const struct session *s, int made, struct session_writer *w, struct meta *m,
                struct buf *names, struct err *e)
{
    int dirfd = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kept) && dirfd >= 0 && !rc; i++) {
        struct buf text = {0};

        if (kept[i].made == made && may_keep(&s->meta, dirfd, &kept[i])) {
            rc = io_read_file(dirfd, kept[i].path, &text, e);
            if (!rc)
                rc = session_add_artifact(w, m, kept[i].kind, kept[i].path, buf_str(&text), text.len, e);
            buf_addf(names, "%s%s", names->len ? ", " : "", kept[i].path);
        }
        buf_release(&text);
    }
    if (dirfd >= 0)
        close(dirfd);
    return rc;
}

static int is_lossy(const struct session *s, const struct verified *v)
{
    return v->unreadable || v->load.lost_blocks || s->bad_bytes;
}

/* Of what was lost there may be more in the files that were made of it. */
static int keep_made(const struct session *s, const struct verified *v, struct session_writer *w,
                     struct meta *m, struct buf *made, struct err *e)
{
    if (!is_lossy(s, v))
        return 0;
    if (keep(s, 1, w, m, made, e))
        return -1;
    if (made->len)
        *vec_push(&m->notes) =
            mem_printf("repaired: events are lost; kept as they were made of all: %s", buf_str(made));
    return 0;
}

/* ---- what lies beside ---- */

struct beside {
    const struct session *from;
    struct session_writer *w;
    struct meta *m;
    const struct session_create *how;
    const char *kind;
    uint64_t files;
};

/* Only what has the sum it had is given one: of the others nobody knows whether they are as they were. */
static int is_whole(const struct beside *b, int dirfd, const char *path)
{
    const struct meta *m = &b->from->meta;

    for (size_t i = 0; i < m->artifacts.n; i++)
        if (m->artifacts.a[i].path && !strcmp(m->artifacts.a[i].path, path))
            return *m->artifacts.a[i].sha256 && session_check(dirfd, &m->artifacts.a[i]) == SESSION_FILE_OK;
    return 0;
}

static int copy_beside(void *ctx, int fd, const char *path, struct err *e)
{
    struct beside *b = ctx;
    int dirfd = session_dirfd(b->w), to = tree_create(dirfd, path, b->how->uid, b->how->gid, e), rc;

    if (to < 0)
        return -1;
    rc = tree_copy_fd(fd, to, e) ? err_wrap(e, "%s", path) : 0;
    close(to);
    b->files++;
    if (!rc && is_whole(b, dirfd, path))
        rc = session_note_artifact(b->w, b->m, b->kind, path, e);
    return rc;
}

/* What somebody put into extra/ and reports/: nothing of it can be made again. */
static int keep_beside(struct beside *b, struct err *e)
{
    static const char *const below[] = {SESSION_EXTRA, SESSION_REPORTS};
    int from = open(session_files(b->from), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    struct tree_visit visit = {.file = copy_beside, .ctx = b};
    uint64_t left = 0;

    for (size_t i = 0; i < ARRAY_SIZE(below) && from >= 0 && !rc; i++) {
        b->kind = below[i];
        rc = tree_walk(from, below[i], &visit, &left, e);
    }
    if (from >= 0)
        close(from);
    if (left)
        log_warn("%llu links, devices or too deep directories of extra/ and reports/ are left out",
                 (unsigned long long)left);
    if (b->files && !rc)
        log_info("%llu file%s of extra/ and reports/ came along", (unsigned long long)b->files,
                 b->files == 1 ? "" : "s");
    return rc;
}

/* ---- the new session ---- */

/* meta.json as it was, but for the list of files, and with a word on what happened. */
static int describe(struct meta *m, const struct session *s, const struct verified *v, struct err *e)
{
    struct buf text = {0};
    int rc;

    meta_write(&s->meta, NULL, &text);
    rc = meta_parse(m, buf_str(&text), text.len, e);
    buf_release(&text);
    if (rc)
        return -1;
    for (size_t i = 0; i < m->artifacts.n; i++) {
        free(m->artifacts.a[i].kind);
        free(m->artifacts.a[i].path);
    }
    m->artifacts.n = 0;
    m->end_mono = s->meta.end_mono;
    m->end_ts = s->meta.end_ts;
    m->duration_s = s->meta.duration_s;
    *vec_push(&m->notes) = mem_printf("repaired: %llu events were read; %s", (unsigned long long)v->events,
                                      v->log ? v->log : "its log was whole");
    if (s->agent_events)
        *vec_push(&m->notes) =
            mem_printf("repaired: %llu events of GPUs among them are from agents' logs that "
                       "the recorder had not read",
                       (unsigned long long)s->agent_events);
    if (s->agent_bytes)
        *vec_push(&m->notes) = mem_printf("repaired: %llu bytes of GPU records can't be read: what they tell "
                                          "is missing",
                                          (unsigned long long)s->agent_bytes);
    for (size_t i = 0; i < v->files.n; i++)
        if (v->files.a[i] != SESSION_FILE_OK &&
            (is_kept(s->meta.artifacts.a[i].path) || session_is_extra(&s->meta.artifacts.a[i])) &&
            v->files.a[i] != SESSION_FILE_UNSUMMED)
            *vec_push(&m->notes) =
                mem_printf("repaired: %s was missing or damaged", s->meta.artifacts.a[i].path);
    return 0;
}

/* What was kept, for who has only the old files left: "folded.txt". */
static void say_lost(const struct verified *v, const char *dir, const struct buf *made)
{
    if (!made->len)
        return;
    log_warn("events are lost (%s); kept in %s as they were made of all: %s", v->log, dir, buf_str(made));
    if (strstr(buf_str(made), "folded.txt"))
        log_warn("the stacks as a session of their own: wprof import -o DIR %s/folded.txt", dir);
}

static int write_files(struct session *s, const struct verified *v, struct session_writer *w, struct meta *m,
                       struct buf *made, struct err *e)
{
    struct record_seal products = {.named = 1};
    struct buf others = {0};
    int rc = keep(s, 0, w, m, &others, e) || record_seal_derive(&products, w, m, &s->store, e) ||
                     keep_made(s, v, w, m, made, e)
                 ? -1
                 : 0;

    if (!rc && !s->store.events.n && is_lossy(s, v) && !others.len && !made->len)
        rc = err_set(e, "%s: nothing of it can be saved: %s", s->path, v->log);
    record_seal_release(&products);
    buf_release(&others);
    return rc ? -1 : session_seal(w, m, e);
}

static int write_anew(const struct verify_opts *o, const char *dir, struct session *s,
                      const struct verified *v, struct meta *m, struct err *e)
{
    struct session_create how = {.dir = dir, .force = o->force};
    struct session_writer *w;
    struct buf made = {0};
    struct beside beside;
    int rc;

    if (product_owner(&how.uid, &how.gid, e))
        return -1;
    tasks_touch_all(&s->store.tasks);
    w = session_create(&how, &s->store, m, e);
    if (!w)
        return -1;
    beside = (struct beside){.from = s, .w = w, .m = m, .how = &how};
    rc = keep_beside(&beside, e);
    if (!rc)
        rc = write_files(s, v, w, m, &made, e);
    if (rc)
        session_discard(w);
    else
        session_writer_free(w);
    if (!rc)
        say_lost(v, dir, &made);
    buf_release(&made);
    return rc;
}

/* "run", "run/" and "run.tar.zst" become "run-repaired". */
static char *default_dir(const char *path)
{
    static const char suffix[] = ".tar.zst";
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n > sizeof(suffix) - 1 && !strncmp(path + n - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1))
        n -= sizeof(suffix) - 1;
    return mem_printf("%.*s-repaired", (int)n, path);
}

int verify_repair(const struct verify_opts *o, struct session *s, const struct verified *v, struct err *e)
{
    char *dir = o->output ? mem_strdup(o->output) : default_dir(s->path);
    struct meta m = {0};
    int rc;

    if (!s->sealed)
        open_names(s);
    rc = describe(&m, s, v, e) || write_anew(o, dir, s, v, &m, e) ? -1 : 0;
    if (!rc)
        log_info("repaired: %s", dir);
    meta_release(&m);
    free(dir);
    return rc;
}
