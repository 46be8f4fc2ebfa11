/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline as Chrome trace JSON ("Trace Event Format", the document of the Catapult project), which
 * ui.perfetto.dev and chrome://tracing read. Times are microseconds, with three decimals.
 */
#include "exchange/export/chrome.h"

#include "exchange/export/export.h"

#include <stdio.h>
#include <stdlib.h>

static const struct timeline_task *lane_task(const struct chrome *w, const struct timeline_lane *lane)
{
    return lane->task ? &w->t->tasks.a[lane->task - 1] : NULL;
}

/* No process has a number from there on: PID_MAX_LIMIT of Linux, 64 bits. */
enum { NO_PROCESS = 1 << 22 };

/* GPUs are processes of their numbers, as everybody has it who reads such traces: the machine, which is 0
 * else, gives way to them, and so do those of several ranks. */
uint32_t chrome_pid(const struct chrome *w, uint32_t process)
{
    const struct timeline_process *p = &w->t->processes.a[process];

    if (!process)
        return w->devices ? NO_PROCESS : 0;
    return p->device && !chrome_one_rank(w->t) ? NO_PROCESS + 1 + process : p->pid;
}

static uint32_t lane_pid(const struct chrome *w, const struct timeline_lane *lane)
{
    return chrome_pid(w, lane->process);
}

void chrome_begin(struct chrome *w, const char *phase, const char *name, uint32_t pid, uint32_t tid)
{
    buf_addch(w->json.out, '\n');
    json_object(&w->json, NULL);
    json_str(&w->json, "ph", phase);
    json_str(&w->json, "name", name);
    json_u64(&w->json, "pid", pid);
    json_u64(&w->json, "tid", tid ? tid : pid);
}

void chrome_stack(struct chrome *w, uint32_t stack)
{
    char id[16];

    if (!stack)
        return;
    snprintf(id, sizeof(id), "%u", stack);
    json_str(&w->json, "sf", id);
}

static void place(struct chrome *w, const char *key, uint32_t stack)
{
    struct buf text = {0};

    timeline_place(w->t, stack, &text);
    if (text.len)
        json_str(&w->json, key, text.data);
    buf_release(&text);
}

/* ---- names ---- */

static void name_it(struct chrome *w, const char *what, uint32_t pid, uint32_t tid, const char *name)
{
    chrome_begin(w, "M", what, pid, tid);
    json_object(&w->json, "args");
    json_str(&w->json, "name", name);
    json_end_object(&w->json);
    json_end_object(&w->json);
}

static void name_process(struct chrome *w, uint32_t process)
{
    const struct timeline_process *p = &w->t->processes.a[process];
    char text[64];

    if (p->device)
        snprintf(text, sizeof(text), "%.40s %u", chrome_string(w, p->name), p->pid);
    name_it(w, "process_name", chrome_pid(w, process), 0, p->device ? text : chrome_string(w, p->name));
}

static void name_stream(struct chrome *w, const struct timeline_lane *lane)
{
    const char *name = chrome_string(w, lane->name);
    char text[80];

    name_it(w, "thread_name", lane_pid(w, lane), lane->stream, name);
    for (unsigned depth = 1; depth < lane->depth; depth++) {
        snprintf(text, sizeof(text), "%.50s, at a time (%u)", name, depth + 1);
        name_it(w, "thread_name", lane_pid(w, lane), chrome_gpu_row(w, lane, depth), text);
    }
}

static void put_names(struct chrome *w)
{
    const struct timeline *t = w->t;

    for (size_t i = 0; i < t->processes.n; i++)
        name_process(w, (uint32_t)i);
    for (size_t i = 0; i < t->tasks.n; i++)
        name_it(w, "thread_name", t->tasks.a[i].pid, t->tasks.a[i].tid, chrome_string(w, t->tasks.a[i].name));
    for (size_t i = 0; i < t->lanes.n; i++)
        if (t->lanes.a[i].kind == TIMELINE_STREAM)
            name_stream(w, &t->lanes.a[i]);
}

/* ---- threads ---- */

static const char *category(unsigned state)
{
    static const char *const names[] = {
        [TIMELINE_RUNS] = "running", [TIMELINE_QUEUES] = "runnable", [TIMELINE_WAITS] = "waiting"};

    return names[timeline_class(state)];
}

static void put_args(struct chrome *w, const struct timeline_span *s)
{
    const struct timeline_task *waker = s->waker ? &w->t->tasks.a[s->waker - 1] : NULL;
    char text[128];

    json_object(&w->json, "args");
    if (s->name)
        json_str(&w->json, "what", chrome_string(w, s->name));
    place(w, "at", s->stack);
    if (waker) {
        snprintf(text, sizeof(text), "%s (%u)", chrome_string(w, waker->name), waker->tid);
        json_str(&w->json, timeline_held(s) ? "held_by" : "woken_by", text);
        place(w, timeline_held(s) ? "held_at" : "woken_at", s->waker_stack);
    } else if (s->flags & TIMELINE_IRQ) {
        json_str(&w->json, "woken_by", "[irq]");
    }
    if (s->flags & TIMELINE_OPEN)
        json_bool(&w->json, "open", 1);
    json_end_object(&w->json);
}

static void put_span(struct chrome *w, const struct timeline_span *s, uint32_t pid, uint32_t tid)
{
    chrome_begin(w, "X", timeline_state_name(s->state), pid, tid);
    json_str(&w->json, "cat", category(s->state));
    json_f64(&w->json, "ts", chrome_us(s->start));
    json_f64(&w->json, "dur", chrome_us(s->end - s->start));
    chrome_stack(w, s->stack);
    put_args(w, s);
    json_end_object(&w->json);
}

/* From the waker, when it woke, to the woken thread's next span. */
static void put_flow(struct chrome *w, const struct timeline_span *s, uint32_t pid, uint32_t tid)
{
    const struct timeline_task *waker = &w->t->tasks.a[s->waker - 1];

    w->flows++;
    chrome_begin(w, "s", "wakes", waker->pid, waker->tid);
    json_str(&w->json, "cat", "wake");
    json_u64(&w->json, "id", w->flows);
    json_f64(&w->json, "ts", chrome_us(s->end));
    json_end_object(&w->json);
    chrome_begin(w, "f", "wakes", pid, tid);
    json_str(&w->json, "cat", "wake");
    json_u64(&w->json, "id", w->flows);
    json_str(&w->json, "bp", "e");
    json_f64(&w->json, "ts", chrome_us(s->end));
    json_end_object(&w->json);
}

static void put_tick(struct chrome *w, const struct timeline_tick *tick, uint32_t pid, uint32_t tid)
{
    struct buf name = {0};

    timeline_place(w->t, tick->stack, &name);
    chrome_begin(w, "P", name.len ? name.data : "sample", pid, tid);
    json_str(&w->json, "cat", "sample");
    json_f64(&w->json, "ts", chrome_us(tick->ts));
    chrome_stack(w, tick->stack);
    json_end_object(&w->json);
    buf_release(&name);
}

/* What may lie over other spans of its thread: a pair of b and e. Without a length it is an instant. */
static void put_apart(struct chrome *w, const struct timeline_lane *lane, uint32_t i)
{
    const struct timeline_span *s = &w->t->spans.a[i];
    const struct timeline_task *task = lane_task(w, lane);
    const char *name = s->state == TIMELINE_MARK ? chrome_string(w, s->name) : timeline_state_name(s->state);
    int instant = s->end == s->start;

    for (int last = 0; last <= !instant; last++) {
        chrome_begin(w, instant ? "i" : last ? "e" : "b", name, lane_pid(w, lane), task ? task->tid : 0);
        json_str(&w->json, "cat", s->state == TIMELINE_MARK ? "mark" : category(s->state));
        json_f64(&w->json, "ts", chrome_us(last ? s->end : s->start));
        if (instant)
            json_str(&w->json, "s", lane->process ? "p" : "g");
        else
            json_u64(&w->json, "id", i + 1);
        if (!last && s->state != TIMELINE_MARK)
            put_args(w, s);
        json_end_object(&w->json);
    }
}

static void put_thread(struct chrome *w, const struct timeline_lane *lane)
{
    const struct timeline_task *task = lane_task(w, lane);

    for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
        const struct timeline_span *s = &w->t->spans.a[i];

        if (s->depth || w->calls[lane->task]) { /* calls lie on the thread's own track, states cross them */
            put_apart(w, lane, i);
            continue;
        }
        put_span(w, s, task->pid, task->tid);
        if (s->waker && !(s->flags & TIMELINE_OPEN) && w->t->tasks.a[s->waker - 1].lane)
            put_flow(w, s, task->pid, task->tid);
    }
    for (uint32_t i = lane->tick; i < lane->tick + lane->nticks; i++)
        put_tick(w, &w->t->ticks.a[i], task->pid, task->tid);
}

/* ---- metrics ---- */

static void put_metric(struct chrome *w, const struct timeline_lane *lane)
{
    const struct timeline_task *task = lane_task(w, lane);
    struct metric_scale scale = timeline_scale(lane);
    struct buf name = {0};

    buf_addf(&name, "%.200s", chrome_string(w, lane->name));
    if (task)
        buf_addf(&name, " (%u)", task->tid);
    if (*scale.label)
        buf_addf(&name, " [%s]", scale.label);
    for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
        chrome_begin(w, "C", name.data, lane_pid(w, lane), 0);
        json_f64(&w->json, "ts", chrome_us(w->t->points.a[i].ts));
        json_object(&w->json, "args");
        json_f64(&w->json, "value", (double)w->t->points.a[i].value * scale.factor);
        json_end_object(&w->json);
        json_end_object(&w->json);
    }
    buf_release(&name);
}

static void put_lane(struct chrome *w, const struct timeline_lane *lane)
{
    if (lane->kind == TIMELINE_THREAD)
        put_thread(w, lane);
    else if (lane->kind == TIMELINE_METRIC)
        put_metric(w, lane);
    else if (lane->kind == TIMELINE_STREAM || lane->kind == TIMELINE_CALLS || lane->kind == TIMELINE_RANGES)
        chrome_gpu_lane(w, lane);
    else
        for (uint32_t i = lane->first; i < lane->first + lane->n; i++)
            put_apart(w, lane, i);
}

/* ---- stacks ---- */

static void put_stacks(struct chrome *w)
{
    const struct profile *p = &w->t->stacks;
    struct buf label = {0};
    char id[16];

    json_object(&w->json, "stackFrames");
    for (uint32_t i = 1; i < p->nodes.n; i++) {
        const struct profile_frame *f = &p->frames.a[p->nodes.a[i].frame];

        buf_clear(&label);
        profile_frame_label(p, p->nodes.a[i].frame, &label);
        snprintf(id, sizeof(id), "%u", i);
        json_object(&w->json, id);
        json_str(&w->json, "name", buf_str(&label));
        json_str(&w->json, "category", f->module ? chrome_string(w, f->module) : "");
        if (p->nodes.a[i].parent) {
            snprintf(id, sizeof(id), "%u", p->nodes.a[i].parent);
            json_str(&w->json, "parent", id);
        }
        json_end_object(&w->json);
    }
    json_end_object(&w->json);
    buf_release(&label);
}

static void put_other(struct chrome *w, const struct meta *m)
{
    json_object(&w->json, "otherData");
    json_str(&w->json, "recorder", "wprof");
    json_str(&w->json, "session", m->session_id);
    json_str(&w->json, "host", m->host);
    json_f64(&w->json, "start_ts", m->start_ts);
    json_u64(&w->json, "start_monotonic_ns", m->start_mono);
    json_u64(&w->json, "driver_calls_left_out", w->left_driver);
    json_u64(&w->json, "frees_left_out", w->left_frees);
    json_end_object(&w->json);
}

/* What Holistic Trace Analysis looks for: by a regular expression, which wants a space after "rank":. */
static void put_rank(struct chrome *w)
{
    if (!w->devices || !chrome_one_rank(w->t))
        return;
    w->json.indent = 1;
    json_object(&w->json, "distributedInfo");
    json_u64(&w->json, "rank", w->t->rank ? w->t->rank - 1u : 0);
    json_end_object(&w->json);
    w->json.indent = 0;
}

static void look(struct chrome *w)
{
    w->calls = mem_calloc(w->t->tasks.n + 1, 1);
    for (size_t i = 0; i < w->t->processes.n; i++)
        w->devices += w->t->processes.a[i].device;
    for (size_t i = 0; i < w->t->lanes.n; i++)
        if (w->t->lanes.a[i].kind == TIMELINE_CALLS)
            w->calls[w->t->lanes.a[i].task] = 1;
    chrome_gpu_look(w);
}

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    struct chrome w = {.json = {.out = out}, .t = in->timeline};
    const struct meta *m = &in->session->meta;

    look(&w);
    json_object(&w.json, NULL);
    json_u64(&w.json, "schemaVersion", 1);
    put_rank(&w);
    json_str(&w.json, "displayTimeUnit", "ns");
    json_u64(&w.json, "baseTimeNanoseconds", m->start_mono + m->realtime_offset);
    put_stacks(&w);
    json_array(&w.json, "traceEvents");
    put_names(&w);
    for (size_t i = 0; i < in->timeline->lanes.n; i++)
        put_lane(&w, &in->timeline->lanes.a[i]);
    chrome_gpu_steps(&w);
    chrome_memory(&w, in->session);
    json_end_array(&w.json);
    put_other(&w, m);
    json_end_object(&w.json);
    buf_addch(out, '\n');
    chrome_gpu_release(&w);
    free(w.calls);
    return 0;
}

const struct exporter export_chrome = {
    .name = "chrome",
    .summary = "the timeline as Chrome trace JSON: what ui.perfetto.dev and chrome://tracing read",
    .wants_timeline = 1,
    .run = run,
};
