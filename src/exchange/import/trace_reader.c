/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/trace_reader.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

static int read_event(struct trace_reader *r, struct json_stream *js, const struct json_token *t,
                      struct err *e)
{
    if (t->type != JSON_OBJECT) {
        import_count(r->st, IMPORT_LOST, "event that is no object|events that are no objects", 1);
        return json_stream_skip(js, t, e);
    }
    if (trace_event_read(js, &r->ev, e))
        return -1;
    r->events++;
    r->event(r->ctx);
    return 0;
}

/* 1: what failed is one event, and the next one is found. */
static int is_past_it(struct trace_reader *r, struct json_stream *js, int depth, struct err *e)
{
    char *what;
    uint64_t found;

    if (!json_stream_is_bad(js) || json_stream_is_cut(js))
        return 0;
    what = mem_strdup(e->msg);
    found = json_stream_resync(js, depth, "\"ph\"", e) > 0;
    if (found && !r->broken++)
        log_warn("%s: %s: left out", r->in->name, what);
    if (!found)
        err_set(e, "%s", what);
    free(what);
    import_count(r->st, IMPORT_LOST, "event that is not JSON|events that are not JSON", found);
    return found != 0;
}

static int read_events(struct trace_reader *r, struct json_stream *js, struct err *e)
{
    int rc, depth = js->depth;
    struct json_token t;

    do {
        while ((rc = json_stream_next(js, &t, e)) > 0 && !t.ends) {
            rc = read_event(r, js, &t, e);
            if (rc)
                break;
        }
    } while (rc < 0 && is_past_it(r, js, depth, e));
    return rc < 0 ? -1 : 0;
}

static int read_list(struct trace_reader *r, struct json_stream *js, struct err *e)
{
    int depth = js->depth, rc;
    struct json_token t;

    rc = json_stream_next(js, &t, e);
    if (rc <= 0 || t.ends)
        return rc < 0 ? -1 : 0;
    if (t.type == JSON_ARRAY && r->rows)
        return r->rows(r->ctx, js, e);
    if (t.type != JSON_OBJECT)
        return json_stream_fail(js, e, "a list of events was expected");
    if (read_event(r, js, &t, e) && !is_past_it(r, js, depth, e))
        return -1;
    return read_events(r, js, e);
}

static int read_members(struct trace_reader *r, struct json_stream *js, struct err *e)
{
    struct json_token t;
    int rc, bad;

    while ((rc = json_stream_next(js, &t, e)) > 0 && !t.ends) {
        if (json_key_is(&t, "traceEvents") && t.type == JSON_ARRAY)
            bad = read_events(r, js, e);
        else if (r->member)
            bad = r->member(r->ctx, js, &t, e);
        else
            bad = json_stream_skip(js, &t, e);
        if (bad)
            return -1;
    }
    return rc < 0 ? -1 : 0;
}

static int read_root(struct trace_reader *r, struct json_stream *js, struct err *e)
{
    struct json_token t;
    int rc = json_stream_next(js, &t, e);

    if (rc < 0)
        return -1;
    if (t.type != JSON_ARRAY && t.type != JSON_OBJECT)
        return json_stream_fail(js, e, "an object with traceEvents was expected");
    rc = t.type == JSON_ARRAY ? read_list(r, js, e) : read_members(r, js, e);
    return rc ? -1 : json_stream_next(js, &t, e);
}

int trace_reader_run(struct trace_reader *r, struct err *e)
{
    struct json_stream js;
    int rc;

    json_stream_init(&js, input_read, r->in);
    js.lenient = 1; /* names of functions come as they are */
    rc = read_root(r, &js, e);
    if (rc && json_stream_is_cut(&js) && r->events) {
        import_count(r->st, IMPORT_LOST, "end: the file was cut off", 1);
        rc = 0;
    } else if (rc && json_stream_is_bad(&js) && r->events) {
        log_warn("%s: %s: what stands before is here", r->in->name, e->msg);
        import_count(r->st, IMPORT_LOST, "rest: it is not JSON", 1);
        rc = 0;
    }
    import_count(r->st, IMPORT_NOTED,
                 "text or value as JSON has none (control characters, escapes, NaN, commas)|texts or values "
                 "as JSON has none (control characters, escapes, NaN, commas)",
                 rc ? 0 : js.odd);
    json_stream_release(&js);
    if (!rc && !r->events)
        rc = err_set(e, "no event in it (a member traceEvents, a list, was expected)");
    import_count(r->st, IMPORT_NOTED, "number in quotes|numbers in quotes", rc ? 0 : r->ev.strings);
    return rc;
}

void trace_reader_release(struct trace_reader *r)
{
    trace_event_release(&r->ev);
}

/* Times are us, or ns where as us they would be some thousand years away: no trace is from then. */
static int64_t scale_of(const struct trace_number *ts)
{
    return ts->whole > 100000000000000000 ? 1 : 1000;
}

int trace_reader_time(struct trace_reader *r, struct event *ev, int instant)
{
    const struct trace_event *t = &r->ev;
    int64_t ts, dur = 0;

    if (!trace_has(&t->ts)) {
        import_count(r->st, IMPORT_LOST, "event without a time|events without a time", 1);
        return -1;
    }
    if (!r->scale)
        r->scale = scale_of(&t->ts);
    if (!instant && !trace_has(&t->dur)) {
        import_count(r->st, IMPORT_LOST, "event without a duration|events without a duration", 1);
        return -1;
    }
    if (trace_scaled(&t->ts, r->scale, &ts) || (!instant && trace_scaled(&t->dur, r->scale, &dur)) ||
        dur > INT64_MAX / 4 || ts > INT64_MAX / 4 || ts < INT64_MIN / 4) {
        import_count(r->st, IMPORT_LOST, "event whose time is out of range|events whose time is out of range",
                     1);
        return -1;
    }
    if (dur < 0) {
        import_count(r->st, IMPORT_LOST, "event with a negative duration|events with a negative duration", 1);
        return -1;
    }
    ev->ts = (uint64_t)ts;
    ev->dur = (uint64_t)dur;
    return 0;
}

uint32_t trace_u32(const struct trace_number *n)
{
    return trace_has(n) && n->whole > 0 && n->whole <= UINT32_MAX ? (uint32_t)n->whole : 0;
}

uint64_t trace_u64(const struct trace_number *n)
{
    return trace_has(n) && n->whole > 0 ? (uint64_t)n->whole : 0;
}
