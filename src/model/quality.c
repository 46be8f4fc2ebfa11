/* SPDX-License-Identifier: Apache-2.0 */
#include "model/quality.h"

#include "model/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static double seconds(uint64_t ns)
{
    return ns == UINT64_MAX ? NAN : (double)ns / 1e9;
}

static uint64_t known(uint64_t v)
{
    return v == UINT64_MAX ? 0 : v;
}

static int named(const struct store *s, uint32_t frame)
{
    struct frame_name self;
    const struct frame_name *names;
    const struct frame *f = frames_get(&s->frames, frame);

    return f && !(f->flags & FRAME_NAMELESS) && frames_names(&s->frames, frame, &self, &names) > 0 &&
           !frame_name_is_place(strtab_get(&s->strings, names[0].func));
}

/* One byte a stack: whether a frame from the root down to it has no name. NULL: all have. */
static uint8_t *unnamed_stacks(struct quality *q, const struct store *s)
{
    uint8_t *unnamed, *bad = mem_calloc(s->frames.list.n + 1, 1);

    for (uint32_t id = 1; id <= s->frames.list.n; id++) {
        bad[id] = !named(s, id);
        q->frames_unknown += bad[id];
    }
    q->frames = s->frames.list.n;
    unnamed = q->frames_unknown ? mem_calloc(s->stacks.nodes.n + 1, 1) : NULL;
    for (uint32_t id = 1; unnamed && id <= s->stacks.nodes.n; id++) {
        const struct stack_node *n = &s->stacks.nodes.a[id - 1];

        unnamed[id] = unnamed[n->parent] | bad[n->frame];
    }
    free(bad);
    return unnamed;
}

static void count_samples(struct quality *q, const struct store *s)
{
    uint8_t *unnamed = unnamed_stacks(q, s);
    uint64_t samples = 0;

    store_each(s, i, 1 << EVENT_SAMPLE) {
        const struct event *ev = &s->events.a[i];
        uint64_t n = ev->value ? ev->value : 1;

        samples += n;
        q->unwound += ev->flags & EVENT_ROOT ? n : 0;
        q->truncated += ev->flags & EVENT_TRUNCATED ? n : 0;
        q->scanned += ev->flags & EVENT_SCANNED ? n : 0;
        q->finished += ev->flags & EVENT_FINISHED ? n : 0;
        q->frame_pointer += ev->flags & EVENT_FRAMEPTR ? n : 0;
        q->python += ev->flags & EVENT_PYTHON ? n : 0;
        q->python_framed += (ev->flags & EVENT_PYTHON) && (ev->flags & EVENT_PYTHON_FRAMES) ? n : 0;
        q->unknown += unnamed && ev->stack <= s->stacks.nodes.n && unnamed[ev->stack] ? n : 0;
    }
    free(unnamed);
    /* How imported ones were walked nobody knows. */
    if (store_counter(s, "cpu.taken", 0))
        q->imported = store_counter(s, "import.samples", 0);
    q->unwound_share = share(q->unwound, samples > q->imported ? samples - q->imported : samples);
    q->unknown_share = share(q->unknown, samples);
    q->python_share = share(q->python_framed, q->python);
    q->taken = store_counter(s, "cpu.taken", store_counter(s, "import.samples", samples));
}

void quality_compute(struct quality *q, const struct store *s, const struct meta *m)
{
    uint64_t bpf = store_counter(s, "cpu.bpf_ns", UINT64_MAX),
             own = store_counter(s, "own.cpu_ns", UINT64_MAX),
             target = store_counter(s, "target.cpu_ns", UINT64_MAX);

    *q = (struct quality){0};
    count_samples(q, s);
    q->expected = store_counter(s, "cpu.expected", 0);
    q->counted = store_counter(s, "import.samples", 0) != 0;
    q->lost = store_counter(s, "cpu.lost", 0) + store_counter(s, "cpu.nostack", 0);
    q->bpf_s = seconds(bpf);
    q->own_cpu_s = seconds(own);
    q->target_cpu_s = seconds(target);
    q->tables_s = seconds(store_counter(s, "own.tables_ns", UINT64_MAX));
    q->tick_s = seconds(store_counter(s, "cpu.tick_ns", UINT64_MAX));
    q->seal_s = seconds(store_counter(s, "own.seal_ns", UINT64_MAX));
    q->rss_max = store_counter(s, "own.rss_max", 0);
    q->cost_share = bpf == UINT64_MAX || own == UINT64_MAX ? NAN : share(bpf + own, known(target));
    if (!store_counter(s, "cpu.taken", 0) && meta_is_imported(m))
        q->unwound_share = NAN; /* stacks from elsewhere: nobody knows how they were walked */
    if (m->tier && !strcmp(m->tier, "C"))
        q->unwound_share = NAN; /* native frames of what runs can't be had there at all */
}

const char *quality_sample_unit(const struct store *s)
{
    if (!store_counter(s, "import.measured", 0))
        return "samples";
    if (store_counter(s, "import.measured_ns", 0))
        return "ns";
    if (store_counter(s, "import.measured_bytes", 0))
        return "bytes";
    for (size_t i = 0; i < s->events.n; i++)
        if (s->events.a[i].kind == EVENT_SAMPLE && s->events.a[i].metric)
            return strtab_get(&s->strings, s->events.a[i].metric);
    return "costs";
}

void quality_json(const struct quality *q, struct json_writer *w)
{
    json_u64(w, "expected", q->expected);
    json_u64(w, "taken", q->taken);
    json_u64(w, "lost", q->lost);
    json_u64(w, "truncated", q->truncated);
    json_u64(w, "scanned", q->scanned);
    json_u64(w, "finished", q->finished);
    json_u64(w, "frame_pointer", q->frame_pointer);
    json_u64(w, "unwound", q->unwound);
    json_u64(w, "unknown", q->unknown);
    json_u64(w, "python", q->python);
    json_u64(w, "python_framed", q->python_framed);
    json_u64(w, "frames", q->frames);
    json_u64(w, "frames_unknown", q->frames_unknown);
    json_f64(w, "unwound_share", q->unwound_share);
    json_f64(w, "unknown_share", q->unknown_share);
    json_f64(w, "python_share", q->python_share);
    json_f64(w, "cost_share", q->cost_share);
    json_f64(w, "bpf_s", q->bpf_s);
    json_f64(w, "own_cpu_s", q->own_cpu_s);
    json_f64(w, "target_cpu_s", q->target_cpu_s);
    json_f64(w, "tables_s", q->tables_s);
    json_f64(w, "tick_s", q->tick_s);
    json_f64(w, "seal_s", q->seal_s);
    json_u64(w, "rss_max", q->rss_max);
}
