/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/nsys_who.h"

#include "base/vec.h"
#include "exchange/import/ranks.h"
#include "model/rank_env.h"

#include <string.h>

/* The text of the first row's first column. NULL: there is none. The caller's. */
static char *text_of(struct sqlite *db, const char *table, const char *sql)
{
    struct err ignored = {0};
    struct sqlite_rows *r = sqlite_has(db, table, NULL) ? sqlite_query(db, sql, &ignored) : NULL;
    const char *text = r && sqlite_next(r, &ignored) > 0 ? sqlite_text(r, 0) : NULL;
    char *out = text && *text ? mem_strdup(text) : NULL;

    sqlite_rows_free(r);
    return out;
}

/* Between "NAME=value" and the next: control characters where there are any, else what no name has. */
static int ends_one(const char *text, char c)
{
    if (strpbrk(text, "\n\r\t"))
        return c > 0 && c < ' ';
    return c == ' ' || c == ';' || c == ',';
}

/* Cuts the text up. */
static long rank_in(char *text)
{
    VEC(char *) env = {0};
    char *copy = mem_strdup(text);
    long rank;

    for (char *p = text, *begin = text;; p++) {
        int last = !*p;

        if (!last && !ends_one(copy, *p))
            continue;
        *p = '\0';
        *vec_push(&env) = begin;
        begin = p + 1;
        if (last)
            break;
    }
    rank = rank_env_of(env.a, env.n);
    vec_release(&env);
    free(copy);
    return rank < RANKS_UNTOLD ? rank : -1;
}

/* mpirun starts all of a machine's under one nsys. */
static void read_processes(struct nsys_who *w, struct sqlite *db)
{
    static const char sql[] = "SELECT globalTid >> 24 & 0xffffff, rank FROM MPI_RANKS WHERE rank >= 0";
    struct err ignored = {0};
    struct sqlite_rows *r = sqlite_has(db, "MPI_RANKS", "globalTid") ? sqlite_query(db, sql, &ignored) : NULL;

    while (r && sqlite_next(r, &ignored) > 0)
        if (sqlite_int(r, 0) > 0 && sqlite_int(r, 1) < RANKS_UNTOLD)
            *map_put(&w->processes, (uint64_t)sqlite_int(r, 0)) = (uint64_t)sqlite_int(r, 1) + 1;
    sqlite_rows_free(r);
}

static void read_mpi(struct nsys_who *w, struct sqlite *db)
{
    static const char sql[] = "SELECT count(DISTINCT rank), min(rank) FROM MPI_RANKS WHERE rank >= 0";
    struct err ignored = {0};
    struct sqlite_rows *r = sqlite_has(db, "MPI_RANKS", "rank") ? sqlite_query(db, sql, &ignored) : NULL;

    if (r && sqlite_next(r, &ignored) > 0) {
        int64_t n = sqlite_int(r, 0), rank = sqlite_int(r, 1);

        w->ranks = n < RANKS_UNTOLD ? (int)n : 0;
        if (n == 1 && rank < RANKS_UNTOLD)
            w->rank = (int)rank;
    }
    sqlite_rows_free(r);
}

void nsys_who_read(struct nsys_who *w, struct sqlite *db)
{
    static const char table[] = "TARGET_INFO_SYSTEM_ENV";
    char *env;

    *w = (struct nsys_who){.rank = -1};
    w->host = text_of(db, table, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'");
    read_mpi(w, db);
    if (w->ranks > 1)
        read_processes(w, db);
    if (w->ranks)
        return;
    env = text_of(db, table, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'DeviceEnvironment'");
    if (env)
        w->rank = (int)rank_in(env);
    free(env);
}

void nsys_who_release(struct nsys_who *w)
{
    free(w->host);
    map_release(&w->processes);
}
