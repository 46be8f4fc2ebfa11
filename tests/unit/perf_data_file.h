/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a perf.data in memory, word by word, of either byte order. */
#ifndef WPROF_TESTS_PERF_DATA_FILE_H
#define WPROF_TESTS_PERF_DATA_FILE_H

#include "base/buf.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

struct pd {
    struct buf b;
    int big;
    size_t record; /* where the record being made begins */
};

#define PD_ID_ALL   (1ull << 18)
#define PD_FREQ     (1ull << 10)
#define PD_ATTR_MAX 112

static inline void pd_put(struct pd *d, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        buf_addch(&d->b, (char)(v >> 8 * (d->big ? size - 1 - i : i)));
}

static inline void pd_u16(struct pd *d, uint64_t v)
{
    pd_put(d, v, 2);
}

static inline void pd_u32(struct pd *d, uint64_t v)
{
    pd_put(d, v, 4);
}

static inline void pd_u64(struct pd *d, uint64_t v)
{
    pd_put(d, v, 8);
}

/* Over what stands at `at`. */
static inline void pd_patch(struct pd *d, size_t at, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        d->b.data[at + i] = (char)(v >> 8 * (d->big ? size - 1 - i : i));
}

/* A text and its NUL, padded to words. */
static inline void pd_text(struct pd *d, const char *s)
{
    buf_add(&d->b, s, strlen(s) + 1);
    while ((d->b.len - d->record) % 8)
        buf_addch(&d->b, 0);
}

static inline void pd_begin(struct pd *d, uint32_t type, uint16_t misc)
{
    d->record = d->b.len;
    pd_u32(d, type);
    pd_u16(d, misc);
    pd_u16(d, 0);
}

static inline void pd_end(struct pd *d)
{
    pd_patch(d, d->record + 6, d->b.len - d->record, 2);
}

/* Flags are bit fields: where bytes begin at the other end, so do they. */
static inline void pd_attr(struct pd *d, uint64_t config, uint64_t sample_type, uint64_t flags,
                           uint64_t read_format, uint64_t period)
{
    size_t at;

    pd_u32(d, PERF_TYPE_SOFTWARE);
    pd_u32(d, PD_ATTR_MAX);
    pd_u64(d, config);
    pd_u64(d, period);
    pd_u64(d, sample_type);
    pd_u64(d, read_format);
    at = d->b.len;
    pd_u64(d, 0);
    for (unsigned bit = 0; bit < 64; bit++)
        if (flags >> bit & 1)
            d->b.data[at + bit / 8] |= (char)(1u << (d->big ? 7 - bit % 8 : bit % 8));
    for (int i = 0; i < 4; i++)
        pd_u64(d, 0);           /* wakeup .. branch_sample_type */
    pd_u64(d, 1 << 7 | 1 << 8); /* regs_user: SP, IP */
    pd_u64(d, 0);               /* stack_user, clockid */
    pd_u64(d, 1);               /* regs_intr: one */
    pd_u64(d, 0);               /* the rest */
}

/* The header of a file with one event; records follow. */
static inline void pd_file(struct pd *d, uint64_t sample_type, uint64_t flags, uint64_t read_format,
                           uint64_t period)
{
    buf_add(&d->b, d->big ? "2ELIFREP" : "PERFILE2", 8);
    pd_u64(d, 104);
    pd_u64(d, PD_ATTR_MAX + 16);
    pd_u64(d, 104);
    pd_u64(d, PD_ATTR_MAX + 16); /* events */
    pd_u64(d, 104 + PD_ATTR_MAX + 16);
    pd_u64(d, 0); /* records: pd_finish() */
    for (int i = 0; i < 6; i++)
        pd_u64(d, 0); /* event types, features */
    pd_attr(d, PERF_COUNT_SW_CPU_CLOCK, sample_type, flags, read_format, period);
    pd_u64(d, 0); /* no ids */
    pd_u64(d, 0);
}

enum { PD_DATA = 104 + PD_ATTR_MAX + 16 };

/* The records end here. */
static inline void pd_finish(struct pd *d)
{
    pd_patch(d, 48, d->b.len - PD_DATA, 8);
}

static inline void pd_pipe(struct pd *d)
{
    buf_add(&d->b, d->big ? "2ELIFREP" : "PERFILE2", 8);
    pd_u64(d, 16);
}

/* ---- records with a trailer of TID and TIME ---- */

static inline void pd_trailer(struct pd *d, uint32_t pid, uint32_t tid, uint64_t time)
{
    pd_u32(d, pid);
    pd_u32(d, tid);
    pd_u64(d, time);
    pd_end(d);
}

static inline void pd_comm(struct pd *d, uint32_t pid, uint32_t tid, const char *comm, int exec,
                           uint64_t time)
{
    pd_begin(d, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
    pd_u32(d, pid);
    pd_u32(d, tid);
    pd_text(d, comm);
    pd_trailer(d, pid, tid, time);
}

static inline void pd_mmap(struct pd *d, uint32_t pid, uint64_t start, uint64_t len, uint64_t pgoff,
                           const char *path, uint16_t misc, uint64_t time)
{
    pd_begin(d, PERF_RECORD_MMAP, misc);
    pd_u32(d, pid);
    pd_u32(d, pid);
    pd_u64(d, start);
    pd_u64(d, len);
    pd_u64(d, pgoff);
    pd_text(d, path);
    pd_trailer(d, pid, pid, time);
}

static inline void pd_fork(struct pd *d, uint32_t pid, uint32_t parent, uint32_t tid, uint32_t from,
                           uint64_t time)
{
    pd_begin(d, PERF_RECORD_FORK, 0);
    pd_u32(d, pid);
    pd_u32(d, parent);
    pd_u32(d, tid);
    pd_u32(d, from);
    pd_u64(d, time);
    pd_trailer(d, pid, tid, time);
}

#define PD_TYPE                                                                                              \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

/* A sample of PD_TYPE. */
static inline void pd_sample(struct pd *d, uint32_t pid, uint32_t tid, uint64_t time, uint64_t period,
                             const uint64_t *chain, size_t n)
{
    pd_begin(d, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    pd_u64(d, n ? chain[n - 1] : 0x1111);
    pd_u32(d, pid);
    pd_u32(d, tid);
    pd_u64(d, time);
    pd_u64(d, period);
    pd_u64(d, n);
    for (size_t i = 0; i < n; i++)
        pd_u64(d, chain[i]);
    pd_end(d);
}

static inline void pd_round(struct pd *d)
{
    pd_begin(d, 68, 0);
    pd_end(d);
}

#endif
