/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event of the Trace Event Format ("Trace Event Format", Google, 2016), in which Chrome, Kineto and others
 * write what happened when: one object, fields in any order, numbers sometimes in strings.
 */
#ifndef WPROF_EXCHANGE_TRACE_EVENT_H
#define WPROF_EXCHANGE_TRACE_EVENT_H

#include "base/buf.h"
#include "base/json_stream.h"

#include <stdint.h>

enum trace_how { TRACE_ABSENT, TRACE_NUMBER, TRACE_STRING /* a number in quotes */, TRACE_BAD };

/* A decimal number, exact to a billionth. */
struct trace_number {
    int64_t whole;
    int32_t nano; /* of the same sign */
    uint8_t how;  /* enum trace_how */
};

enum trace_arg {
    TRACE_CORRELATION,
    TRACE_DEVICE,
    TRACE_CONTEXT,
    TRACE_STREAM,
    TRACE_BYTES,
    TRACE_SIZE, /* of a call that copies or sets */
    TRACE_REGISTERS,
    TRACE_SHARED,
    TRACE_OCCUPANCY, /* % */
    TRACE_GRAPH,
    TRACE_NODE,
    TRACE_ADDRESS,
    TRACE_DEVICE_TYPE,
    TRACE_DEVICE_ID,
    TRACE_PARENT, /* Python id of the caller */
    TRACE_ARGS,
};

struct trace_event {
    char phase;                /* `ph`; '\0': none */
    struct buf name, category; /* empty: none */
    struct buf label;          /* args.name: of metadata */
    struct buf pid_text, tid_text;
    struct trace_number pid, tid, ts, dur, id;
    struct trace_number args[TRACE_ARGS];
    struct trace_number value; /* counters: the first number in args; its name: */
    struct buf series;
    int has_size; /* grid and block are told */
    uint32_t grid[3], block[3];
    uint64_t strings; /* numbers in quotes so far: not reset by trace_event_read() */
};

/* Reads the event whose '{' has been read. -1 with `e`. */
int trace_event_read(struct json_stream *s, struct trace_event *ev, struct err *e);
void trace_event_release(struct trace_event *ev);

struct trace_number trace_number_of(const struct json_token *t);

static inline int trace_has(const struct trace_number *n)
{
    return n->how == TRACE_NUMBER || n->how == TRACE_STRING;
}

/* In units of 1/scale: 1000 makes ns of us. -1: it doesn't fit. */
int trace_scaled(const struct trace_number *n, int64_t scale, int64_t *out);

static inline int trace_is(const struct buf *b, const char *word)
{
    return !strcmp(buf_str(b), word);
}

#endif
