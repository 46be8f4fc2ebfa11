/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The append-only block log, events.wlog: a file header, then blocks {header, payload}. This layer knows
 * bytes, sums and sizes; what a payload means is wlog_tables.c's and wlog_events.c's. Laid down in
 * wprof-session(5).
 *
 *   file header, 16 bytes:  "WPROFLOG", u16 major, u16 minor, u32 CRC-32C of the 12 bytes before
 *   block header, 24 bytes: "WBLK", u16 type, u8 version, u8 coding, u32 raw size, u32 stored size,
 *                           u32 CRC-32C of the stored payload, u32 CRC-32C of the 20 bytes before
 * All little-endian. A block is taken whole or not at all: a log cut anywhere is valid up to its last whole
 * block.
 */
#ifndef WPROF_MODEL_WLOG_H
#define WPROF_MODEL_WLOG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

enum {
    WLOG_MAJOR = 1, /* raised when an old reader would misread; newer ones are refused */
    WLOG_MINOR = 3, /* raised with new block types, which old readers skip and count */
    WLOG_FILE_HEADER = 16,
    WLOG_BLOCK_HEADER = 24,
    WLOG_RAW_MAX = 64 << 20, /* no writer makes larger blocks, no reader takes them */
};

enum wlog_type {
    WLOG_STRINGS = 1,
    WLOG_MODULES,
    WLOG_FRAMES,
    WLOG_STACKS,
    WLOG_TASKS,
    WLOG_NAMES,
    WLOG_COUNTERS,
    WLOG_EVENTS,
    WLOG_END,
    WLOG_WAITS,
    WLOG_SESSION,
    WLOG_GPU,
    WLOG_ORIGINS,
    WLOG_TASK_ORIGINS,
    WLOG_TASK_ROOTS,
    WLOG_TYPES,
};

enum wlog_coding { WLOG_STORED, WLOG_ZSTD };

/* A payload being made. cuts: see zblock.h. */
struct wlog_payload {
    struct buf raw;
    VEC(size_t) cuts;
};

void wlog_payload_clear(struct wlog_payload *p);
void wlog_payload_release(struct wlog_payload *p);

struct wlog_writer {
    int fd;         /* borrowed */
    uint64_t bytes; /* whole blocks so far, the file header included */
    uint64_t blocks;
    int reserves;     /* blocks are written to space that was allocated before */
    uint64_t reserve; /* bytes behind the end */
    struct zpacker *packer;
    struct buf out;
};

/* Writes the file header to the empty file fd. */
int wlog_create(struct wlog_writer *w, int fd, int level, struct err *e);
/* From now on this many bytes stay allocated behind the end, where the file system can do that. 0: they may
 * be used up. A block for which there is no space then fails without a byte written. */
void wlog_reserve(struct wlog_writer *w, uint64_t bytes);

/* Does not close fd. What is allocated behind the end is given back. */
void wlog_writer_release(struct wlog_writer *w);

/* Appends one block. On failure the file is cut back to its last whole block, and -1 with `e`. */
int wlog_append(struct wlog_writer *w, enum wlog_type type, const struct wlog_payload *p, struct err *e);

struct wlog_reader {
    int fd; /* borrowed; -1: from memory */
    const uint8_t *mem;
    uint64_t size, pos; /* pos: after the last whole block */
    struct buf stored, raw;
};

struct wlog_block {
    unsigned type, version;
    const void *p; /* the raw payload, valid until the next wlog_next */
    size_t n;
};

/* fd >= 0: a regular file, read with pread from its start to the size it has now. Otherwise mem[0..n).
 * -1 with `e`: no such log, or a newer major version. A log cut inside its header is an empty one. */
int wlog_open(struct wlog_reader *r, int fd, const void *mem, size_t n, struct err *e);

/* 1: a whole block. 0: the end. -1: what follows r->pos is no whole block (`e` says why). */
int wlog_next(struct wlog_reader *r, struct wlog_block *b, struct err *e);
/* After -1: goes on behind the block, where its header is whole and so its type and size are known. 1: done,
 * the type is in `b`. 0: nothing to go by. */
int wlog_skip(struct wlog_reader *r, struct wlog_block *b);
void wlog_reader_release(struct wlog_reader *r);

#endif
