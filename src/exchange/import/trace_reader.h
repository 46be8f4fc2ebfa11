/* SPDX-License-Identifier: Apache-2.0 */
/* A file of trace events: an object with a list traceEvents beside other members, or the bare list. */
#ifndef WPROF_EXCHANGE_TRACE_READER_H
#define WPROF_EXCHANGE_TRACE_READER_H

#include "exchange/import/import.h"
#include "exchange/import/trace_event.h"

struct trace_reader {
    struct input *in;
    struct import_stats *st;
    void *ctx;
    void (*event)(void *ctx); /* `ev` was read */
    /* Another member, with all that is in it; NULL: they are skipped. */
    int (*member)(void *ctx, struct json_stream *js, const struct json_token *t, struct err *e);
    /* A bare list of lists, from behind the first one's '[' to its end; NULL: refused. */
    int (*rows)(void *ctx, struct json_stream *js, struct err *e);

    struct trace_event ev;
    uint64_t events; /* read so far, of whatever kind */
    uint64_t broken; /* of those, not JSON */
    int64_t scale;   /* ns of a unit of time; 0: not known yet */
};

/* 0, or -1 with `e`: it is none, or has no event. Events that are not JSON are left out, a file that was cut
 * off, or in which none can be found behind such a one, counts up to there: which is in the stats. Release in
 * both cases. */
int trace_reader_run(struct trace_reader *r, struct err *e);
void trace_reader_release(struct trace_reader *r);

/* Sets ts and dur (0 of an instant) of *ev, ns, by r->ev. -1: it has none, or none that can be, which is
 * counted. */
int trace_reader_time(struct trace_reader *r, struct event *ev, int instant);

/* A number as an unsigned one; 0 where it is none, or negative, or too large. */
uint32_t trace_u32(const struct trace_number *n);
uint64_t trace_u64(const struct trace_number *n);

#endif
