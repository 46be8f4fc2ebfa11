/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of perf.data, in the order of their times. perf writes what each CPU's ring held, one ring
 * after the other, and a FINISHED_ROUND when all have been read: no record that comes later is older than the
 * newest of the round before. Records without a time are delivered at once. Compressed ones are unpacked on
 * the way.
 */
#ifndef WPROF_EXCHANGE_PERF_DATA_STREAM_H
#define WPROF_EXCHANGE_PERF_DATA_STREAM_H

#include "exchange/import/perf_data_record.h"

/* Records of one more file, which has no header. Borrowed. */
struct perf_part {
    const uint8_t *p;
    size_t n;
};

/* Gets each record of the kernel. */
typedef void perf_stream_sink(void *ctx, const struct perf_rec *r);

struct perf_stream_stats {
    uint64_t records, rounds;
    uint64_t bad;          /* of perf's own: they made no sense */
    uint64_t traced;       /* bytes of hardware traces (AUXTRACE) */
    size_t cut_at;         /* where it ends too early, or makes no sense any more; 0: nowhere */
    char damage[256];      /* why; "": it was read to its end */
    uint64_t out_of_order; /* older than what was delivered already */
};

/* Reads all records of f and of the parts, takes over what they say of events and features. Never fails:
 * stats say how far it came. */
void perf_stream_read(struct perf_file *f, const struct perf_part *parts, size_t n, perf_stream_sink *sink,
                      void *ctx, struct perf_stream_stats *stats);

#endif
