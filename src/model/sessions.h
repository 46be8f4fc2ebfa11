/* SPDX-License-Identifier: Apache-2.0 */
/* A list of sessions, of what their meta.json says: what `wprof ls` shows. */
#ifndef WPROF_MODEL_SESSIONS_H
#define WPROF_MODEL_SESSIONS_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/strtab.h"

#include <stdint.h>

/* Texts are strings of the list. */
struct sessions_entry {
    uint32_t path; /* as it was found, below the directory that was named */
    uint32_t session_id, host, workload, kind;
    uint32_t hosts; /* of a merged one, all of them, "node1,node2"; else "" */
    uint32_t kinds; /* all of them, "cpu-oncpu,cpu-offcpu" */
    uint32_t state; /* "sealed", "recording", "unsealed" */
    uint32_t command;
    uint32_t page;               /* its HTML page, where one was looked for and found: a path below it */
    double start_ts, duration_s; /* seconds since the epoch, seconds */
    int64_t exit_code;           /* -1: not known */
    uint64_t size;               /* bytes of its artifacts; of an archive its own */
    int packed;                  /* it is an archive */
};

struct sessions {
    struct strtab strings;
    VEC(struct sessions_entry) list;
    struct map seen;     /* absolute paths of them, strings */
    uint64_t denied;     /* directories that could not be read */
    uint64_t too_deep;   /* that were not looked into */
    uint64_t damaged;    /* meta.json that is none ... */
    uint32_t damaged_at; /* ... and the directory of the first: string */
    uint64_t foreign;    /* archives that hold no session */
    uint64_t unread;     /* archives that could not be read */
    uint64_t left_out;   /* sessions beyond the limit */
};

/* Which to keep; "" and NULL: all. Patterns as of the shell: "train*". Of several hosts or
 * kinds one is enough. */
struct sessions_filter {
    const char *host, *workload, *kind;
    double since; /* seconds since the epoch: started then or later; 0: all */
    uint64_t limit;
};

void sessions_release(struct sessions *s);

static inline const char *sessions_text(const struct sessions *s, uint32_t id)
{
    return strtab_get(&s->strings, id);
}

/* Keeps those that the filter takes, newest first, at most its limit; counts the others beyond it. */
void sessions_filter(struct sessions *s, const struct sessions_filter *f);

/* "2h", "7d": that long before `now`; "2026-11-30", "2026-11-30 15:04", "2026-11-30T15:04:05": local time.
 * Into seconds since the epoch. */
int sessions_parse_since(const char *text, double now, double *since, struct err *e);

#endif
