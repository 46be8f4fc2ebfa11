/* SPDX-License-Identifier: Apache-2.0 */
/* A store to and from the block log: the tables' new rows first, then the events that use them. */
#ifndef WPROF_MODEL_STORE_LOG_H
#define WPROF_MODEL_STORE_LOG_H

#include "base/err.h"
#include "model/store.h"
#include "model/wlog.h"

#include <stdint.h>

enum {
    STORE_LOG_BLOCK = 1 << 18,     /* rows a block, at most, by this writer */
    STORE_LOG_BLOCK_MAX = 1 << 20, /* rows a block that a reader takes */
    STORE_LOG_BYTES = 16 << 20,    /* string bytes a block, about */
    STORE_LOG_ID = 63,
};

/* How a block of stacks tells its frames. */
enum { STORE_LOG_PLAIN, STORE_LOG_DISTANCES };

/* What of a store lies in the log already. */
struct store_log {
    struct wlog_writer log;
    struct zpacker *trial; /* NULL: columns in their usual coding */
    size_t strings, modules, frames, stacks, names, waits, gpus, origins;
    VEC(struct counter) counters;
    uint64_t events;
};

/* level: zstd's. best: choose each column's coding by trying. */
int store_log_create(struct store_log *w, int fd, int level, int best, struct err *e);
/* Says whose log it is: first of all, at most STORE_LOG_ID bytes. */
int store_log_name(struct store_log *w, const char *session_id, struct err *e);
void store_log_release(struct store_log *w);

/* Writes what is new, tables first. The events leave the store but with keep_events (then call it once only).
 * After a failure the log is whole up to the last block that fit, and the call may be repeated. */
int store_log_flush(struct store_log *w, struct store *s, int keep_events, struct err *e);
int store_log_end(struct store_log *w, const struct store *s, struct err *e);

/* What reading a log gave, besides the store. */
struct store_load {
    int ended;                 /* the end block is there: sealed */
    uint64_t skipped_blocks;   /* of types that this reader does not know */
    uint64_t lost_blocks;      /* of events, damaged and left out: store_log_salvage() */
    uint64_t good_bytes;       /* up to and with the last whole block */
    char id[STORE_LOG_ID + 1]; /* of the session that it is the log of; "": it does not say */
    struct err why;            /* why reading stopped before the file's end; "" when it did not */
};

/* Fills the empty store from a log (see wlog_open). -1 with `e`: no log of ours, or one of a newer format.
 * Damage is no failure: the store then holds what was whole, and load says where it ends. Events come out in
 * time order. */
int store_log_load(struct store *s, int fd, const void *mem, size_t n, struct store_load *load,
                   struct err *e);

/* The same, with events in the order of the log: for those who write them again. */
int store_log_load_as_written(struct store *s, int fd, struct store_load *load, struct err *e);

/* The same, but damaged blocks of events, which no later block builds on, are left out and counted, and
 * reading goes on behind them. */
int store_log_salvage(struct store *s, int fd, struct store_load *load, struct err *e);

/* ---- between the files of this unit ---- */

int store_events_put(struct wlog_payload *p, const struct event *ev, size_t n, struct zpacker *trial);
int store_events_get(struct store *s, struct cursor *c, size_t n);
void store_gpu_put(struct wlog_payload *p, const struct gpu_work *a, size_t n, struct zpacker *trial);
int store_gpu_get(struct store *s, struct cursor *c, size_t n);
void store_origins_put(struct wlog_payload *p, const struct origin *o, size_t n);
int store_origins_get(struct store *s, struct cursor *c, size_t n);
void store_task_origins_put(struct wlog_payload *p, const struct tasks *t, const uint32_t *ids, size_t n,
                            struct zpacker *trial);
int store_task_origins_get(struct store *s, struct cursor *c, size_t n);
void store_task_roots_put(struct wlog_payload *p, const uint32_t *ids, size_t n, struct zpacker *trial);
int store_task_roots_get(struct store *s, struct cursor *c, size_t n);
/* By time, or by kind, task and time. Stable. */
void store_events_sort(struct event *ev, size_t n, int by_time);
void store_log_column(struct wlog_payload *p, const uint64_t *v, size_t n, enum wlog_type type,
                      struct zpacker *trial);

#endif
