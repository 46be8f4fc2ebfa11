/* SPDX-License-Identifier: Apache-2.0 */
/* Single records of perf.data: those of the kernel as <linux/perf_event.h> has them, perf's own above. */
#ifndef WPROF_EXCHANGE_PERF_DATA_RECORD_H
#define WPROF_EXCHANGE_PERF_DATA_RECORD_H

#include "exchange/import/perf_data_file.h"

/* Kernels and their headers grow: those that older headers lack have their numbers here, too. */
enum perf_record_type {
    PERF_REC_MMAP = 1,
    PERF_REC_LOST = 2,
    PERF_REC_COMM = 3,
    PERF_REC_EXIT = 4,
    PERF_REC_THROTTLE = 5,
    PERF_REC_UNTHROTTLE = 6,
    PERF_REC_FORK = 7,
    PERF_REC_SAMPLE = 9,
    PERF_REC_MMAP2 = 10,
    PERF_REC_AUX = 11,
    PERF_REC_LOST_SAMPLES = 13,
    PERF_REC_SWITCH = 14,
    PERF_REC_SWITCH_CPU_WIDE = 15,
    PERF_REC_KSYMBOL = 17,
    PERF_REC_DEFERRED = 22, /* CALLCHAIN_DEFERRED */
    /* perf's own: tools/lib/perf/include/perf/event.h */
    PERF_REC_USER = 64,
    PERF_REC_HEADER_ATTR = 64,
    PERF_REC_TRACING_DATA = 66,
    PERF_REC_BUILD_ID = 67,
    PERF_REC_FINISHED_ROUND = 68,
    PERF_REC_AUXTRACE = 71,
    PERF_REC_EVENT_UPDATE = 78,
    PERF_REC_FEATURE = 80,
    PERF_REC_COMPRESSED = 81,
    PERF_REC_COMPRESSED2 = 83,
};

enum { PERF_RECORD_HEAD = 8 };

enum perf_mode { PERF_MODE_UNKNOWN, PERF_MODE_KERNEL, PERF_MODE_USER, PERF_MODE_HYPERVISOR, PERF_MODE_GUEST };

struct perf_rec {
    uint32_t type;
    uint16_t misc, size;
    const uint8_t *p; /* of the whole record, header included */
    struct perf_words body;
};

/* The record at p: 0, or -1: its header makes no sense, or it is longer than n. */
int perf_rec_read(struct perf_rec *r, const uint8_t *p, size_t n, int big);
enum perf_mode perf_rec_mode(const struct perf_rec *r);

/* ---- samples ---- */

struct perf_sample {
    uint64_t ip, time, id, period;
    uint32_t pid, tid, cpu;
    int ip_told, tid_told, period_told;
    const uint8_t *chain; /* chain_n words, the innermost first; NULL: not taken */
    uint64_t chain_n;
    const uint8_t *reads; /* reads_n counters' values, with their ids: see perf_sample_value(); NULL: none */
    uint64_t reads_n;
    int has_branches;
    uint64_t regs_abi;   /* of the thread's user side: 0 none, 1 of 32 bits, 2 of 64 */
    const uint8_t *regs; /* a word for each bit of regs_user of its event */
    const uint8_t *stack;
    uint64_t stack_n; /* bytes of it that are the stack's */
};

/* Every field that the event's sample_type names. -1: it ends before they do. */
int perf_sample_read(const struct perf_attr *a, const struct perf_rec *r, struct perf_sample *s);

/* The i-th counter that was read with a sample: its id and value. */
void perf_sample_value(const struct perf_file *f, const struct perf_attr *a, const struct perf_sample *s,
                       uint64_t i, uint64_t *id, uint64_t *value);

/* The index of the event that a record is of, by the id in it; -1: of none that is known. */
int perf_rec_event(const struct perf_file *f, const struct perf_rec *r);

/* When it was, ns; 0: not told. */
uint64_t perf_rec_time(const struct perf_file *f, const struct perf_rec *r);

/* A register of a sample: its bit in regs_user. 0 where it wasn't taken. */
uint64_t perf_sample_reg(const struct perf_file *f, const struct perf_attr *a, const struct perf_sample *s,
                         unsigned bit);

/* ---- mappings ---- */

struct perf_mmap {
    uint32_t pid, tid;
    uint64_t start, len, pgoff;
    uint64_t dev, ino; /* dev as of makedev(3); 0: not told */
    uint8_t build_id[20], build_id_n;
    int exec;
    const char *path; /* borrowed, path_n bytes */
    size_t path_n;
};

/* Of MMAP and MMAP2. -1: it makes no sense. */
int perf_mmap_read(const struct perf_rec *r, struct perf_mmap *m);

#endif
