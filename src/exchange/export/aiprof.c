/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/aiprof.h"

#include "base/json.h"
#include "exchange/export/chrome.h"
#include "exchange/export/export.h"

#include <stdlib.h>

static const struct gpu_work *ran(const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&s->gpus, ev->attr) : NULL;

    return w && gpu_on_device(w) ? w : NULL;
}

static int has_python(const struct store *s, uint32_t stack)
{
    const struct stack_node *n;

    for (; (n = stacks_get(&s->stacks, stack)); stack = n->parent) {
        const struct frame *f = frames_get(&s->frames, n->frame);

        if (f && f->kind == FRAME_PYTHON)
            return 1;
    }
    return 0;
}

/* AIProf's word for what was recorded: "py-cuda" (a kernel was asked for by Python), "cupti", "cpu-oncpu",
 * "cpu-offcpu". Static. */
static const char *kind_of(const struct store *s)
{
    int gpu = 0, python = 0, samples = 0, waits = 0;

    for (size_t i = 0; i < s->events.n && !python; i++) {
        const struct event *ev = &s->events.a[i];

        samples |= ev->kind == EVENT_SAMPLE;
        waits |= ev->kind == EVENT_OFFCPU;
        if (!ran(s, ev))
            continue;
        gpu = 1;
        python = has_python(s, ev->stack);
    }
    return python ? "py-cuda" : gpu ? "cupti" : samples || !waits ? "cpu-oncpu" : "cpu-offcpu";
}

void aiprof_meta(const struct session *s, struct buf *out)
{
    struct json_writer w = {.out = out, .indent = 2};
    const struct meta *m = &s->meta;
    struct buf notes = {0};

    json_object(&w, NULL);
    json_str(&w, "session_id", m->session_id ? m->session_id : "");
    json_u64(&w, "schema_version", 1);
    json_str(&w, "host", m->host ? m->host : "");
    json_str(&w, "workload", m->workload ? m->workload : "");
    json_str(&w, "kind", kind_of(&s->store));
    json_i64(&w, "pid", m->pid);
    json_f64(&w, "start_ts", m->start_ts);
    json_f64(&w, "end_ts", m->end_ts);
    json_f64(&w, "duration_s", m->duration_s);
    json_array(&w, "languages");
    for (size_t i = 0; i < m->languages.n; i++)
        json_str(&w, NULL, m->languages.a[i]);
    json_end_array(&w);
    json_str(&w, "agent_ver", m->agent_ver ? m->agent_ver : "");
    for (size_t i = 0; i < m->notes.n; i++)
        buf_addf(&notes, "%s%s", i ? "; " : "", m->notes.a[i]);
    json_str(&w, "notes", buf_str(&notes));
    json_end_object(&w);
    buf_addch(out, '\n');
    buf_release(&notes);
}

/* ---- kernels ---- */

static void three(struct json_writer *w, const char *key, const uint32_t *v)
{
    json_array(w, key);
    for (int i = 0; i < 3; i++)
        json_u64(w, NULL, v[i]);
    json_end_array(w);
}

static void put(struct json_writer *w, const struct session *s, const struct event *ev)
{
    const struct gpu_work *work = ran(&s->store, ev);
    struct buf name = {0};

    chrome_gpu_name(strtab_get(&s->store.strings, work->name), work, &name);
    json_object(w, NULL);
    json_str(w, "name", buf_str(&name));
    json_i64(w, "start_ns", (int64_t)(ev->ts - s->meta.start_mono));
    json_u64(w, "dur_ns", ev->dur);
    json_u64(w, "device", work->device ? work->device - 1u : 0);
    json_u64(w, "context", work->context);
    json_u64(w, "stream", work->stream);
    json_u64(w, "correlation", ev->value);
    if (work->op == GPU_COPY || work->op == GPU_SET)
        json_u64(w, "bytes", work->bytes);
    if (work->op == GPU_KERNEL) {
        three(w, "grid", work->grid);
        three(w, "block", work->block);
        json_u64(w, "registers", work->registers);
        json_u64(w, "shared", work->shared);
    }
    json_end_object(w);
    buf_addch(w->out, '\n');
    w->need_comma = 0;
    buf_release(&name);
}

static int by_time(const void *pa, const void *pb)
{
    const struct event *a = *(const struct event *const *)pa, *b = *(const struct event *const *)pb;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a < b ? -1 : a > b;
}

void aiprof_kernels(const struct session *s, struct buf *out)
{
    struct json_writer w = {.out = out};
    VEC(const struct event *) list = {0};

    for (size_t i = 0; i < s->store.events.n; i++)
        if (ran(&s->store, &s->store.events.a[i]))
            *vec_push(&list) = &s->store.events.a[i];
    if (list.n)
        qsort(list.a, list.n, sizeof(*list.a), by_time);
    for (size_t i = 0; i < list.n; i++)
        put(&w, s, list.a[i]);
    vec_release(&list);
}

const struct exporter export_aiprof = {
    .name = "aiprof",
    .summary =
        "a session's directory of AIProf: meta.json, folded.txt, timeline.json, flamegraph.svg, kernels",
    .directory = 1,
};
