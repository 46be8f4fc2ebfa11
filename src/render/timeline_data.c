/* SPDX-License-Identifier: Apache-2.0 */
#include "render/timeline_data.h"

#include "render/page_data.h"
#include "render/palette.h"

enum {
    SPAN_MERGED = 32,
    SPAN_STACK = 64,
    SPAN_NAME = 128,
    SPAN_WAKER = 256,
    SPAN_OPEN = 512,
    SPAN_IRQ = 1024,
    SPAN_ROW = 2048,
    SPAN_LAUNCH = 4096,
    SPAN_WORK = 8192,
    SPAN_PARTS = 16384,
};

_Static_assert(TIMELINE_STATES <= 32, "a span's state has five bits");

/* ---- colours ---- */

struct look {
    const char *id, *light, *dark;
};

/* Running and waiting for a CPU stand out, idling stays in the background. */
static const struct look looks[TIMELINE_STATES] = {
    [TIMELINE_RUNNING] = {"running", "#57b377", "#3f9a60"},
    [TIMELINE_RUNNABLE] = {"runnable", "#f2bb3c", "#c8921a"},
    [TIMELINE_PREEMPTED] = {"preempted", "#ec8f4d", "#bf6a2a"},
    [TIMELINE_WAITING + WAIT_UNKNOWN] = {"waiting", "#c3cad4", "#545d69"},
    [TIMELINE_WAITING + WAIT_SLEEP] = {"sleep", "#dde2e9", "#39414c"},
    [TIMELINE_WAITING + WAIT_DISK] = {"disk", "#d9605b", "#b54742"},
    [TIMELINE_WAITING + WAIT_FUTEX] = {"futex", "#b09ae0", "#7a62b4"},
    [TIMELINE_WAITING + WAIT_POLL] = {"poll", "#bfd4ea", "#3d536c"},
    [TIMELINE_WAITING + WAIT_PIPE] = {"pipe", "#79c3d4", "#33829a"},
    [TIMELINE_WAITING + WAIT_SOCKET] = {"socket", "#7cb0e6", "#3471b5"},
    [TIMELINE_WAITING + WAIT_FAULT] = {"fault", "#e3a3c2", "#a35880"},
    [TIMELINE_WAITING + WAIT_LOCK] = {"lock", "#c48a74", "#8f5642"},
    [TIMELINE_WAITING + WAIT_CHILD] = {"child", "#bcca92", "#6b7b43"},
    [TIMELINE_WAITING + WAIT_GIL] = {"gil", "#dd64b3", "#b23a8a"},
    [TIMELINE_WAITING + WAIT_OTHER] = {"other", "#b1b9c5", "#5e6772"},
    [TIMELINE_MARK] = {"mark", "#8fa0b5", "#6d7f95"},
    [TIMELINE_KERNEL] = {"kernel", "#8fb84c", "#6c9632"},
    [TIMELINE_COMMUNICATION] = {"communication", "#4fa3c7", "#2f7fa3"},
    [TIMELINE_COPY] = {"copy", "#d8a24a", "#a97a2a"},
    [TIMELINE_CALL] = {"call", "#a9b7e8", "#5b6bab"},
    [TIMELINE_SYNC] = {"sync", "#e0897a", "#ad5a4c"},
    [TIMELINE_OPERATOR] = {"operator", "#d3c7e6", "#5f5377"},
    [TIMELINE_OVERHEAD] = {"overhead", "#c9c2b4", "#6f6a5e"},
    [TIMELINE_IDLE + TIMELINE_IDLE_RAN] = {"idle-ran", "#57b377", "#3f9a60"},
    [TIMELINE_IDLE + TIMELINE_IDLE_QUEUED] = {"idle-queued", "#f2bb3c", "#c8921a"},
    [TIMELINE_IDLE + TIMELINE_IDLE_BLOCKED] = {"idle-blocked", "#b09ae0", "#7a62b4"},
    [TIMELINE_IDLE + TIMELINE_IDLE_GIL] = {"idle-gil", "#dd64b3", "#b23a8a"},
    [TIMELINE_IDLE + TIMELINE_IDLE_CALLED] = {"idle-called", "#d3c7e6", "#5f5377"},
    [TIMELINE_IDLE + TIMELINE_IDLE_UNSEEN] = {"idle-unseen", "#c3cad4", "#545d69"},
    [TIMELINE_IDLE + TIMELINE_IDLE_LAUNCH] = {"idle-launch", "#a9b7e8", "#5b6bab"},
    [TIMELINE_IDLE + TIMELINE_IDLE_IN_TIME] = {"idle-in-time", "#dde2e9", "#39414c"},
};

void timeline_data_css(struct buf *out, int dark)
{
    for (size_t i = 0; i < TIMELINE_STATES; i++)
        buf_addf(out, "--state-%s:%s;", looks[i].id, dark ? looks[i].dark : looks[i].light);
}

/* ---- what spans refer to ---- */

static void put_strings(const struct timeline *t, struct buf *out)
{
    const struct strtab *strings = &t->stacks.strings;

    buf_add_varint(out, strtab_count(strings));
    for (uint32_t id = 1; id <= strtab_count(strings); id++)
        page_data_text(out, strtab_get(strings, id));
}

static void put_frames(const struct timeline *t, struct buf *out)
{
    buf_add_varint(out, t->stacks.frames.n);
    for (size_t i = 0; i < t->stacks.frames.n; i++) {
        const struct profile_frame *f = &t->stacks.frames.a[i];

        buf_add_varint(out, f->kind < PALETTE_KINDS ? f->kind : FRAME_MARKER);
        buf_add_varint(out, f->func);
        buf_add_varint(out, f->file);
        buf_add_varint(out, f->module);
        buf_add_varint(out, f->line);
    }
}

static void put_nodes(const struct timeline *t, struct buf *out)
{
    size_t n = t->stacks.nodes.n;

    buf_add_varint(out, n ? n - 1 : 0);
    for (size_t i = 1; i < n; i++) {
        buf_add_varint(out, i - t->stacks.nodes.a[i].parent);
        buf_add_varint(out, t->stacks.nodes.a[i].frame);
    }
}

static void put_tasks(const struct timeline *t, struct buf *out)
{
    buf_add_varint(out, t->processes.n);
    for (size_t i = 0; i < t->processes.n; i++) {
        buf_add_varint(out, t->processes.a[i].pid);
        buf_add_varint(out, t->processes.a[i].name);
        buf_add_varint(out, t->processes.a[i].device != 0);
    }
    buf_add_varint(out, t->tasks.n);
    for (size_t i = 0; i < t->tasks.n; i++) {
        const struct timeline_task *task = &t->tasks.a[i];

        buf_add_varint(out, task->pid);
        buf_add_varint(out, task->tid);
        buf_add_varint(out, task->name);
        buf_add_varint(out, task->process);
        buf_add_varint(out, task->lane);
    }
}

static void put_works(const struct timeline *t, struct buf *out)
{
    buf_add_varint(out, t->works.n);
    for (size_t i = 0; i < t->works.n; i++) {
        const struct gpu_work *w = &t->works.a[i];
        const uint64_t row[] = {w->op,       w->context,   w->stream,    w->grid[0], w->grid[1], w->grid[2],
                                w->block[0], w->block[1],  w->block[2],  w->shared,  w->graph,   w->node,
                                w->bytes,    w->registers, w->occupancy, w->from,    w->to,      w->result};

        for (size_t k = 0; k < ARRAY_SIZE(row); k++)
            buf_add_varint(out, row[k]);
    }
}

/* ---- lanes ---- */

static unsigned span_head(const struct timeline_span *s, int next_row)
{
    return s->state | (s->merged ? SPAN_MERGED : 0) | (s->stack ? SPAN_STACK : 0) |
           (s->name ? SPAN_NAME : 0) | (s->waker ? SPAN_WAKER : 0) |
           (s->flags & TIMELINE_OPEN ? SPAN_OPEN : 0) | (s->flags & TIMELINE_IRQ ? SPAN_IRQ : 0) |
           (next_row ? SPAN_ROW : 0) | (s->launch ? SPAN_LAUNCH : 0) | (s->work ? SPAN_WORK : 0);
}

static void put_parts(const struct timeline_part *parts, size_t n, struct buf *out)
{
    buf_add_varint(out, n);
    for (size_t i = 0; i < n; i++) {
        buf_add_varint(out, parts[i].state);
        buf_add_varint(out, parts[i].ns);
    }
}

static void put_span(struct buf *out, const struct timeline_span *s, unsigned head, uint64_t before)
{
    buf_add_varint(out, head);
    buf_add_svarint(out, (int64_t)(s->start - before)); /* marks of one row may overlap */
    buf_add_varint(out, s->end - s->start);
    if (head & SPAN_MERGED) {
        buf_add_varint(out, s->merged);
        for (unsigned c = 0; c < TIMELINE_CLASSES; c++)
            buf_add_varint(out, s->share[c]);
    }
    if (head & SPAN_STACK)
        buf_add_varint(out, s->stack);
    if (head & SPAN_NAME)
        buf_add_varint(out, s->name);
    if (head & SPAN_WAKER) {
        buf_add_varint(out, s->waker);
        buf_add_varint(out, s->waker_stack);
    }
    if (head & SPAN_LAUNCH)
        buf_add_varint(out, s->launch);
    if (head & SPAN_WORK)
        buf_add_varint(out, s->work);
}

static void put_spans(const struct timeline *t, const struct timeline_lane *lane, struct buf *out)
{
    unsigned depth = 0;
    uint64_t before = 0;

    for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
        const struct timeline_span *s = &t->spans.a[i];
        const struct timeline_part *parts;
        size_t n = timeline_parts(t, i, &parts);
        int next_row = s->depth > depth;

        if (next_row)
            before = 0;
        put_span(out, s, span_head(s, next_row) | (n ? SPAN_PARTS : 0), before);
        if (n)
            put_parts(parts, n, out);
        depth = s->depth;
        before = s->end;
    }
}

static void put_points(const struct timeline *t, const struct timeline_lane *lane, struct buf *out)
{
    uint64_t before = 0;

    for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
        buf_add_varint(out, t->points.a[i].ts - before);
        buf_add_varint(out, t->points.a[i].value);
        before = t->points.a[i].ts;
    }
}

static void put_ticks(const struct timeline *t, const struct timeline_lane *lane, struct buf *out)
{
    uint64_t before = 0;

    for (uint32_t i = lane->tick; i < lane->tick + lane->nticks; i++) {
        buf_add_varint(out, t->ticks.a[i].ts - before);
        buf_add_varint(out, t->ticks.a[i].stack);
        buf_add_varint(out, t->ticks.a[i].n);
        before = t->ticks.a[i].ts;
    }
}

/* 0: a number without a unit; else 1 + 2 * the unit, + 1 for each second. */
static uint64_t unit_of(const struct timeline_lane *lane)
{
    const struct metric *m = lane->metric ? metrics_get((enum metric_id)lane->metric) : NULL;

    return m ? 1 + 2u * m->unit + (m->kind == METRIC_COUNTER) : 0;
}

static void put_lane(const struct timeline *t, const struct timeline_lane *lane, struct buf *out)
{
    const uint64_t head[] = {lane->kind,
                             lane->process,
                             lane->task,
                             lane->name,
                             lane->depth,
                             lane->from,
                             lane->to > lane->from ? lane->to - lane->from : 0,
                             lane->short_n,
                             lane->short_wait_ns,
                             lane->short_queued_ns,
                             lane->n,
                             lane->nticks,
                             unit_of(lane)};

    for (size_t i = 0; i < ARRAY_SIZE(head); i++)
        buf_add_varint(out, head[i]);
    if (lane->kind == TIMELINE_METRIC)
        put_points(t, lane, out);
    else
        put_spans(t, lane, out);
    put_ticks(t, lane, out);
}

void timeline_data_encode(const struct timeline *t, struct buf *out)
{
    put_strings(t, out);
    put_frames(t, out);
    put_nodes(t, out);
    put_tasks(t, out);
    put_works(t, out);
    buf_add_varint(out, t->lanes.n);
    for (size_t i = 0; i < t->lanes.n; i++)
        put_lane(t, &t->lanes.a[i], out);
}

void timeline_data_info(const struct timeline *t, struct json_writer *w)
{
    static const char *const classes[] = {
        [TIMELINE_RUNS] = "running", [TIMELINE_QUEUES] = "runnable", [TIMELINE_WAITS] = "waiting"};

    json_object(w, "timeline");
    json_u64(w, "end", t->end);
    json_u64(w, "from", t->from);
    json_u64(w, "to", t->to ? t->to : t->end);
    json_bool(w, "switches", t->states);
    json_array(w, "states");
    for (unsigned i = 0; i < TIMELINE_STATES; i++) {
        json_object(w, NULL);
        json_str(w, "id", looks[i].id);
        json_str(w, "label", timeline_state_name(i));
        json_str(w, "class", classes[timeline_class(i)]);
        json_end_object(w);
    }
    json_end_array(w);
    json_u64(w, "resolution", t->resolution);
    json_u64(w, "apart_from", t->apart_from);
    json_u64(w, "apart_to", t->apart_to);
    json_u64(w, "merged_spans", t->merged_spans);
    json_u64(w, "merged_ticks", t->merged_ticks);
    json_u64(w, "left_lanes", t->left_lanes);
    json_u64(w, "left_metrics", t->left_metrics);
    json_u64(w, "left_stacks", t->left_stacks);
    json_u64(w, "left_calls", t->left_calls);
    json_u64(w, "lost_spans", t->lost_spans);
    json_end_object(w);
}
