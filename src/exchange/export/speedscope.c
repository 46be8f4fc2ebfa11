/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's file format (speedscope.app/file-format-schema.json): a sampled profile for each thread, in
 * the order of time. Samples count as such ("none"), all else in ns. Inlined functions and lines are frames.
 */
#include "exchange/export/events.h"
#include "exchange/export/speedscope_profile.h"

#include "base/json.h"
#include "model/quality.h"

struct speedscope {
    struct export_events x;
    struct json_writer json;
    uint32_t *first; /* of a frame in shared.frames: its names follow each other */
    struct export_path path;
};

static void put_frames(struct speedscope *w)
{
    uint32_t n = export_events_frames(&w->x), at = 0;
    struct buf func = {0};

    w->first = mem_calloc((size_t)n + 1, sizeof(*w->first));
    json_object(&w->json, "shared");
    json_array(&w->json, "frames");
    for (uint32_t id = 1; id <= n; id++) {
        uint32_t names = export_events_names(&w->x, id);

        w->first[id] = at;
        at += names;
        for (uint32_t k = 0; k < names; k++) {
            struct export_place p;

            buf_clear(&func);
            p = export_events_name(&w->x, id, k, &func);
            buf_addch(w->json.out, '\n');
            json_object(&w->json, NULL);
            json_str(&w->json, "name", buf_str(&func));
            if (*p.file)
                json_str(&w->json, "file", p.file);
            if (p.line)
                json_u64(&w->json, "line", p.line);
            json_end_object(&w->json);
        }
    }
    json_end_array(&w->json);
    json_end_object(&w->json);
    buf_release(&func);
}

static void put_stack(struct speedscope *w, const struct event *ev)
{
    const uint32_t *frames;

    export_events_path(&w->x, export_events_stack(&w->x, ev), &w->path);
    frames = w->path.frames.a;
    json_array(&w->json, NULL);
    for (size_t i = w->path.frames.n; i--;)
        for (uint32_t k = 0; k < export_events_names(&w->x, frames[i]); k++)
            json_u64(&w->json, NULL, w->first[frames[i]] + k);
    json_end_array(&w->json);
}

/* The next of the thread's events from `i` on. */
static size_t next_of(const struct export_events *x, size_t i, uint32_t task)
{
    while (i < x->list.n && x->s->events.a[x->list.a[i]].task != task)
        i++;
    return i;
}

static int same_stack(const struct export_events *x, size_t a, size_t b)
{
    struct export_stack p = export_events_stack(x, &x->s->events.a[x->list.a[a]]),
                        q = export_events_stack(x, &x->s->events.a[x->list.a[b]]);

    return p.own == q.own && p.below == q.below;
}

/* Neighbours of one stack are one sample: each one's first is written, its weight is their sum. */
static uint64_t put_samples(struct speedscope *w, uint32_t task, int weights)
{
    const struct export_events *x = &w->x;
    uint64_t all = 0;

    for (size_t i = next_of(x, 0, task), next; i < x->list.n; i = next) {
        uint64_t sum = 0;

        for (next = i; next < x->list.n && same_stack(x, i, next); next = next_of(x, next + 1, task))
            sum += export_events_value(x, &x->s->events.a[x->list.a[next]]);
        if (weights)
            json_u64(&w->json, NULL, sum);
        else
            put_stack(w, &x->s->events.a[x->list.a[i]]);
        all += sum;
    }
    return all;
}

static void put_thread(struct speedscope *w, uint32_t task)
{
    struct buf name = {0};
    uint64_t all;

    export_events_thread(&w->x, task, &name);
    buf_addch(w->json.out, '\n');
    json_object(&w->json, NULL);
    json_str(&w->json, "type", "sampled");
    json_str(&w->json, "name", name.len ? name.data : w->x.metric);
    json_str(&w->json, "unit", w->x.samples ? speedscope_unit(quality_sample_unit(w->x.s)) : "nanoseconds");
    json_u64(&w->json, "startValue", 0);
    json_array(&w->json, "samples");
    all = put_samples(w, task, 0);
    json_end_array(&w->json);
    json_array(&w->json, "weights");
    put_samples(w, task, 1);
    json_end_array(&w->json);
    json_u64(&w->json, "endValue", all);
    json_end_object(&w->json);
    buf_release(&name);
}

static void put_threads(struct speedscope *w)
{
    size_t ntasks = w->x.s->tasks.list.n;
    uint8_t *there = mem_calloc(ntasks + 1, 1);

    for (size_t i = 0; i < w->x.list.n; i++) {
        uint32_t task = w->x.s->events.a[w->x.list.a[i]].task;

        if (task <= ntasks)
            there[task] = 1;
    }
    json_array(&w->json, "profiles");
    for (uint32_t task = 0; task <= ntasks; task++)
        if (there[task])
            put_thread(w, task);
    json_end_array(&w->json);
    free(there);
}

void speedscope_about(const struct meta *m, struct json_writer *w)
{
    json_str(w, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_str(w, "exporter", "wprof");
    json_str(w, "name", m->workload ? m->workload : "wprof");
}

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    struct speedscope w = {.json = {.out = out}};
    int rc = export_events_init(&w.x, in, e);

    if (!rc) {
        json_object(&w.json, NULL);
        speedscope_about(&in->session->meta, &w.json);
        put_frames(&w);
        put_threads(&w);
        json_end_object(&w.json);
        buf_addch(out, '\n');
    }
    export_events_release(&w.x);
    vec_release(&w.path.frames);
    free(w.first);
    return rc;
}

const struct exporter export_speedscope = {
    .name = "speedscope",
    .summary = "speedscope's own format, a profile for each thread",
    .wants_events = 1,
    .run = run,
    .run_profile = speedscope_profile,
};
