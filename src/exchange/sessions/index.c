/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/sessions/index.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "platform/sqlite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of another version, or of no index at all, the file is made anew. */
#define VERSION "2"

static const char schema[] =
    "CREATE TABLE sessions(path TEXT PRIMARY KEY, ino INTEGER, mtime INTEGER, size INTEGER, session_id TEXT,"
    " host TEXT, hosts TEXT, workload TEXT, kind TEXT, kinds TEXT, state TEXT, command TEXT,"
    " start_ts REAL, duration_s REAL, exit_code INTEGER, bytes INTEGER) WITHOUT ROWID;"
    "PRAGMA user_version = " VERSION;

static const char select_rows[] = "SELECT * FROM sessions WHERE path = ?1 OR (path > ?2 AND path < ?3)";

static const char put_row[] = "INSERT OR REPLACE INTO sessions VALUES"
                              " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

/* ---- the file ---- */

static int version_of(struct sqlite *db)
{
    struct err e = {0};
    struct sqlite_rows *r = sqlite_query(db, "PRAGMA user_version", &e);
    int version = r && sqlite_next(r, &e) == 1 ? (int)sqlite_int(r, 0) : -1;

    sqlite_rows_free(r);
    return version;
}

static struct sqlite *open_file(const char *path, struct err *e)
{
    struct sqlite *db = sqlite_file(path, e);

    if (db && version_of(db) == atoi(VERSION) && sqlite_has(db, "sessions", "bytes"))
        return db;
    sqlite_close(db);
    unlink(path);
    db = sqlite_file(path, e);
    if (db && !chmod(path, 0600) && !sqlite_run(db, schema, e)) /* command lines are nobody else's business */
        return db;
    sqlite_close(db);
    return NULL;
}

static struct sqlite *open_index(void)
{
    char *dir = io_cache_dir(), *path = dir ? mem_printf("%s/sessions.db", dir) : NULL;
    struct err e = {0};
    struct sqlite *db = NULL;

    if (dir && !io_mkdirs(dir, 0700, &e))
        db = open_file(path, &e);
    if (!db)
        log_debug("no index of sessions: %s", dir ? e.msg : "there is no cache directory");
    free(path);
    free(dir);
    return db;
}

/* ---- rows ---- */

struct wanted {
    const struct sessions_index *x;
    const char *path;
};

static int same_path(const void *ctx, uint32_t id)
{
    const struct wanted *w = ctx;

    return !strcmp(strtab_get(w->x->strings, w->x->rows.a[id - 1].path), w->path);
}

static uint32_t find(const struct sessions_index *x, const char *path)
{
    struct wanted w = {x, path};

    return index_find(&x->by_path, hash_bytes(path, strlen(path)), same_path, &w);
}

struct sessions_known *sessions_index_find(struct sessions_index *x, const char *path)
{
    uint32_t id = find(x, path);

    return id ? &x->rows.a[id - 1] : NULL;
}

struct sessions_known *sessions_index_add(struct sessions_index *x, const char *path)
{
    struct sessions_known *k = vec_push(&x->rows);

    *k = (struct sessions_known){.path = strtab_add(x->strings, path)};
    index_add(&x->by_path, hash_bytes(path, strlen(path)), (uint32_t)x->rows.n);
    return k;
}

int sessions_index_is_current(const struct sessions_known *k, const struct stat *st)
{
    return k->ino == (int64_t)st->st_ino && k->size == st->st_size &&
           k->mtime == (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void take_row(struct sessions_index *x, struct sqlite_rows *r)
{
    struct sessions_known *k = sessions_index_add(x, sqlite_text(r, 0));
    struct sessions_entry *n = &k->entry;
    uint32_t *const texts[] = {&n->session_id, &n->host,  &n->hosts, &n->workload,
                               &n->kind,       &n->kinds, &n->state, &n->command};

    k->ino = sqlite_int(r, 1);
    k->mtime = sqlite_int(r, 2);
    k->size = sqlite_int(r, 3);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *texts[i] = strtab_add(x->strings, sqlite_text(r, 4 + (int)i));
    n->start_ts = sqlite_real(r, 12);
    n->duration_s = sqlite_real(r, 13);
    n->exit_code = sqlite_int(r, 14);
    n->size = (uint64_t)sqlite_int(r, 15);
}

void sessions_index_open(struct sessions_index *x, struct strtab *strings, const char *root)
{
    char *after = mem_printf("%s/", strcmp(root, "/") ? root : ""), *end = mem_strdup(after);
    struct err e = {0};
    struct sqlite_rows *r;
    int rc = 0;

    *x = (struct sessions_index){.db = open_index(), .strings = strings, .root = root};
    end[strlen(end) - 1] = '/' + 1;
    r = x->db ? sqlite_query(x->db, select_rows, &e) : NULL;
    if (r) {
        sqlite_bind_text(r, 1, root);
        sqlite_bind_text(r, 2, after);
        sqlite_bind_text(r, 3, end);
    }
    while (r && (rc = sqlite_next(r, &e)) == 1)
        if (sqlite_text(r, 0))
            take_row(x, r);
    if (rc < 0)
        log_debug("index of sessions: %s", e.msg);
    sqlite_rows_free(r);
    free(after);
    free(end);
}

/* ---- writing ---- */

static int put(struct sqlite_rows *r, const struct sessions_index *x, const struct sessions_known *k,
               struct err *e)
{
    const struct sessions_entry *n = &k->entry;
    const uint32_t texts[] = {n->session_id, n->host,  n->hosts, n->workload,
                              n->kind,       n->kinds, n->state, n->command};

    sqlite_bind_text(r, 1, strtab_get(x->strings, k->path));
    sqlite_bind_int(r, 2, k->ino);
    sqlite_bind_int(r, 3, k->mtime);
    sqlite_bind_int(r, 4, k->size);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        sqlite_bind_text(r, 5 + (int)i, strtab_get(x->strings, texts[i]));
    sqlite_bind_real(r, 13, n->start_ts);
    sqlite_bind_real(r, 14, n->duration_s);
    sqlite_bind_int(r, 15, n->exit_code);
    sqlite_bind_int(r, 16, (int64_t)n->size);
    return sqlite_next(r, e) < 0 ? -1 : 0;
}

static int write_rows(struct sessions_index *x, struct err *e)
{
    struct sqlite_rows *r = sqlite_query(x->db, put_row, e);
    struct sqlite_rows *d = sqlite_query(x->db, "DELETE FROM sessions WHERE path = ?1", e);
    int rc = r && d ? 0 : -1;

    for (size_t i = 0; i < x->rows.n && !rc; i++) {
        const struct sessions_known *k = &x->rows.a[i];

        if (!k->seen) {
            sqlite_bind_text(d, 1, strtab_get(x->strings, k->path));
            rc = sqlite_next(d, e) < 0 ? -1 : 0;
            sqlite_again(d);
        } else if (k->changed) {
            rc = put(r, x, k, e);
            sqlite_again(r);
        }
    }
    sqlite_rows_free(r);
    sqlite_rows_free(d);
    return rc;
}

void sessions_index_close(struct sessions_index *x)
{
    struct err e = {0};
    int work = 0;

    for (size_t i = 0; i < x->rows.n; i++)
        work |= x->rows.a[i].changed || !x->rows.a[i].seen;
    if (x->db && work &&
        (sqlite_run(x->db, "PRAGMA synchronous = OFF; BEGIN IMMEDIATE", &e) || write_rows(x, &e) ||
         sqlite_run(x->db, "COMMIT", &e)))
        log_debug("index of sessions: %s", e.msg);
    sqlite_close(x->db);
    vec_release(&x->rows);
    index_release(&x->by_path);
}
