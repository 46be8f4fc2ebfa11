/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data as such: its header, the events that were recorded, where its records lie, what it says of the
 * machine. The layout is that of Linux' tools/perf/Documentation/perf.data-file-format.txt and of
 * <linux/perf_event.h>. Files of either byte order are read; everything in them may be hostile.
 */
#ifndef WPROF_EXCHANGE_PERF_DATA_FILE_H
#define WPROF_EXCHANGE_PERF_DATA_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

/* ---- words of either byte order ---- */

struct perf_words {
    struct cursor c;
    int big; /* the file's words are big-endian */
};

static inline struct perf_words perf_words_init(const void *p, size_t n, int big)
{
    return (struct perf_words){cursor_init(p, n), big};
}

static inline size_t perf_words_left(const struct perf_words *w)
{
    return (size_t)(w->c.end - w->c.p);
}

static inline uint64_t perf_u64(struct perf_words *w)
{
    uint64_t v = cursor_uint(&w->c, 8);

    return w->big ? __builtin_bswap64(v) : v;
}

static inline uint32_t perf_u32(struct perf_words *w)
{
    uint32_t v = (uint32_t)cursor_uint(&w->c, 4);

    return w->big ? __builtin_bswap32(v) : v;
}

static inline uint16_t perf_u16(struct perf_words *w)
{
    uint16_t v = (uint16_t)cursor_uint(&w->c, 2);

    return w->big ? __builtin_bswap16(v) : v;
}

/* A NUL-terminated text that may fill the rest: borrowed, *n without the NUL. */
const char *perf_text(struct perf_words *w, size_t *n);

/* ---- events ---- */

/* Bits of perf_event_attr's flags word, from its least significant one. */
enum {
    PERF_ATTR_FREQ = 10,
    PERF_ATTR_SAMPLE_ID_ALL = 18,
};

struct perf_attr {
    uint32_t type, size;
    uint64_t config, period; /* period: or, with PERF_ATTR_FREQ, the frequency */
    uint64_t sample_type, read_format, flags;
    uint64_t branch_type, regs_user, regs_intr;
    char *name; /* owned; NULL: not told yet */
};

static inline int perf_attr_flag(const struct perf_attr *a, unsigned bit)
{
    return (int)(a->flags >> bit & 1);
}

/* What HEADER_BUILD_ID and its record say of a file. */
struct perf_build_id {
    char *path; /* owned */
    uint8_t id[20];
    uint8_t n;
};

/* What the file tells of the machine and the recording; texts are owned, NULL: not told. */
struct perf_about {
    char *host, *release, *version, *arch, *cpu;
    char *command;
    uint32_t ncpus;
    int wall_told; /* CLOCK_DATA: at clock_ns of the samples' clock it was wall_ns since the epoch */
    uint64_t wall_ns, clock_ns;
};

struct perf_file {
    const uint8_t *p; /* borrowed */
    size_t n;
    int big, piped;
    size_t data_at, data_end; /* where the records lie */
    int unfinished;           /* perf was killed: there is nothing behind the records */
    VEC(struct perf_attr) attrs;
    struct map by_id; /* of a sample -> index in attrs + 1 */
    VEC(struct perf_build_id) build_ids;
    struct map by_path; /* hash of a build id's path -> index in build_ids + 1: the first of it */
    struct perf_about about;
    int compressed, in_directory; /* HEADER_COMPRESSED, HEADER_DIR_FORMAT */
    uint64_t bad;                 /* sections that made no sense */
};

/* Is p[0..n) the beginning of one? */
int perf_file_is(const void *p, size_t n);

/* Reads what stands before and behind the records; p is borrowed. 0, or -1 with `e`: no perf.data, or one
 * that can't be used. Release it in both cases. */
int perf_file_open(struct perf_file *f, const void *p, size_t n, struct err *e);
void perf_file_release(struct perf_file *f);

/* Records that stand for parts of the header where the file was a pipe: bodies without their headers. -1:
 * they make no sense. */
int perf_file_attr(struct perf_file *f, struct perf_words *w);
int perf_file_event_update(struct perf_file *f, struct perf_words *w);
int perf_file_build_id(struct perf_file *f, const uint8_t *record, size_t n);
int perf_file_feature(struct perf_file *f, uint64_t feature, const uint8_t *p, size_t n);

/* The index of the event that a sample's id names; -1: it is of none. */
int perf_file_event(const struct perf_file *f, uint64_t id);

/* The build id that was written down for a path; NULL: none. */
const struct perf_build_id *perf_file_find_build_id(const struct perf_file *f, const char *path);

/* What an event is called; valid until the events change. */
const char *perf_file_event_name(struct perf_file *f, size_t event);

#endif
