/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's Trace Event Format from any other writer: spans of threads (X, or B and E), moments (i), counters
 * (C), names (M). Spans become operators with the stack of those around them, moments become marks. Times are
 * us from wherever the writer counts.
 */
#include "exchange/import/lanes.h"
#include "exchange/import/nest.h"
#include "exchange/import/trace_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lanes without a number get one from here on: no kernel gives such a pid. */
enum { LANE_FIRST = 1 << 30 };

/* A B or an E, until they are matched. */
struct edge {
    uint32_t task, seq;
    uint32_t begins; /* index of the event + 1; 0: an E */
    uint64_t ts;
};

struct chrome {
    struct trace_reader r;
    struct store *s;
    struct lanes lanes;
    VEC(uint32_t) frames; /* by id of struct gpu_works: its frame */
    VEC(struct edge) edges;
    struct strtab named; /* pids and tids that are no numbers */
    size_t first;
};

static uint32_t number_of(struct chrome *c, const struct trace_number *n, const struct buf *text)
{
    char wide[32];

    if (trace_u32(n) && n->whole < LANE_FIRST)
        return (uint32_t)n->whole;
    if (text->len)
        return LANE_FIRST + strtab_add(&c->named, buf_str(text));
    if (!trace_has(n) || !n->whole)
        return LANE_FIRST;
    snprintf(wide, sizeof(wide), "%lld", (long long)n->whole);
    return LANE_FIRST + strtab_add(&c->named, wide);
}

static uint32_t pid_of(struct chrome *c)
{
    return number_of(c, &c->r.ev.pid, &c->r.ev.pid_text);
}

static uint32_t tid_of(struct chrome *c)
{
    return number_of(c, &c->r.ev.tid, &c->r.ev.tid_text);
}

static uint32_t task_of(struct chrome *c)
{
    return lanes_task(&c->lanes, pid_of(c), tid_of(c));
}

static uint32_t span_of(struct chrome *c)
{
    const char *name = c->r.ev.name.len ? buf_str(&c->r.ev.name) : "(no name)";
    struct frame f = {.kind = FRAME_NATIVE, .func = strtab_add(&c->s->strings, name)};
    struct gpu_work w = {.op = GPU_OPERATOR, .name = f.func};
    uint32_t id = gpu_works_add(&c->s->gpus, &w);

    while (c->frames.n <= id)
        *vec_push(&c->frames) = 0;
    if (!c->frames.a[id])
        c->frames.a[id] = frames_add(&c->s->frames, &f);
    return id;
}

/* PyTorch built without Kineto writes its steps as spans: marks, too. */
static void take_step(struct chrome *c, const struct event *at)
{
    static const char profiler[] = "ProfilerStep#";
    const char *name = buf_str(&c->r.ev.name);
    struct event ev = {.kind = EVENT_MARKER, .ts = at->ts, .dur = at->dur, .value = 1, .task = at->task};
    struct buf text = {0};

    if (strncmp(name, profiler, strlen(profiler)) != 0)
        return;
    buf_addf(&text, "step %s", name + strlen(profiler));
    ev.metric = strtab_add(&c->s->strings, buf_str(&text));
    *vec_push(&c->s->events) = ev;
    buf_release(&text);
    import_count(c->r.st, IMPORT_TOOK, "step|steps", 1);
}

static void take_span(struct chrome *c)
{
    struct event ev = {.kind = EVENT_GPU};

    if (trace_reader_time(&c->r, &ev, 0))
        return;
    ev.task = task_of(c);
    ev.attr = span_of(c);
    *vec_push(&c->s->events) = ev;
    import_count(c->r.st, IMPORT_TOOK, "span|spans", 1);
    take_step(c, &ev);
}

static void take_edge(struct chrome *c, int begins)
{
    struct event ev = {.kind = EVENT_GPU};
    struct edge *edge;

    if (trace_reader_time(&c->r, &ev, 1))
        return;
    ev.task = task_of(c);
    edge = vec_push(&c->edges);
    *edge = (struct edge){.task = ev.task, .seq = (uint32_t)c->edges.n, .ts = ev.ts};
    if (begins) {
        ev.attr = span_of(c);
        ev.flags = EVENT_OPEN;
        *vec_push(&c->s->events) = ev;
        edge->begins = (uint32_t)c->s->events.n;
        import_count(c->r.st, IMPORT_TOOK, "span|spans", 1);
    }
}

static void take_moment(struct chrome *c)
{
    struct event ev = {.kind = EVENT_MARKER, .value = 1};

    if (!c->r.ev.name.len || trace_reader_time(&c->r, &ev, 1)) {
        import_count(c->r.st, IMPORT_LOST, "moment without a name|moments without a name", !c->r.ev.name.len);
        return;
    }
    ev.task = task_of(c);
    ev.metric = strtab_add(&c->s->strings, buf_str(&c->r.ev.name));
    *vec_push(&c->s->events) = ev;
    import_count(c->r.st, IMPORT_TOOK, "moment|moments", 1);
}

static void take_name(struct chrome *c)
{
    const struct trace_event *ev = &c->r.ev;

    if (trace_is(&ev->name, "process_name"))
        lanes_name(&c->lanes, pid_of(c), 0, buf_str(&ev->label));
    else if (trace_is(&ev->name, "thread_name"))
        lanes_name(&c->lanes, pid_of(c), tid_of(c), buf_str(&ev->label));
}

/* DevTools has V8's samples in its traces, in pieces. */
static void leave_sample(struct chrome *c)
{
    int is_profile = trace_is(&c->r.ev.name, "Profile") || trace_is(&c->r.ev.name, "ProfileChunk");

    import_count(c->r.st, IMPORT_LEFT,
                 is_profile ? "piece of a CPU profile, which wprof imports as a .cpuprofile|"
                              "pieces of a CPU profile, which wprof imports as a .cpuprofile"
                            : "sample in the trace|samples in the trace",
                 1);
}

static void take(void *chrome)
{
    struct chrome *c = chrome;

    switch (c->r.ev.phase) {
    case 'X':
        take_span(c);
        break;
    case 'B':
    case 'E':
        take_edge(c, c->r.ev.phase == 'B');
        break;
    case 'i':
    case 'I':
    case 'R':
        take_moment(c);
        break;
    case 'M':
        take_name(c);
        break;
    case 'C':
        import_count(c->r.st, IMPORT_LEFT, "counter value|counter values", 1);
        break;
    case 'P':
        leave_sample(c);
        break;
    case 's':
    case 't':
    case 'f':
        import_count(c->r.st, IMPORT_LEFT, "arrow|arrows", 1);
        break;
    default:
        import_count(c->r.st, IMPORT_LEFT, "event of other phases|events of other phases", 1);
    }
}

/* ---- when all is read ---- */

static int compare_edges(const void *x, const void *y)
{
    const struct edge *a = x, *b = y;

    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

/* Each E ends the last B of its thread that has no end. */
static void match_edges(struct chrome *c)
{
    VEC(uint32_t) open = {0};
    uint32_t task = 0;

    if (c->edges.n)
        qsort(c->edges.a, c->edges.n, sizeof(*c->edges.a), compare_edges);
    for (size_t i = 0; i < c->edges.n; i++) {
        const struct edge *edge = &c->edges.a[i];
        struct event *ev;

        if (edge->task != task)
            vec_clear(&open);
        task = edge->task;
        if (edge->begins) {
            *vec_push(&open) = edge->begins - 1;
        } else if (!open.n) {
            import_count(c->r.st, IMPORT_LOST, "end without a beginning|ends without a beginning", 1);
        } else {
            ev = &c->s->events.a[open.a[--open.n]];
            ev->dur = edge->ts - ev->ts;
            ev->flags = 0;
        }
    }
    vec_release(&open);
}

/* From signed times to those from 0 on; spans without an end last to the latest time there is. */
static void place_in_time(struct chrome *c)
{
    int64_t least = 0;
    uint64_t end = 0, open = 0;
    struct store *s = c->s;

    for (size_t i = c->first; i < s->events.n; i++)
        if ((int64_t)s->events.a[i].ts < least)
            least = (int64_t)s->events.a[i].ts;
    for (size_t i = c->first; i < s->events.n; i++) {
        struct event *ev = &s->events.a[i];

        ev->ts -= (uint64_t)least;
        if (ev->ts + ev->dur > end)
            end = ev->ts + ev->dur;
    }
    for (size_t i = c->first; i < s->events.n; i++) {
        struct event *ev = &s->events.a[i];

        if (ev->flags & EVENT_OPEN) {
            ev->dur = end - ev->ts;
            open++;
        }
    }
    import_count(c->r.st, IMPORT_NOTED, "without an end", open);
}

static void finish(struct chrome *c)
{
    match_edges(c);
    place_in_time(c);
    import_count(c->r.st, IMPORT_NOTED, "nested deeper than 512",
                 nest_spans(c->s, c->first, c->frames.a, c->frames.n));
    lanes_finish(&c->lanes, c->first);
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct chrome c = {.s = s, .lanes = {.store = s}, .first = s->events.n};
    int rc;

    c.r = (struct trace_reader){.in = in, .st = st, .ctx = &c, .event = take};
    rc = trace_reader_run(&c.r, e);
    if (!rc)
        finish(&c);
    trace_reader_release(&c.r);
    lanes_release(&c.lanes);
    strtab_release(&c.named);
    vec_release(&c.frames);
    vec_release(&c.edges);
    return rc;
}

static int probe(const char *head, size_t n)
{
    char first = import_first(head);

    return (first == '{' && import_holds(head, n, "\"traceEvents\"")) ||
           (first == '[' && import_holds(head, n, "\"ph\""));
}

const struct importer import_chrome = {
    .name = "chrome",
    .summary = "Chrome's Trace Event Format, from any writer: spans, moments and names",
    .probe = probe,
    .run = run,
};
