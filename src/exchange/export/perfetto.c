/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline as a Perfetto trace: packets of one sequence in the order of time. A thread's states are
 * slices on its track, samples are perf samples, marks and metrics have tracks below their process, a wake-up
 * is a flow.
 */
#include "base/lower.h"
#include "base/proto.h"
#include "exchange/export/export.h"
#include "exchange/export/perfetto_fields.h"

#include <stdio.h>
#include <string.h>

#define SEQUENCE 1

/* What happens at one moment, in the order in which equal times are written: an end goes before what begins
 * there, and who wakes before who is woken. */
enum what { WHAT_END, WHAT_WAKE, WHAT_BEGIN, WHAT_INSTANT, WHAT_COUNT, WHAT_SAMPLE };

struct entry {
    uint64_t ts;
    uint32_t lane, item; /* item: of spans, points or ticks */
    uint8_t what;
};

enum category { CATEGORY_STATE = 1, CATEGORY_WAKE, CATEGORY_MARK, CATEGORY_GPU, CATEGORY_CALL, CATEGORIES };
enum note { NOTE_WHAT = 1, NOTE_AT, NOTE_WOKEN_BY, NOTE_WOKEN_AT, NOTE_HELD_BY, NOTE_HELD_AT, NOTES };

static const char *const category_names[CATEGORIES] = {[CATEGORY_STATE] = "state",
                                                       [CATEGORY_WAKE] = "wake",
                                                       [CATEGORY_MARK] = "mark",
                                                       [CATEGORY_GPU] = "gpu",
                                                       [CATEGORY_CALL] = "call"};
static const char *const note_names[NOTES] = {
    [NOTE_WHAT] = "what",         [NOTE_AT] = "at",           [NOTE_WOKEN_BY] = "woken_by",
    [NOTE_WOKEN_AT] = "woken_at", [NOTE_HELD_BY] = "held_by", [NOTE_HELD_AT] = "held_at"};

/* Event names: states first, then "wakes", then strings of the timeline. */
enum { NAME_STATES = 1, NAME_WAKES = NAME_STATES + TIMELINE_STATES, NAME_STRINGS };

/* Spans: a call, and what it asked for. */
struct launch {
    uint32_t call, ran;
};

struct writer {
    const struct timeline *t;
    const struct meta *meta;
    struct buf *out;
    size_t packet;
    VEC(struct entry) entries;
    uint8_t *used_stacks, *used_strings, *used_processes; /* which of them events refer to */
    VEC(struct launch) launches;                          /* by call */
    struct buf text;
};

static const char *string(const struct writer *w, uint32_t id)
{
    return strtab_get(&w->t->stacks.strings, id);
}

/* ---- packets ---- */

static void begin_packet(struct writer *w, unsigned flags)
{
    w->packet = proto_begin(w->out, PF_TRACE_PACKET);
    proto_u64(w->out, PF_PACKET_SEQUENCE, SEQUENCE);
    proto_u64(w->out, PF_PACKET_SEQUENCE_FLAGS, flags);
}

static void end_packet(struct writer *w)
{
    proto_end(w->out, w->packet);
}

static void put_clock(struct writer *w, uint64_t id, uint64_t time)
{
    size_t at = proto_begin(w->out, PF_SNAPSHOT_CLOCKS);

    proto_u64(w->out, PF_CLOCK_FIELD_ID, id);
    proto_u64(w->out, PF_CLOCK_FIELD_TIME, time);
    proto_end(w->out, at);
}

/* Times are of CLOCK_MONOTONIC; what that is by the calendar is said once. */
static void put_clocks(struct writer *w)
{
    uint64_t start = w->meta->start_mono;
    size_t at;

    begin_packet(w, PF_SEQUENCE_CLEARED);
    at = proto_begin(w->out, PF_PACKET_DEFAULTS);
    proto_u64(w->out, PF_DEFAULTS_CLOCK, PF_BUILTIN_MONOTONIC);
    proto_end(w->out, at);
    at = proto_begin(w->out, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(w, PF_BUILTIN_MONOTONIC, start);
    put_clock(w, PF_BUILTIN_REALTIME, start + w->meta->realtime_offset);
    proto_u64(w->out, PF_SNAPSHOT_PRIMARY, PF_BUILTIN_MONOTONIC);
    proto_end(w->out, at);
    end_packet(w);
}

/* ---- what is referred to by number ---- */

static void intern(struct writer *w, unsigned field, uint64_t iid, const char *text)
{
    size_t at = proto_begin(w->out, field);

    proto_u64(w->out, PF_IID, iid);
    proto_str(w->out, PF_INTERNED_TEXT, text);
    proto_end(w->out, at);
}

static void intern_names(struct writer *w)
{
    for (unsigned c = 1; c < CATEGORIES; c++)
        intern(w, PF_INTERNED_CATEGORIES, c, category_names[c]);
    for (unsigned n = 1; n < NOTES; n++)
        intern(w, PF_INTERNED_ANNOTATION_NAMES, n, note_names[n]);
    for (unsigned s = 0; s < TIMELINE_STATES; s++)
        intern(w, PF_INTERNED_EVENT_NAMES, NAME_STATES + s, timeline_state_name(s));
    intern(w, PF_INTERNED_EVENT_NAMES, NAME_WAKES, "wakes");
    for (uint32_t id = 1; id <= strtab_count(&w->t->stacks.strings); id++)
        if (w->used_strings[id])
            intern(w, PF_INTERNED_EVENT_NAMES, NAME_STRINGS + id, string(w, id));
}

/* A frame's number is its index + 1, and its name's too. */
static void intern_frames(struct writer *w)
{
    const struct profile *p = &w->t->stacks;
    uint8_t *used = mem_calloc(p->frames.n, 1);

    for (size_t i = 1; i < p->nodes.n; i++)
        used[p->nodes.a[i].frame] = 1;
    for (uint32_t f = 0; f < p->frames.n; f++) {
        size_t at;

        if (!used[f])
            continue;
        buf_clear(&w->text);
        profile_frame_label(p, f, &w->text);
        intern(w, PF_INTERNED_FUNCTION_NAMES, f + 1, buf_str(&w->text));
        at = proto_begin(w->out, PF_INTERNED_FRAMES);
        proto_u64(w->out, PF_IID, f + 1);
        proto_u64(w->out, PF_FRAME_FUNCTION, f + 1);
        proto_end(w->out, at);
    }
    free(used);
}

static void intern_stack(struct writer *w, uint32_t stack)
{
    const struct profile_node *nodes = w->t->stacks.nodes.a;
    size_t at = proto_begin(w->out, PF_INTERNED_CALLSTACKS);
    VEC(uint32_t) frames = {0};

    proto_u64(w->out, PF_IID, stack);
    for (uint32_t i = stack; i; i = nodes[i].parent)
        *vec_push(&frames) = nodes[i].frame + 1;
    while (frames.n)
        proto_u64(w->out, PF_CALLSTACK_FRAME, frames.a[--frames.n]);
    proto_end(w->out, at);
    vec_release(&frames);
}

/* In packets of a bearable size. */
static void put_interned(struct writer *w)
{
    size_t at;

    begin_packet(w, PF_SEQUENCE_NEEDS_STATE);
    at = proto_begin(w->out, PF_PACKET_INTERNED);
    intern_names(w);
    intern_frames(w);
    for (uint32_t i = 1; i < w->t->stacks.nodes.n; i++) {
        if (!w->used_stacks[i])
            continue;
        intern_stack(w, i);
        if (w->out->len - at < 65536)
            continue;
        proto_end(w->out, at);
        end_packet(w);
        begin_packet(w, PF_SEQUENCE_NEEDS_STATE);
        at = proto_begin(w->out, PF_PACKET_INTERNED);
    }
    proto_end(w->out, at);
    end_packet(w);
}

/* ---- tracks ---- */

static uint64_t process_track(uint32_t process)
{
    return 1 + (uint64_t)process;
}

/* Of a lane's row. The row 0 of a thread is the thread itself. */
static uint64_t lane_track(uint32_t lane, unsigned depth)
{
    return (uint64_t)1 << 48 | (uint64_t)lane << 16 | depth;
}

static void begin_track(struct writer *w, size_t *at, uint64_t uuid)
{
    begin_packet(w, PF_SEQUENCE_NEEDS_STATE);
    *at = proto_begin(w->out, PF_PACKET_TRACK_DESCRIPTOR);
    proto_u64(w->out, PF_DESCRIPTOR_UUID, uuid);
}

static void end_track(struct writer *w, size_t at)
{
    proto_end(w->out, at);
    end_packet(w);
}

/* GPUs have a number, the machine none. */
static const char *process_name(struct writer *w, const struct timeline_process *p)
{
    buf_clear(&w->text);
    buf_addstr(&w->text, string(w, p->name));
    if (p->device)
        buf_addf(&w->text, " %u", p->pid);
    return buf_str(&w->text);
}

static void put_process(struct writer *w, uint32_t process)
{
    const struct timeline_process *p = &w->t->processes.a[process];
    size_t track, at;

    begin_track(w, &track, process_track(process));
    if (process && !p->device) {
        at = proto_begin(w->out, PF_DESCRIPTOR_PROCESS);
        proto_u64(w->out, PF_PROCESS_PID, p->pid);
        proto_str(w->out, PF_PROCESS_NAME, string(w, p->name));
        proto_end(w->out, at);
    } else {
        proto_str(w->out, PF_DESCRIPTOR_NAME, process_name(w, p));
    }
    end_track(w, track);
}

static void put_thread(struct writer *w, uint32_t lane)
{
    const struct timeline_task *task = &w->t->tasks.a[w->t->lanes.a[lane].task - 1];
    size_t track, at;

    begin_track(w, &track, lane_track(lane, 0));
    proto_u64(w->out, PF_DESCRIPTOR_PARENT, process_track(task->process));
    at = proto_begin(w->out, PF_DESCRIPTOR_THREAD);
    proto_u64(w->out, PF_THREAD_PID, task->pid);
    proto_u64(w->out, PF_THREAD_TID, task->tid);
    proto_str(w->out, PF_THREAD_NAME, string(w, task->name));
    proto_end(w->out, at);
    end_track(w, track);
}

/* unit NULL: slices are on it, and no values. */
static void put_row(struct writer *w, uint32_t lane, unsigned depth, const char *name, uint64_t parent,
                    const char *unit)
{
    size_t track, at;

    begin_track(w, &track, lane_track(lane, depth));
    proto_u64(w->out, PF_DESCRIPTOR_PARENT, parent);
    proto_str(w->out, PF_DESCRIPTOR_NAME, name);
    if (unit) {
        at = proto_begin(w->out, PF_DESCRIPTOR_COUNTER);
        if (*unit)
            proto_str(w->out, PF_COUNTER_UNIT_NAME, unit);
        proto_end(w->out, at);
    }
    end_track(w, track);
}

static void put_metric(struct writer *w, uint32_t i)
{
    const struct timeline_lane *lane = &w->t->lanes.a[i];

    buf_clear(&w->text);
    buf_addstr(&w->text, string(w, lane->name));
    if (lane->task)
        buf_addf(&w->text, " (%u)", w->t->tasks.a[lane->task - 1].tid);
    put_row(w, i, 0, w->text.data, process_track(lane->process), timeline_scale(lane).label);
}

/* The rows of a lane that are no thread's own. */
static void put_rows(struct writer *w, uint32_t i)
{
    const struct timeline_lane *lane = &w->t->lanes.a[i];
    int thread = lane->kind == TIMELINE_THREAD;
    char name[96];

    snprintf(name, sizeof(name), "%.80s",
             thread                         ? "GIL"
             : lane->kind == TIMELINE_MARKS ? "marks"
                                            : string(w, lane->name));
    if (lane->kind == TIMELINE_CALLS)
        snprintf(name, sizeof(name), "calls of %.60s (%u)", string(w, w->t->tasks.a[lane->task - 1].name),
                 w->t->tasks.a[lane->task - 1].tid);
    for (unsigned d = thread; d < lane->depth; d++)
        put_row(w, i, d, name, thread ? lane_track(i, 0) : process_track(lane->process), NULL);
}

static void put_tracks(struct writer *w)
{
    for (uint32_t i = 0; i < w->t->processes.n; i++)
        if (w->used_processes[i])
            put_process(w, i);
    for (uint32_t i = 0; i < w->t->lanes.n; i++) {
        const struct timeline_lane *lane = &w->t->lanes.a[i];

        if (lane->kind == TIMELINE_METRIC)
            put_metric(w, i);
        else if (lane->kind == TIMELINE_THREAD)
            put_thread(w, i);
        if (lane->kind != TIMELINE_METRIC)
            put_rows(w, i);
    }
}

/* ---- events ---- */

static void begin_event(struct writer *w, const struct entry *x, size_t *at, unsigned type, uint64_t track)
{
    begin_packet(w, PF_SEQUENCE_NEEDS_STATE);
    proto_u64(w->out, PF_PACKET_TIMESTAMP, w->meta->start_mono + x->ts);
    *at = proto_begin(w->out, PF_PACKET_TRACK_EVENT);
    proto_u64(w->out, PF_EVENT_TYPE, type);
    proto_u64(w->out, PF_EVENT_TRACK, track);
}

static void put_note(struct writer *w, enum note note, const char *text)
{
    size_t at = proto_begin(w->out, PF_EVENT_ANNOTATION);

    proto_u64(w->out, PF_ANNOTATION_NAME_IID, note);
    proto_str(w->out, PF_ANNOTATION_STRING, text);
    proto_end(w->out, at);
}

static void note_place(struct writer *w, enum note note, uint32_t stack)
{
    buf_clear(&w->text);
    timeline_place(w->t, stack, &w->text);
    if (w->text.len)
        put_note(w, note, w->text.data);
}

/* It is called by its name, not by its state. */
static int is_named(const struct timeline_span *s)
{
    return s->state == TIMELINE_MARK || (s->work && s->state < TIMELINE_IDLE);
}

static enum category category_of(const struct timeline_span *s)
{
    if (s->state == TIMELINE_MARK)
        return CATEGORY_MARK;
    if (s->state < TIMELINE_MARK || s->state >= TIMELINE_IDLE)
        return CATEGORY_STATE;
    return s->state <= TIMELINE_COPY ? CATEGORY_GPU : CATEGORY_CALL;
}

static void put_notes(struct writer *w, const struct timeline_span *s)
{
    const struct timeline_task *waker = s->waker ? &w->t->tasks.a[s->waker - 1] : NULL;

    if (s->name && !is_named(s))
        put_note(w, NOTE_WHAT, string(w, s->name));
    note_place(w, NOTE_AT, s->stack);
    if (waker) {
        buf_clear(&w->text);
        buf_addf(&w->text, "%s (%u)", string(w, waker->name), waker->tid);
        put_note(w, timeline_held(s) ? NOTE_HELD_BY : NOTE_WOKEN_BY, w->text.data);
        note_place(w, timeline_held(s) ? NOTE_HELD_AT : NOTE_WOKEN_AT, s->waker_stack);
    } else if (s->flags & TIMELINE_IRQ) {
        put_note(w, NOTE_WOKEN_BY, "[irq]");
    }
}

/* The lane of who ended the span before, where the wake-up is to be shown; 0: none. */
static uint32_t waker_lane(const struct writer *w, uint32_t lane, uint32_t item)
{
    const struct timeline_span *s = &w->t->spans.a[item], *next = s + 1;
    const struct timeline_lane *l = &w->t->lanes.a[lane];

    if (!s->waker || s->depth || item + 1 >= l->first + l->n || next->depth || next->start != s->end)
        return 0;
    return w->t->tasks.a[s->waker - 1].lane;
}

/* A flow has the number of what ran at its end; a graph's call begins many. */
static uint64_t launch_flow(uint32_t ran)
{
    return (uint64_t)1 << 40 | ran;
}

static int is_shown(const struct writer *w, const struct timeline_span *s)
{
    return s->launch && w->t->spans.a[s->launch - 1].start <= s->start;
}

static void put_launches(struct writer *w, uint32_t item, const struct timeline_span *s)
{
    size_t low = lower_bound(w->launches, call, item);

    if (is_shown(w, s))
        proto_fixed64(w->out, PF_EVENT_FLOW_END, launch_flow(item));
    for (; low < w->launches.n && w->launches.a[low].call == item; low++)
        proto_fixed64(w->out, PF_EVENT_FLOW, launch_flow(w->launches.a[low].ran));
}

static void put_begin(struct writer *w, const struct entry *x)
{
    const struct timeline_span *s = &w->t->spans.a[x->item];
    int mark = s->state == TIMELINE_MARK;
    size_t at;

    begin_event(w, x, &at, x->what == WHAT_INSTANT ? PF_TYPE_INSTANT : PF_TYPE_BEGIN,
                lane_track(x->lane, s->depth));
    proto_u64(w->out, PF_EVENT_CATEGORY_IID, category_of(s));
    proto_u64(w->out, PF_EVENT_NAME_IID,
              is_named(s) && s->name ? NAME_STRINGS + s->name : NAME_STATES + (uint64_t)s->state);
    if (s->stack)
        proto_u64(w->out, PF_EVENT_CALLSTACK_IID, s->stack);
    if (!mark)
        put_notes(w, s);
    if (x->item > w->t->lanes.a[x->lane].first && waker_lane(w, x->lane, x->item - 1))
        proto_fixed64(w->out, PF_EVENT_FLOW_END, x->item);
    put_launches(w, x->item, s);
    proto_end(w->out, at);
    end_packet(w);
}

static void put_end(struct writer *w, const struct entry *x)
{
    size_t at;

    begin_event(w, x, &at, PF_TYPE_END, lane_track(x->lane, w->t->spans.a[x->item].depth));
    proto_end(w->out, at);
    end_packet(w);
}

/* On the waker's track; the flow has the number of the span that begins with it. */
static void put_wake(struct writer *w, const struct entry *x)
{
    size_t at;

    begin_event(w, x, &at, PF_TYPE_INSTANT, lane_track(waker_lane(w, x->lane, x->item) - 1, 0));
    proto_u64(w->out, PF_EVENT_CATEGORY_IID, CATEGORY_WAKE);
    proto_u64(w->out, PF_EVENT_NAME_IID, NAME_WAKES);
    if (w->t->spans.a[x->item].waker_stack)
        proto_u64(w->out, PF_EVENT_CALLSTACK_IID, w->t->spans.a[x->item].waker_stack);
    proto_fixed64(w->out, PF_EVENT_FLOW, x->item + 1);
    proto_end(w->out, at);
    end_packet(w);
}

static void put_count(struct writer *w, const struct entry *x)
{
    double factor = timeline_scale(&w->t->lanes.a[x->lane]).factor;
    uint64_t value = w->t->points.a[x->item].value, bits;
    size_t at;

    begin_event(w, x, &at, PF_TYPE_COUNTER, lane_track(x->lane, 0));
    if (factor == 1) {
        proto_u64(w->out, PF_EVENT_COUNTER_VALUE, value);
    } else {
        double scaled = (double)value * factor;

        memcpy(&bits, &scaled, sizeof(bits));
        proto_fixed64(w->out, PF_EVENT_COUNTER_DOUBLE, bits);
    }
    proto_end(w->out, at);
    end_packet(w);
}

static void put_sample(struct writer *w, const struct entry *x)
{
    const struct timeline_task *task = &w->t->tasks.a[w->t->lanes.a[x->lane].task - 1];
    size_t at;

    begin_packet(w, PF_SEQUENCE_NEEDS_STATE);
    proto_u64(w->out, PF_PACKET_TIMESTAMP, w->meta->start_mono + x->ts);
    at = proto_begin(w->out, PF_PACKET_PERF_SAMPLE);
    proto_u64(w->out, PF_SAMPLE_PID, task->pid);
    proto_u64(w->out, PF_SAMPLE_TID, task->tid);
    if (w->t->ticks.a[x->item].stack)
        proto_u64(w->out, PF_SAMPLE_CALLSTACK, w->t->ticks.a[x->item].stack);
    proto_end(w->out, at);
    end_packet(w);
}

static void put_entry(struct writer *w, const struct entry *x)
{
    static void (*const put[])(struct writer *, const struct entry *) = {
        [WHAT_END] = put_end,       [WHAT_WAKE] = put_wake,   [WHAT_BEGIN] = put_begin,
        [WHAT_INSTANT] = put_begin, [WHAT_COUNT] = put_count, [WHAT_SAMPLE] = put_sample};

    put[x->what](w, x);
}

/* ---- their order ---- */

static void add(struct writer *w, uint64_t ts, uint32_t lane, uint32_t item, enum what what)
{
    *vec_push(&w->entries) = (struct entry){ts, lane, item, (uint8_t)what};
}

static void add_span(struct writer *w, uint32_t lane, uint32_t i)
{
    const struct timeline_span *s = &w->t->spans.a[i];

    w->used_stacks[s->stack] = 1;
    if (is_named(s))
        w->used_strings[s->name] = 1;
    if (is_shown(w, s))
        *vec_push(&w->launches) = (struct launch){s->launch - 1, i};
    if (s->start == s->end) {
        add(w, s->start, lane, i, WHAT_INSTANT);
        return;
    }
    add(w, s->start, lane, i, WHAT_BEGIN);
    add(w, s->end, lane, i, WHAT_END);
    if (!waker_lane(w, lane, i))
        return;
    add(w, s->end, lane, i, WHAT_WAKE);
    w->used_stacks[s->waker_stack] = 1;
}

static void add_lane(struct writer *w, uint32_t i)
{
    const struct timeline_lane *lane = &w->t->lanes.a[i];

    w->used_processes[lane->process] = 1;
    for (uint32_t k = lane->first; k < lane->first + lane->n; k++) {
        if (lane->kind == TIMELINE_METRIC)
            add(w, w->t->points.a[k].ts, i, k, WHAT_COUNT);
        else
            add_span(w, i, k);
    }
    for (uint32_t k = lane->tick; k < lane->tick + lane->nticks; k++) {
        w->used_stacks[w->t->ticks.a[k].stack] = 1;
        add(w, w->t->ticks.a[k].ts, i, k, WHAT_SAMPLE);
    }
}

static int by_time(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

static int by_call(const void *pa, const void *pb)
{
    const struct launch *a = pa, *b = pb;

    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return a->ran < b->ran ? -1 : a->ran > b->ran;
}

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    const struct timeline *t = in->timeline;
    struct writer w = {.t = t, .meta = &in->session->meta, .out = out};

    w.used_stacks = mem_calloc(t->stacks.nodes.n + 1, 1);
    w.used_strings = mem_calloc((size_t)strtab_count(&t->stacks.strings) + 1, 1);
    w.used_processes = mem_calloc(t->processes.n, 1);
    for (uint32_t i = 0; i < t->lanes.n; i++)
        add_lane(&w, i);
    if (w.launches.n)
        qsort(w.launches.a, w.launches.n, sizeof(*w.launches.a), by_call);
    if (w.entries.n)
        qsort(w.entries.a, w.entries.n, sizeof(*w.entries.a), by_time);
    put_clocks(&w);
    put_interned(&w);
    put_tracks(&w);
    for (size_t i = 0; i < w.entries.n; i++)
        put_entry(&w, &w.entries.a[i]);
    free(w.used_stacks);
    free(w.used_strings);
    vec_release(&w.launches);
    free(w.used_processes);
    vec_release(&w.entries);
    buf_release(&w.text);
    return 0;
}

const struct exporter export_perfetto = {
    .name = "perfetto",
    .summary = "the timeline as a Perfetto trace: what ui.perfetto.dev and trace_processor read",
    .wants_timeline = 1,
    .run = run,
};
