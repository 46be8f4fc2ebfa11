/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/chrome.h"

#include "base/hash.h"
#include "model/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gpu_work *work_of(const struct chrome *w, const struct timeline_span *s)
{
    return s->work ? &w->t->works.a[s->work - 1] : NULL;
}

static uint64_t call_key(const struct timeline_lane *lane, uint64_t correlation)
{
    return hash_mix(correlation, lane->process);
}

static int is_step(const char *name)
{
    return !strncmp(name, "ProfilerStep#", strlen("ProfilerStep#"));
}

/* Each process counts correlation ids on its own: of several, each call gets another number. lane: the
 * call's; NULL: it was not seen. */
static uint64_t number_of(struct chrome *w, const struct timeline_lane *lane, uint64_t correlation)
{
    uint64_t *number;

    if (!w->many_callers || !correlation)
        return correlation;
    if (!lane)
        return 0;
    number = map_put(&w->ids, call_key(lane, correlation));
    if (!*number)
        *number = w->ids.n;
    return *number;
}

/* Behind the numbers of all streams. */
static void number_rows(struct chrome *w)
{
    uint32_t next = 0;

    w->over = mem_calloc(w->t->lanes.n + 1, sizeof(*w->over));
    for (size_t i = 0; i < w->t->lanes.n; i++)
        if (w->t->lanes.a[i].kind == TIMELINE_STREAM && w->t->lanes.a[i].stream >= next)
            next = w->t->lanes.a[i].stream + 1;
    for (size_t i = 0; i < w->t->lanes.n; i++) {
        w->over[i] = next;
        next += w->t->lanes.a[i].kind == TIMELINE_STREAM ? w->t->lanes.a[i].depth : 0;
    }
}

uint32_t chrome_gpu_row(const struct chrome *w, const struct timeline_lane *lane, unsigned depth)
{
    return depth ? w->over[lane - w->t->lanes.a] + depth - 1 : lane->stream;
}

void chrome_gpu_look(struct chrome *w)
{
    uint32_t caller = UINT32_MAX;

    number_rows(w);

    for (size_t i = 0; i < w->t->lanes.n; i++) {
        const struct timeline_lane *lane = &w->t->lanes.a[i];

        for (uint32_t k = lane->first; lane->kind == TIMELINE_CALLS && k < lane->first + lane->n; k++) {
            const struct timeline_span *s = &w->t->spans.a[k];
            const struct gpu_work *work = work_of(w, s);

            if (work && work->op == GPU_RUNTIME && s->correlation)
                *map_put(&w->runtime, call_key(lane, s->correlation)) = 1;
            if (s->correlation) {
                w->many_callers |= caller != UINT32_MAX && caller != lane->process;
                caller = lane->process;
            }
        }
    }
    for (size_t i = 0; i < w->t->works.n; i++)
        w->has_steps |= is_step(chrome_string(w, w->t->works.a[i].name));
}

void chrome_gpu_release(struct chrome *w)
{
    map_release(&w->runtime);
    map_release(&w->ids);
    free(w->over);
}

/* ---- what ran ---- */

static const char *const places[GPU_PLACES] = {
    [GPU_PLACE_UNKNOWN] = "Unknown",
    [GPU_PAGEABLE] = "Pageable",
    [GPU_PINNED] = "Pinned",
    [GPU_DEVICE] = "Device",
    [GPU_ARRAY] = "Array",
    [GPU_MANAGED] = "Managed",
    [GPU_HOST] = "Host",
};

static const char *place(unsigned p)
{
    return places[p < GPU_PLACES ? p : GPU_PLACE_UNKNOWN];
}

static char side(unsigned p)
{
    return p == GPU_PAGEABLE || p == GPU_PINNED || p == GPU_HOST ? 'H' : p == GPU_ARRAY ? 'A' : 'D';
}

void chrome_gpu_name(const char *name, const struct gpu_work *work, struct buf *out)
{
    if (work->op == GPU_COPY && !strstr(name, "Memcpy"))
        buf_addf(out, "Memcpy %cto%c (%s -> %s)", side(work->from), side(work->to), place(work->from),
                 place(work->to));
    else if (work->op == GPU_SET && !strstr(name, "Memset"))
        buf_addf(out, "Memset (%s)", place(work->to));
    else
        buf_addstr(out, *name ? name : "[unnamed]");
}

static void three(struct chrome *w, const char *key, const uint32_t *v)
{
    if (!v[0])
        return;
    json_array(&w->json, key);
    for (int i = 0; i < 3; i++)
        json_u64(&w->json, NULL, v[i]);
    json_end_array(&w->json);
}

static const struct timeline_lane *lane_of(const struct timeline *t, uint32_t span)
{
    for (size_t i = 0; i < t->lanes.n; i++) {
        const struct timeline_lane *lane = &t->lanes.a[i];

        if (lane->kind == TIMELINE_CALLS && span >= lane->first && span < lane->first + lane->n)
            return lane;
    }
    return NULL;
}

/* What is not told is left out. */
static void number(struct chrome *w, const char *key, uint64_t v)
{
    if (v)
        json_u64(&w->json, key, v);
}

static void ran_args(struct chrome *w, const struct timeline_lane *caller, const struct timeline_span *s,
                     const struct gpu_work *work)
{
    uint64_t correlation = number_of(w, caller, s->correlation);

    json_object(&w->json, "args");
    json_u64(&w->json, "device", work->device ? work->device - 1u : 0);
    json_u64(&w->json, "context", work->context);
    json_u64(&w->json, "stream", work->stream);
    if (correlation || !s->correlation)
        json_u64(&w->json, "correlation", correlation);
    if (work->op == GPU_KERNEL) {
        number(w, "registers per thread", work->registers);
        number(w, "shared memory", work->shared);
        three(w, "grid", work->grid);
        three(w, "block", work->block);
        if (work->occupancy)
            json_f64(&w->json, "est. achieved occupancy %", (work->occupancy - 1) / 10.0);
    }
    if (work->graph || work->node) {
        json_u64(&w->json, "graph id", work->graph);
        json_u64(&w->json, "graph node id", work->node);
    }
    if (work->op == GPU_COPY || work->op == GPU_SET) {
        number(w, "bytes", work->bytes);
        if (work->bytes && s->end > s->start)
            json_f64(&w->json, "memory bandwidth (GB/s)", (double)work->bytes / (double)(s->end - s->start));
    }
    json_end_object(&w->json);
}

static const char *ran_category(const struct gpu_work *work)
{
    return work->op == GPU_COPY ? "gpu_memcpy" : work->op == GPU_SET ? "gpu_memset" : "kernel";
}

static void put_arrow(struct chrome *w, const struct timeline_lane *lane, const struct timeline_span *s,
                      uint32_t pid, uint32_t tid)
{
    const struct timeline_span *call = &w->t->spans.a[s->launch - 1];

    for (int end = 0; end < 2; end++) {
        const struct timeline_task *task = &w->t->tasks.a[lane->task - 1];

        chrome_begin(w, end ? "f" : "s", "ac2g", end ? pid : task->pid, end ? tid : task->tid);
        json_str(&w->json, "cat", "ac2g");
        json_u64(&w->json, "id", number_of(w, lane, s->correlation));
        json_f64(&w->json, "ts", chrome_us(end ? s->start : call->start));
        if (end)
            json_str(&w->json, "bp", "e");
        json_end_object(&w->json);
    }
}

/* chrome_begin() takes thread 0 for none: stream 0 is one. */
static void begin_on_stream(struct chrome *w, const char *name, uint32_t pid, uint32_t tid)
{
    buf_addch(w->json.out, '\n');
    json_object(&w->json, NULL);
    json_str(&w->json, "ph", "X");
    json_str(&w->json, "name", name);
    json_u64(&w->json, "pid", pid);
    json_u64(&w->json, "tid", tid);
}

static void put_ran(struct chrome *w, const struct timeline_lane *lane, const struct timeline_span *s)
{
    const struct gpu_work *work = work_of(w, s);
    const struct timeline_lane *caller = s->launch ? lane_of(w->t, s->launch - 1) : NULL;
    uint32_t pid = chrome_pid(w, lane->process), tid = chrome_gpu_row(w, lane, s->depth);
    struct buf name = {0};

    chrome_gpu_name(chrome_string(w, work->name), work, &name);
    begin_on_stream(w, buf_str(&name), pid, tid);
    json_str(&w->json, "cat", ran_category(work));
    json_f64(&w->json, "ts", chrome_us(s->start));
    json_f64(&w->json, "dur", chrome_us(s->end - s->start));
    chrome_stack(w, s->stack);
    ran_args(w, caller, s, work);
    json_end_object(&w->json);
    if (caller)
        put_arrow(w, caller, s, pid, tid);
    buf_release(&name);
}

/* An annotation as it showed on a stream, around what ran there. */
static void put_range(struct chrome *w, const struct timeline_lane *lane, const struct timeline_span *s)
{
    const struct gpu_work *work = work_of(w, s);

    begin_on_stream(w, chrome_string(w, work->name), chrome_pid(w, lane->process), work->stream);
    json_str(&w->json, "cat", "gpu_user_annotation");
    json_f64(&w->json, "ts", chrome_us(s->start));
    json_f64(&w->json, "dur", chrome_us(s->end - s->start));
    json_end_object(&w->json);
}

/* ---- calls ---- */

/* Its own frame is the innermost of where it was. */
static int is_annotation(const struct chrome *w, const struct timeline_span *s, const char *name)
{
    const struct profile *p = &w->t->stacks;

    return is_step(name) || (s->stack && p->frames.a[p->nodes.a[s->stack].frame].kind == FRAME_MARKER);
}

static const char *call_category(const struct chrome *w, const struct timeline_span *s, const char *name,
                                 const struct gpu_work *work)
{
    switch (work->op) {
    case GPU_RUNTIME:
        return "cuda_runtime";
    case GPU_DRIVER:
        return "cuda_driver";
    case GPU_SYNC:
        return "cuda_sync";
    case GPU_OVERHEAD:
        return "overhead";
    default:
        return is_annotation(w, s, name) ? "user_annotation" : "cpu_op";
    }
}

static void put_call(struct chrome *w, const struct timeline_lane *lane, const struct timeline_span *s)
{
    const struct timeline_task *task = &w->t->tasks.a[lane->task - 1];
    const struct gpu_work *work = work_of(w, s);
    const char *name = chrome_string(w, work->name);

    /* The runtime's call that made it has the same number. */
    if (work->op == GPU_DRIVER && s->correlation && map_get(&w->runtime, call_key(lane, s->correlation))) {
        w->left_driver++;
        return;
    }
    chrome_begin(w, "X", name, task->pid, task->tid);
    json_str(&w->json, "cat", call_category(w, s, name, work));
    json_f64(&w->json, "ts", chrome_us(s->start));
    json_f64(&w->json, "dur", chrome_us(s->end - s->start));
    chrome_stack(w, s->stack);
    json_object(&w->json, "args");
    if (s->correlation)
        json_u64(&w->json, "correlation", number_of(w, lane, s->correlation));
    if (work->result)
        json_bool(&w->json, "failed", 1);
    json_end_object(&w->json);
    json_end_object(&w->json);
}

void chrome_gpu_lane(struct chrome *w, const struct timeline_lane *lane)
{
    for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
        if (lane->kind == TIMELINE_STREAM)
            put_ran(w, lane, &w->t->spans.a[i]);
        else if (lane->kind == TIMELINE_RANGES)
            put_range(w, lane, &w->t->spans.a[i]);
        else
            put_call(w, lane, &w->t->spans.a[i]);
    }
}

/* ---- steps ---- */

void chrome_gpu_steps(struct chrome *w)
{
    static const char kind[] = "step ";

    for (size_t i = 0; i < w->t->lanes.n && w->devices && !w->has_steps; i++) {
        const struct timeline_lane *lane = &w->t->lanes.a[i];

        for (uint32_t k = lane->first; lane->kind == TIMELINE_MARKS && k < lane->first + lane->n; k++) {
            const struct timeline_span *s = &w->t->spans.a[k];
            const char *text = chrome_string(w, s->name);
            char name[64];

            if (strncmp(text, kind, strlen(kind)) != 0 || s->end == s->start)
                continue;
            snprintf(name, sizeof(name), "ProfilerStep#%.40s", text + strlen(kind));
            chrome_begin(w, "X", name, chrome_pid(w, lane->process), 0);
            json_str(&w->json, "cat", "user_annotation");
            json_f64(&w->json, "ts", chrome_us(s->start));
            json_f64(&w->json, "dur", chrome_us(s->end - s->start));
            json_end_object(&w->json);
        }
    }
}
