/* SPDX-License-Identifier: Apache-2.0 */
/* A session on disk: meta.json, events.wlog, and what is derived from them. Its formats: wprof-session(5). */
#ifndef WPROF_MODEL_SESSION_H
#define WPROF_MODEL_SESSION_H

#include "base/err.h"
#include "base/vec.h"
#include "model/store.h"

#include <stdint.h>
#include <sys/types.h>

struct meta_collector {
    char *name;   /* "cpu" */
    char *state;  /* "on", "off", "failed", "unavailable" */
    char *detail; /* why, or how: "cpu-clock: no PMU here" */
};

struct meta_artifact {
    char *kind, *path; /* "folded", "folded.txt" */
    uint64_t size;
    char sha256[65];
};

/* meta.json. Strings are owned; NULL or 0 where unknown. */
struct meta {
    char *session_id;   /* 20260716-153012-abc123 */
    int schema_version; /* 1 */
    char *state;        /* "recording", "sealed"; readers say "unsealed" when the recorder is gone */
    char *host, *workload, *kind; /* kind: "fused", "cpu-oncpu", "imported" ... */
    VEC(char *) hosts;            /* of a merged session, by the names that its tasks have; none: `host` */
    VEC(char *) sessions;         /* of a merged session, the ids of all that are in it */
    VEC(char *) barriers;         /* kinds of its marks that are barriers, besides the usual ones */
    VEC(char *) kinds, languages, command, notes;
    int64_t pid;
    double start_ts, end_ts, duration_s; /* CLOCK_REALTIME seconds since the epoch */
    uint64_t start_mono, end_mono;       /* CLOCK_MONOTONIC ns of the same two instants */
    uint64_t realtime_offset;            /* CLOCK_REALTIME - CLOCK_MONOTONIC at the start, ns */
    char *agent_ver, *machine, *kernel, *os, *cpu_model, *cwd, *user;
    uint32_t ncpus;
    char *clock_id;     /* boot and time namespace: sessions that share it share CLOCK_MONOTONIC */
    char *event;        /* "cpu-clock", "cycles" ... */
    uint64_t frequency; /* Hz */
    char *tier;         /* "A" */
    char *end_reason;   /* "command ended", "duration", "max-size", "interrupted", "disk full" */
    int64_t exit_code;  /* the command's, -1 unknown; 128 + n for a signal */
    VEC(struct meta_collector) collectors;
    VEC(struct meta_artifact) artifacts;
    VEC(char *) env; /* the listed few: "RANK=0" */
    char *damage; /* readers: what is wrong with the log of a session that meta.json calls sealed; not written
                   */
};

void meta_release(struct meta *m);
void meta_add_language(struct meta *m, const char *name); /* once each */
int meta_is_imported(const struct meta *m);               /* others recorded it: how well is not known */
int meta_parse(struct meta *m, const char *text, size_t n, struct err *e);
/* The text of meta.json; store (may be NULL) gives counters and quality. */
void meta_write(const struct meta *m, const struct store *s, struct buf *out);
struct json_writer;
void meta_artifact_write(const struct meta_artifact *a,
                         struct json_writer *w); /* an element of "artifacts" */

/* ---- writing ---- */

struct session_writer;

/* A fresh session_id for this instant, "20260716-153012-abc123" (local time, random), and the default
 * directory made of it: "wprof-<workload>-<id>", the workload's basename with all but [A-Za-z0-9._-]
 * replaced; owned by the caller. */
void session_new_id(char id[24], double realtime_s);
char *session_default_dir(const char *workload, const char *id);

struct session_create {
    const char *dir; /* made with mode 0700 */
    int force;       /* replace an existing wprof session, and nothing else */
    uid_t uid;       /* who owns the files: (uid_t)-1 leaves them */
    gid_t gid;
    uint64_t max_size; /* bytes of events.wlog, 0: unbounded */
    int keep_room;     /* take disk space ahead, so that on a full disk the end can still be said */
};

/* Makes the directory and events.wlog, writes meta.json. Refuses an existing directory that is not empty. The
 * store is borrowed and must outlive the writer. NULL with `e` set on failure. */
struct session_writer *session_create(const struct session_create *how, struct store *s, const struct meta *m,
                                      struct err *e);
int session_dirfd(const struct session_writer *w);
int session_is_gone(const struct session_writer *w); /* somebody removed the directory */
const char *session_path(const struct session_writer *w);

/* Writes what is new in the store: strings, modules, frames, stacks, changed tasks, names, counters, then the
 * events, which leave the store. One call is one or more whole blocks. 1: max_size reached (nothing more is
 * taken); -1: `e`. */
int session_flush(struct session_writer *w, struct err *e);
uint64_t session_bytes(const struct session_writer *w);

/* Nothing more is recorded: what space was kept may be used up now. */
void session_last_words(struct session_writer *w);

int session_write_meta(struct session_writer *w, const struct meta *m, struct err *e); /* by rename */

/* A derived file, owned like the others: kind and path also enter m->artifacts, with size and sum. */
int session_add_artifact(struct session_writer *w, struct meta *m, const char *kind, const char *path,
                         const void *p, size_t n, struct err *e);

/* The same of a file that is there already. */
int session_note_artifact(struct session_writer *w, struct meta *m, const char *kind, const char *path,
                          struct err *e);

/*
 * Reads all events written so far back into the store, for what is derived at the end (fold_store). Flush
 * first. After it only session_add_artifact, session_write_meta and session_seal may follow. Returns 1 where
 * there are too many to hold: the store's events are the caller's from then on, who puts sums there (event.h:
 * value); they serve the figures in meta.json and are not written.
 */
int session_reload(struct session_writer *w, struct err *e);

/*
 * A new log takes the old one's place: all that is in `s`, the events too, which stay there. `s` is the
 * writer's store, or becomes it at once (its content is moved there). For those who drop events that are too
 * old. -1 with `e`: the old log is as it was.
 */
int session_renew(struct session_writer *w, struct store *s, struct err *e);
/* The events in the store are all that the sealed session is to have, and the log is made anew of them and of
 * what they need. Like session_reload(), it is followed by sealing only. */
void session_only(struct session_writer *w);

/* Last flush, the log rewritten smaller where it came in many pieces, end block, sum of events.wlog,
 * meta.json with state "sealed". */
int session_seal(struct session_writer *w, struct meta *m, struct err *e);
void session_writer_free(struct session_writer *w);
/* The same, and removes what the writer made: its files, and the directory where it was not there before. */
void session_discard(struct session_writer *w);

/* ---- reading ---- */

struct session {
    char *path;     /* as it was named */
    char *unpacked; /* the directory with its files, where `path` is an archive: removed with the session */
    int sweeper;    /* of that: a descriptor (platform/sweeper.h) + 1, closed behind it; 0: none */
    struct meta meta;
    struct store store;
    int as_written;          /* set before session_load(): events may be in any order */
    int sealed;              /* 0: cut off, or still being recorded */
    uint64_t skipped_blocks; /* unknown types, of a newer minor version */
    uint64_t bad_bytes;      /* after the last whole block */
    uint64_t agent_bytes;    /* of logs of GPU agents, which a recorder that was killed has left unread */
    uint64_t agent_events;   /* that were then read of them (collect/gpu_rest.h) */
};

/*
 * Opens a session's directory; path NULL takes the newest under the current directory (the caller says which:
 * s->path). Refuses, with what it is and what was expected: a missing path, a folder of sessions (names
 * some), another kind of directory or file, a newer major version. A cut-off log loads up to its last whole
 * block.
 */
int session_open(struct session *s, const char *path, struct err *e);
/* The same of meta.json alone: the store is empty, and `sealed` 0. */
int session_open_meta(struct session *s, const char *path, struct err *e);
/* The log of a session that session_open_meta() opened. -1 with `e`: it is released. */
int session_load(struct session *s, struct err *e);
/* Events were added to the store of one that is not sealed: they get their order, and the session its end. */
void session_took(struct session *s);
void session_release(struct session *s);

static inline const char *session_files(const struct session *s) /* the directory that they lie in */
{
    return s->unpacked ? s->unpacked : s->path;
}

/* ---- checking ---- */

/* Unsummed: meta.json does not list it (session_extra.h). */
enum session_file { SESSION_FILE_OK, SESSION_FILE_MISSING, SESSION_FILE_CHANGED, SESSION_FILE_UNSUMMED };

/* As session_load(), but all that can still be read is taken: whole blocks behind a damaged one of events,
 * too, and of any log that is there. *load (store_log.h) says what was lost. -1 with `e`: there is no log;
 * the session stays as session_open_meta() left it. */
struct store_load;
int session_salvage(struct session *s, struct store_load *load, struct err *e);

/* Whether a file that meta.json lists has the size and the sum that it gives. */
enum session_file session_check(int dirfd, const struct meta_artifact *a);

#endif
