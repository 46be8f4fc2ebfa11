/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_log.h"

#include "base/mem.h"
#include "model/numbered.h"
#include "model/store_visit.h"

#include <stdlib.h>
#include <string.h>

enum {
    ASKED = 1 << 18,      /* places, of correlation ids in their order */
    MARKS_OPEN = 1 << 16, /* ranges at once */
    TABLE_MOST = 1 << 20, /* ids of one kind: the agent has fewer */
};

struct reading {
    struct cursor c;
    int64_t correlation, time; /* of the last item */
};

void gpu_log_init(struct gpu_log *l, struct store *s)
{
    *l = (struct gpu_log){.store = s};
    l->asked = mem_calloc(ASKED, sizeof(*l->asked));
}

static void forget_all(struct gpu_log *l)
{
    for (size_t i = 0; i < l->codes.n; i++) {
        py_code_release(&l->codes.a[i]->code);
        free(l->codes.a[i]);
    }
    vec_clear(&l->codes);
    vec_clear(&l->text);
    vec_clear(&l->works);
    vec_clear(&l->modules);
    vec_clear(&l->frames);
    vec_clear(&l->stacks);
    buf_clear(&l->texts);
}

void gpu_log_release(struct gpu_log *l)
{
    forget_all(l);
    buf_release(&l->texts);
    vec_release(&l->text);
    vec_release(&l->works);
    vec_release(&l->modules);
    vec_release(&l->codes);
    vec_release(&l->frames);
    vec_release(&l->stacks);
    vec_release(&l->marks);
    map_release(&l->nodes);
    gpu_clock_release(&l->clock);
    free(l->asked);
    vec_release(&l->devices);
}

void gpu_log_ids(struct gpu_log *l, struct store_visit *v)
{
    for (size_t i = 0; i < l->marks.n; i++)
        store_visit_string(v, &l->marks.a[i].text);
    if (!v->moved)
        return;
    for (size_t i = 0; i < l->works.n; i++)
        l->works.a[i].store = 0;
    for (size_t i = 0; i < l->frames.n; i++)
        l->frames.a[i].store = 0;
    for (size_t i = 0; i < l->stacks.n; i++)
        l->stacks.a[i].store = 0;
}

const char *gpu_log_text(const struct gpu_log *l, uint32_t id)
{
    return id && id <= l->text.n ? l->texts.data + l->text.a[id - 1] : "";
}

/* ---- fields ---- */

static uint32_t number32(struct reading *r)
{
    uint64_t v = cursor_varint(&r->c);

    if (v > UINT32_MAX)
        r->c.bad = 1;
    return (uint32_t)v;
}

/* An id of a table with n rows. */
static uint32_t id_of(struct reading *r, size_t n)
{
    uint32_t id = number32(r);

    if (id > n)
        r->c.bad = 1;
    return id;
}

static uint32_t correlation(struct reading *r)
{
    r->correlation = (int64_t)((uint64_t)r->correlation + (uint64_t)cursor_svarint(&r->c));
    return (uint32_t)r->correlation;
}

static uint64_t moment(struct reading *r)
{
    r->time = (int64_t)((uint64_t)r->time + (uint64_t)cursor_svarint(&r->c));
    return (uint64_t)r->time;
}

static const void *bytes(struct reading *r, size_t most, size_t *n)
{
    uint64_t len = cursor_varint(&r->c);

    *n = 0;
    if (len > most) {
        r->c.bad = 1;
        return NULL;
    }
    *n = (size_t)len;
    return cursor_bytes(&r->c, *n);
}

/* ---- what defines ids ---- */

static void take_text(struct gpu_log *l, struct reading *r)
{
    size_t n, at = l->texts.len;
    const char *p = bytes(r, GPU_WIRE_TEXT, &n);

    if (r->c.bad)
        return;
    buf_add(&l->texts, p, strnlen(p, n));
    buf_addch(&l->texts, '\0');
    *vec_push(&l->text) = at;
}

static void take_work(struct gpu_log *l, struct reading *r)
{
    struct gpu_wire_work w = {0};

    w.op = number32(r);
    w.name = id_of(r, l->text.n);
    w.device = number32(r);
    w.context = number32(r);
    w.stream = number32(r);
    for (int i = 0; i < 3; i++)
        w.grid[i] = number32(r);
    for (int i = 0; i < 3; i++)
        w.block[i] = number32(r);
    w.shared = number32(r);
    w.registers = number32(r);
    w.graph = number32(r);
    w.node = number32(r);
    w.what = number32(r);
    w.from = number32(r);
    w.to = number32(r);
    w.result = number32(r);
    w.bytes = cursor_varint(&r->c);
    *vec_push(&l->works) = (struct gpu_log_work){.wire = w};
}

static void take_module(struct gpu_log *l, struct reading *r)
{
    struct gpu_log_module m = {.path = id_of(r, l->text.n)};
    size_t n;
    const void *id = bytes(r, sizeof(m.build_id), &n);

    if (id && n)
        memcpy(m.build_id, id, n);
    m.build_id_len = (uint8_t)n;
    *vec_push(&l->modules) = m;
}

static void take_code(struct gpu_log *l, struct reading *r)
{
    struct gpu_log_code *c = mem_calloc(1, sizeof(*c));
    unsigned version = number32(r);
    const void *lines;
    size_t n;

    c->code.firstline = number32(r);
    c->name = id_of(r, l->text.n);
    c->file = id_of(r, l->text.n);
    lines = bytes(r, GPU_WIRE_LINES, &n);
    *vec_push(&l->codes) = c;
    if (r->c.bad || !n)
        return;
    c->code.has_lines = 1;
    py_lines_decode(&c->code.lines, version, c->code.firstline, lines, n);
}

static void take_frame(struct gpu_log *l, struct reading *r)
{
    struct gpu_log_frame f = {0};

    if (number32(r)) {
        f.module = id_of(r, l->modules.n);
        f.addr = cursor_varint(&r->c);
    } else {
        f.code = id_of(r, l->codes.n);
        f.lasti = (int32_t)cursor_svarint(&r->c);
        r->c.bad |= !f.code;
    }
    *vec_push(&l->frames) = f;
}

static void take_stack(struct gpu_log *l, struct reading *r)
{
    struct gpu_log_stack s = {.parent = id_of(r, l->stacks.n)};

    s.frame = id_of(r, l->frames.n);
    r->c.bad |= !s.frame;
    *vec_push(&l->stacks) = s;
}

/* ---- what happened ---- */

static struct gpu_asked *asked_at(struct gpu_log *l, uint32_t correlation)
{
    return &l->asked[correlation & (ASKED - 1)];
}

/* Counted where it is outside of the recording. */
static int is_outside(struct gpu_log *l, uint64_t ts, uint64_t end)
{
    int out = !ts || end < l->begin || (l->end && ts > l->end);

    l->outside += out;
    return out;
}

static struct event *push(struct gpu_log *l, uint16_t kind, uint64_t ts, uint64_t dur)
{
    struct event *ev = vec_push(&l->store->events);

    *ev = (struct event){.ts = ts, .dur = dur, .kind = kind};
    l->events++;
    return ev;
}

static uint32_t task_of(struct gpu_log *l, uint32_t tid)
{
    return tid && l->task ? l->task(l->arg, l, tid) : 0;
}

/* A graph's kernels all have the correlation of its launch; where each was made says more. */
static uint32_t stack_of(struct gpu_log *l, const struct gpu_wire_work *w, const struct gpu_asked *by)
{
    uint64_t *made = w->node ? map_get(&l->nodes, w->node) : NULL;

    return gpu_log_store_stack(l, made && *made ? (uint32_t)*made : by ? by->stack : 0);
}

static void take_span(struct gpu_log *l, struct reading *r, int on_device)
{
    uint32_t id = correlation(r);
    uint64_t start = moment(r), dur = cursor_varint(&r->c), ts;
    uint32_t work = id_of(r, l->works.n), tid = on_device ? 0 : number32(r);
    struct gpu_asked *by = id ? asked_at(l, id) : NULL;
    const struct gpu_wire_work *w;
    struct event *ev;

    if (r->c.bad || !work) {
        r->c.bad = 1;
        return;
    }
    w = &l->works.a[work - 1].wire;
    if (by && !on_device && tid && by->correlation != id)
        *by = (struct gpu_asked){id, tid, 0};
    if (by && (by->correlation != id || !by->tid))
        by = NULL;
    ts = gpu_clock_ours(&l->clock, start);
    if (is_outside(l, ts, ts + dur))
        return;
    l->on_device += on_device;
    l->unasked += on_device && !by;
    if (!tid && by)
        tid = by->tid;
    ev = push(l, EVENT_GPU, ts, dur);
    ev->value = id;
    ev->task = task_of(l, tid);
    ev->stack = stack_of(l, w, by);
    ev->attr = gpu_log_store_work(l, work);
}

static void take_memory(struct gpu_log *l, struct reading *r)
{
    uint32_t id = correlation(r);
    uint64_t ts = gpu_clock_ours(&l->clock, moment(r));
    uint32_t work = id_of(r, l->works.n);
    uint64_t address = cursor_varint(&r->c);
    const struct gpu_asked *by = asked_at(l, id);
    struct event *ev;

    if (r->c.bad || !work) {
        r->c.bad = 1;
        return;
    }
    if (is_outside(l, ts, ts))
        return;
    if (!id || by->correlation != id)
        by = NULL;
    ev = push(l, EVENT_GPU, ts, 0);
    ev->value = address;
    ev->task = task_of(l, by ? by->tid : 0);
    ev->stack = gpu_log_store_stack(l, by ? by->stack : 0);
    ev->attr = gpu_log_store_work(l, work);
}

static void push_mark(struct gpu_log *l, uint64_t ts, uint64_t end, uint32_t text, uint32_t tid,
                      uint16_t flags)
{
    struct event *ev;

    if (is_outside(l, ts, end))
        return;
    ev = push(l, EVENT_MARKER, ts, end > ts ? end - ts : 0);
    ev->value = 1;
    ev->metric = text;
    ev->flags = flags;
    ev->task = task_of(l, tid);
}

static void end_mark(struct gpu_log *l, uint32_t id, uint64_t ts)
{
    for (size_t i = l->marks.n; i-- > 0;) {
        struct gpu_log_mark m = l->marks.a[i];

        if (m.id != id)
            continue;
        l->marks.a[i] = l->marks.a[--l->marks.n];
        push_mark(l, m.ts, ts, m.text, m.tid, 0);
        return;
    }
}

/* "batch 12" of "batch_12": a unit of work as marks are written. */
static uint32_t range_name(struct gpu_log *l, uint32_t text)
{
    struct strtab *t = &l->store->strings;
    uint32_t word, mark;

    return numbered_names(t, gpu_log_text(l, text), &word, &mark) ? mark
                                                                  : strtab_add(t, gpu_log_text(l, text));
}

static void take_mark(struct gpu_log *l, struct reading *r)
{
    uint64_t ts = cursor_varint(&r->c);
    uint32_t kind = number32(r), id = number32(r), text = id_of(r, l->text.n), tid = number32(r);

    if (r->c.bad)
        return;
    l->marked++;
    if (kind == GPU_MARK_END) {
        end_mark(l, id, ts);
        return;
    }
    if (kind == GPU_MARK_BEGIN && l->marks.n < MARKS_OPEN)
        *vec_push(&l->marks) =
            (struct gpu_log_mark){.id = id, .text = range_name(l, text), .tid = tid, .ts = ts};
    else
        push_mark(l, ts, ts, strtab_add(&l->store->strings, gpu_log_text(l, text)), tid, 0);
}

/* Since the last flush that gave records: what ran from then on is not known. */
static void push_taken(struct gpu_log *l, uint64_t ts, uint16_t flags)
{
    uint64_t from = l->states.number[GPU_TAKEN] ? l->states.number[GPU_TAKEN] : l->states.ts[GPU_TAKEN];

    push_mark(l, from, ts, strtab_add(&l->store->strings, GPU_TAKEN_MARK), l->pid, flags);
}

void gpu_log_end(struct gpu_log *l, uint64_t ts)
{
    for (size_t i = 0; i < l->marks.n; i++)
        push_mark(l, l->marks.a[i].ts, ts, l->marks.a[i].text, l->marks.a[i].tid, EVENT_OPEN);
    if (l->states.seen[GPU_TAKEN] > l->states.seen[GPU_RETAKEN])
        push_taken(l, ts, EVENT_OPEN);
    vec_clear(&l->marks);
}

/* ---- the agent itself ---- */

static void take_hello(struct gpu_log *l, struct reading *r)
{
    uint32_t version = number32(r), pid = number32(r);

    cursor_varint(&r->c);
    l->pid_space = cursor_varint(&r->c);
    if (version != GPU_WIRE_VERSION || !pid)
        r->c.bad = 1;
    else
        l->pid = pid;
}

static void take_state(struct gpu_log *l, struct reading *r)
{
    uint32_t state = number32(r);
    uint64_t number = cursor_varint(&r->c), ts = cursor_varint(&r->c);

    if (r->c.bad || state >= GPU_STATES)
        return;
    if (state == GPU_RETAKEN && l->states.seen[GPU_TAKEN])
        push_taken(l, ts, 0);
    l->states.seen[state]++;
    l->states.number[state] = number;
    l->states.ts[state] = ts;
}

static void take_clock(struct gpu_log *l, struct reading *r)
{
    uint64_t theirs = cursor_varint(&r->c), ours = cursor_varint(&r->c), width = cursor_varint(&r->c);

    if (!r->c.bad)
        gpu_clock_add(&l->clock, theirs, ours, width);
}

static void take_launch(struct gpu_log *l, struct reading *r)
{
    struct gpu_asked x = {.correlation = correlation(r), .tid = number32(r)};

    x.stack = id_of(r, l->stacks.n);
    if (!r->c.bad)
        *asked_at(l, x.correlation) = x;
}

static void take_node(struct gpu_log *l, struct reading *r)
{
    uint32_t node = number32(r), original = number32(r), stack = id_of(r, l->stacks.n);
    uint64_t *of = original ? map_get(&l->nodes, original) : NULL;

    if (!r->c.bad && node && l->nodes.n < TABLE_MOST)
        *map_put(&l->nodes, node) = stack ? stack : of ? *of : 0;
}

static void take_rank(struct gpu_log *l, struct reading *r)
{
    uint32_t rank = number32(r);

    r->c.bad |= rank >= GPU_WIRE_RANKS;
    if (!r->c.bad)
        l->rank = rank + 1;
}

static void take_device(struct gpu_log *l, struct reading *r)
{
    uint32_t number = number32(r), wished = number32(r);
    uint64_t n = cursor_varint(&r->c);
    const void *uuid = n == GPU_UUID_BYTES ? cursor_bytes(&r->c, n) : NULL;

    r->c.bad |= number >= GPU_WIRE_DEVICES || wished >= GPU_WIRE_DEVICES || (n && !uuid);
    if (r->c.bad || !l->shared)
        return;
    while (l->devices.n <= number)
        *vec_push(&l->devices) = 0;
    l->devices.a[number] = gpu_devices_find(l->shared, wished, uuid) + 1;
}

static void take_counts(struct gpu_log *l, struct reading *r)
{
    uint32_t n = number32(r);
    uint64_t until;

    for (uint32_t i = 0; i < n && !r->c.bad; i++) {
        uint64_t v = cursor_varint(&r->c);

        if (i < GPU_COUNTS_N && !r->c.bad)
            l->counts[i] = v;
    }
    until = cursor_varint(&r->c);
    if (!r->c.bad)
        l->told_to = until;
}

/* Stacks from before are void: what refers to them has none. */
static void take_reset(struct gpu_log *l)
{
    forget_all(l);
    map_release(&l->nodes);
    for (size_t i = 0; i < ASKED; i++)
        l->asked[i].stack = 0;
}

static void take(struct gpu_log *l, struct reading *r, enum gpu_item item)
{
    static void (*const items[GPU_ITEMS])(struct gpu_log *, struct reading *) = {
        [GPU_HELLO] = take_hello,      [GPU_STATE] = take_state,   [GPU_CLOCK] = take_clock,
        [GPU_TEXT] = take_text,        [GPU_WORK] = take_work,     [GPU_MODULE] = take_module,
        [GPU_CODE] = take_code,        [GPU_FRAME] = take_frame,   [GPU_STACK] = take_stack,
        [GPU_LAUNCH] = take_launch,    [GPU_MEMORY] = take_memory, [GPU_MARK] = take_mark,
        [GPU_NODE] = take_node,        [GPU_COUNTS] = take_counts, [GPU_RANK] = take_rank,
        [GPU_DEVICE_IS] = take_device,
    };

    if (item == GPU_RAN || item == GPU_CALL)
        take_span(l, r, item == GPU_RAN);
    else if (item == GPU_RESET)
        take_reset(l);
    else if (item < GPU_ITEMS && items[item])
        items[item](l, r);
    else
        r->c.bad = 1;
}

static int is_full(const struct gpu_log *l)
{
    return l->text.n >= TABLE_MOST || l->works.n >= TABLE_MOST || l->modules.n >= TABLE_MOST ||
           l->codes.n >= TABLE_MOST || l->frames.n >= TABLE_MOST || l->stacks.n >= TABLE_MOST;
}

void gpu_log_block(struct gpu_log *l, const void *p, size_t n)
{
    struct reading r = {.c = cursor_init(p, n)};

    while (r.c.p < r.c.end && !r.c.bad) {
        enum gpu_item item = (enum gpu_item)cursor_uint(&r.c, 1);

        if (is_full(l) || (!l->pid && item != GPU_HELLO))
            r.c.bad = 1;
        else
            take(l, &r, item);
    }
    l->damaged += r.c.bad != 0;
}
