/* SPDX-License-Identifier: Apache-2.0 */
/* From the bytes of a perf.data to samples in a store. */
#ifndef WPROF_EXCHANGE_PERF_DATA_READER_H
#define WPROF_EXCHANGE_PERF_DATA_READER_H

#include "exchange/import/import.h"
#include "exchange/import/perf_data_stream.h"

struct perf_source {
    const void *p; /* the file, borrowed */
    size_t n;
    const struct perf_part *parts; /* more records, of perf record --threads; borrowed */
    size_t parts_n;
    double written;    /* when, s since the epoch; 0: not known */
    const char *event; /* the one to take; NULL: the first that has samples */
};

/* 0, or -1 with `e`: nothing usable in it. Frames are raw where names are to be looked up. */
int perf_source_read(const struct perf_source *from, struct store *s, struct meta *m, struct import_stats *st,
                     struct err *e);

#endif
