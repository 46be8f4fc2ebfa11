/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/trace_event.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { NANO = 1000000000, NUMBER_MAX = 63 /* bytes of one that makes sense */ };

static const struct {
    const char *key;
    uint8_t len, arg;
} args[] = {
#define ARG(key, arg)                                                                                        \
    {                                                                                                        \
        key, sizeof(key) - 1, arg                                                                            \
    }
    ARG("correlation", TRACE_CORRELATION),
    ARG("device", TRACE_DEVICE),
    ARG("context", TRACE_CONTEXT),
    ARG("stream", TRACE_STREAM),
    ARG("bytes", TRACE_BYTES),
    ARG("Bytes", TRACE_BYTES),
    ARG("size", TRACE_SIZE),
    ARG("registers per thread", TRACE_REGISTERS),
    ARG("shared memory", TRACE_SHARED),
    ARG("est. achieved occupancy %", TRACE_OCCUPANCY),
    ARG("graph id", TRACE_GRAPH),
    ARG("graph node id", TRACE_NODE),
    ARG("Addr", TRACE_ADDRESS),
    ARG("Device Type", TRACE_DEVICE_TYPE),
    ARG("Device Id", TRACE_DEVICE_ID),
    ARG("Python parent id", TRACE_PARENT),
};

void trace_event_release(struct trace_event *ev)
{
    buf_release(&ev->name);
    buf_release(&ev->category);
    buf_release(&ev->label);
    buf_release(&ev->pid_text);
    buf_release(&ev->tid_text);
    buf_release(&ev->series);
}

/* ---- numbers ---- */

/* With an exponent, hexadecimal, or more than 63 bits: as near as a double is. */
static struct trace_number by_double(const char *p, size_t n, uint8_t how)
{
    struct trace_number out = {.how = TRACE_BAD};
    char text[NUMBER_MAX + 1], *end;
    double v;

    if (!n || n > NUMBER_MAX)
        return out;
    memcpy(text, p, n);
    text[n] = '\0';
    if (n > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
        uint64_t u = strtoull(text, &end, 16);

        out.whole = (int64_t)u;
        out.how = *end ? TRACE_BAD : how;
        return out;
    }
    v = strtod(text, &end);
    if (*end || !isfinite(v) || v >= 0x1p63 || v <= -0x1p63)
        return out;
    out.whole = (int64_t)v;
    out.nano = (int32_t)((v - (double)out.whole) * NANO);
    out.how = how;
    return out;
}

static struct trace_number parse(const char *p, size_t n, uint8_t how)
{
    struct trace_number out = {.how = how};
    size_t i = n && p[0] == '-', from = i;
    int32_t unit = NANO;

    for (; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
        if (__builtin_mul_overflow(out.whole, 10, &out.whole) ||
            __builtin_add_overflow(out.whole, p[i] - '0', &out.whole))
            return by_double(p, n, how);
    }
    if (i == from)
        return by_double(p, n, how);
    if (i < n && p[i] == '.') {
        for (i++; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
            unit /= 10;
            out.nano += unit * (p[i] - '0');
        }
    }
    if (i < n)
        return by_double(p, n, how);
    if (from) {
        out.whole = -out.whole;
        out.nano = -out.nano;
    }
    return out;
}

struct trace_number trace_number_of(const struct json_token *t)
{
    if (t->type == JSON_NUMBER)
        return parse(t->text, t->len, TRACE_NUMBER);
    if (t->type == JSON_STRING)
        return parse(t->text, t->len, TRACE_STRING);
    return (struct trace_number){.how = TRACE_BAD};
}

int trace_scaled(const struct trace_number *n, int64_t scale, int64_t *out)
{
    int64_t part = (int64_t)n->nano * scale, half = n->nano < 0 ? -(NANO / 2) : NANO / 2;

    return __builtin_mul_overflow(n->whole, scale, out) ||
                   __builtin_add_overflow(*out, (part + half) / NANO, out)
               ? -1
               : 0;
}

/* ---- fields ---- */

static void set_text(struct buf *b, const struct json_token *t)
{
    buf_clear(b);
    if (t->type == JSON_STRING)
        buf_add(b, t->text, t->len);
}

static void set_number(struct trace_event *ev, struct trace_number *n, const struct json_token *t)
{
    *n = trace_number_of(t);
    ev->strings += n->how == TRACE_STRING;
}

/* A pid or tid: a number, or a text that names a lane ("Spans"). */
static void set_id(struct trace_number *n, struct buf *text, const struct json_token *t)
{
    *n = trace_number_of(t);
    set_text(text, t);
}

static int read_size(struct json_stream *s, const struct json_token *first, uint32_t out[3], struct err *e)
{
    struct json_token t;
    int rc, i = 0;

    if (first->type != JSON_ARRAY)
        return json_stream_skip(s, first, e);
    while ((rc = json_stream_next(s, &t, e)) > 0 && !t.ends) {
        struct trace_number n = trace_number_of(&t);

        if (i < 3 && n.whole > 0 && n.whole <= UINT32_MAX)
            out[i] = (uint32_t)n.whole;
        i++;
        if (json_stream_skip(s, &t, e))
            return -1;
    }
    return rc < 0 ? -1 : 0;
}

static int read_arg(struct json_stream *s, struct trace_event *ev, const struct json_token *t, struct err *e)
{
    if (t->type == JSON_ARRAY || t->type == JSON_OBJECT) {
        if (json_key_is(t, "grid")) {
            ev->has_size = 1;
            return read_size(s, t, ev->grid, e);
        }
        return json_key_is(t, "block") ? read_size(s, t, ev->block, e) : json_stream_skip(s, t, e);
    }
    for (size_t i = 0; i < ARRAY_SIZE(args); i++) {
        if (json_is(t->key, t->key_len, args[i].key, args[i].len)) {
            set_number(ev, &ev->args[args[i].arg], t);
            return 0;
        }
    }
    if (ev->label.len == 0 && json_key_is(t, "name"))
        set_text(&ev->label, t);
    if (t->type == JSON_NUMBER && ev->phase == 'C' && !ev->value.how) {
        ev->value = trace_number_of(t);
        buf_add(&ev->series, t->key, t->key_len);
    }
    return 0;
}

static int read_args(struct json_stream *s, struct trace_event *ev, const struct json_token *first,
                     struct err *e)
{
    struct json_token t;
    int rc;

    if (first->type != JSON_OBJECT)
        return json_stream_skip(s, first, e);
    while ((rc = json_stream_next(s, &t, e)) > 0 && !t.ends)
        if (read_arg(s, ev, &t, e))
            return -1;
    return rc < 0 ? -1 : 0;
}

static int read_field(struct json_stream *s, struct trace_event *ev, const struct json_token *t,
                      struct err *e)
{
    if (json_key_is(t, "args"))
        return read_args(s, ev, t, e);
    if (json_key_is(t, "name"))
        set_text(&ev->name, t);
    else if (json_key_is(t, "cat"))
        set_text(&ev->category, t);
    else if (json_key_is(t, "ph"))
        ev->phase = t->type == JSON_STRING && t->len == 1 ? t->text[0] : '\0';
    else if (json_key_is(t, "ts"))
        set_number(ev, &ev->ts, t);
    else if (json_key_is(t, "dur"))
        set_number(ev, &ev->dur, t);
    else if (json_key_is(t, "pid"))
        set_id(&ev->pid, &ev->pid_text, t);
    else if (json_key_is(t, "tid"))
        set_id(&ev->tid, &ev->tid_text, t);
    else if (json_key_is(t, "id"))
        ev->id = trace_number_of(t);
    return json_stream_skip(s, t, e);
}

static void clear(struct trace_event *ev)
{
    ev->phase = '\0';
    buf_clear(&ev->name);
    buf_clear(&ev->category);
    buf_clear(&ev->label);
    buf_clear(&ev->pid_text);
    buf_clear(&ev->tid_text);
    buf_clear(&ev->series);
    ev->pid = ev->tid = ev->ts = ev->dur = ev->id = ev->value = (struct trace_number){0};
    memset(ev->args, 0, sizeof(ev->args));
    ev->has_size = 0;
    memset(ev->grid, 0, sizeof(ev->grid));
    memset(ev->block, 0, sizeof(ev->block));
}

int trace_event_read(struct json_stream *s, struct trace_event *ev, struct err *e)
{
    struct json_token t;
    int rc;

    clear(ev);
    while ((rc = json_stream_next(s, &t, e)) > 0 && !t.ends)
        if (read_field(s, ev, &t, e))
            return -1;
    return rc < 0 ? -1 : 0;
}
