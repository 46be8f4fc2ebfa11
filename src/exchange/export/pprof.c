/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's profile, in gzip as its tools expect it: of events, with labels for their threads. What has no
 * thread of its own to stand under (pprof_profile.c) is written of the folded stacks. */
#include "exchange/export/events.h"
#include "exchange/export/pprof_profile.h"
#include "exchange/export/pprof_write.h"
#include "exchange/import/gunzip.h"

#include "base/hash.h"
#include "base/proto.h"
#include "model/quality.h"

#include <string.h>

enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };

/* Events of one thread and stack. */
struct sum {
    uint32_t task;
    struct export_stack stack;
    uint64_t count, value;
};

struct writer {
    struct export_events x;
    struct pprof to;
    VEC(struct sum) sums;
    struct export_path path; /* of one of them */
    struct index sum_index;
    uint64_t period; /* ns of CPU time that a sample stands for; 0: not known, or no samples */
};

/* ---- sums ---- */

struct wanted_sum {
    const struct sum *list, *key;
};

static int same_sum(const void *ctx, uint32_t id)
{
    const struct wanted_sum *k = ctx;
    const struct sum *s = &k->list[id - 1];

    return s->task == k->key->task && s->stack.own == k->key->stack.own &&
           s->stack.below == k->key->stack.below;
}

static void add_event(struct writer *w, const struct event *ev)
{
    struct sum key = {.task = export_events_task(&w->x, ev->task) ? ev->task : 0,
                      .stack = export_events_stack(&w->x, ev)};
    struct wanted_sum wanted = {w->sums.a, &key};
    uint64_t hash = hash_mix((uint64_t)key.task << 32 | key.stack.own, key.stack.below);
    uint32_t id = index_find(&w->sum_index, hash, same_sum, &wanted);

    if (!id) {
        *vec_push(&w->sums) = key;
        id = (uint32_t)w->sums.n;
        index_add(&w->sum_index, hash, id);
    }
    w->sums.a[id - 1].count += ev->kind == EVENT_GPU ? 1 : ev->value; /* a GPU's is no count */
    w->sums.a[id - 1].value += export_events_value(&w->x, ev);
}

/* ---- types ---- */

static void put_types(struct writer *w)
{
    const char *unit = quality_sample_unit(w->x.s), *event = w->x.session->meta.event;

    if (w->x.samples && strcmp(unit, "samples") != 0) { /* measured elsewhere: bytes in use, instructions */
        pprof_type(&w->to, PROFILE_SAMPLE_TYPE, event ? event : w->x.metric, pprof_unit(unit));
        return;
    }
    if (w->x.samples) {
        pprof_types_of_samples(&w->to, w->period);
        return;
    }
    pprof_type(&w->to, PROFILE_SAMPLE_TYPE, "spans", "count");
    pprof_type(&w->to, PROFILE_SAMPLE_TYPE, w->x.metric, "nanoseconds");
}

/* ---- samples ---- */

static void put_label(struct writer *w, const char *key, const char *value, uint64_t number)
{
    size_t at = proto_begin(w->to.out, SAMPLE_LABEL);

    proto_u64(w->to.out, LABEL_KEY, pprof_text(&w->to, key));
    if (value)
        proto_u64(w->to.out, LABEL_TEXT, pprof_text(&w->to, value));
    else
        proto_u64(w->to.out, LABEL_NUMBER, number);
    proto_end(w->to.out, at);
}

static void put_labels(struct writer *w, uint32_t task)
{
    const struct task *t = export_events_task(&w->x, task),
                      *leader = t ? export_events_leader(&w->x, t) : NULL;
    char *name;

    if (!t)
        return;
    name = origins_task_name(w->x.s, leader, "");
    put_label(w, "process", name, 0);
    free(name);
    put_label(w, "pid", NULL, export_pid(leader));
    put_label(w, "thread", strtab_get(&w->x.s->strings, t->comm), 0);
    put_label(w, "tid", NULL, export_tid(t));
}

static void put_sum(struct writer *w, const struct sum *s)
{
    size_t sample = proto_begin(w->to.out, PROFILE_SAMPLE), at = proto_begin(w->to.out, SAMPLE_LOCATION);

    export_events_path(&w->x, s->stack, &w->path);
    for (size_t i = 0; i < w->path.frames.n; i++)
        buf_add_varint(w->to.out, w->path.frames.a[i]);
    proto_end(w->to.out, at);
    at = proto_begin(w->to.out, SAMPLE_VALUE);
    buf_add_varint(w->to.out, s->count);
    if (!w->x.samples)
        buf_add_varint(w->to.out, s->value);
    else if (w->period)
        buf_add_varint(w->to.out, s->value * w->period);
    proto_end(w->to.out, at);
    put_labels(w, s->task);
    proto_end(w->to.out, sample);
}

/* ---- code ---- */

/* What of a module is in the profile. */
struct extent {
    uint64_t limit;
    int unnamed, seen;
};

static void put_mapping(struct writer *w, uint32_t id, const struct extent *x)
{
    const struct module *m = frames_module(&w->x.s->frames, id);
    size_t at = proto_begin(w->to.out, PROFILE_MAPPING);
    struct buf build_id = {0};

    for (unsigned i = 0; i < m->build_id_len && i < sizeof(m->build_id); i++)
        buf_addf(&build_id, "%02x", m->build_id[i]);
    proto_u64(w->to.out, MAPPING_ID, id);
    proto_u64(w->to.out, MAPPING_START, 0); /* addresses are the file's own */
    proto_u64(w->to.out, MAPPING_LIMIT, x->limit);
    proto_u64(w->to.out, MAPPING_FILE, pprof_text(&w->to, strtab_get(&w->x.s->strings, m->path)));
    proto_u64(w->to.out, MAPPING_BUILD_ID, pprof_text(&w->to, buf_str(&build_id)));
    for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES; field++)
        proto_u64(w->to.out, field, x->seen && !x->unnamed);
    proto_end(w->to.out, at);
    buf_release(&build_id);
}

static void put_mappings(struct writer *w)
{
    const struct frames *f = &w->x.s->frames;
    struct extent *of = mem_calloc(f->modules.n + 1, sizeof(*of));

    for (size_t i = 0; i < f->list.n; i++) {
        const struct frame *fr = &f->list.a[i];
        struct extent *x = &of[fr->module <= f->modules.n ? fr->module : 0];

        x->seen = 1;
        x->unnamed |= !fr->names_n && !fr->func;
        if (fr->addr >= x->limit)
            x->limit = fr->addr + 1;
    }
    for (uint32_t id = 1; id <= f->modules.n; id++)
        if (of[id].seen)
            put_mapping(w, id, &of[id]);
    free(of);
}

static void put_line(struct writer *w, uint32_t frame, uint32_t k)
{
    struct buf func = {0};
    struct export_place p = export_events_name(&w->x, frame, k, &func);
    const struct frame *f = frames_get(&w->x.s->frames, frame);
    const struct module *m = f ? frames_module(&w->x.s->frames, f->module) : NULL;

    /* pprof's tools can name what has a file. */
    if (p.named || !m || m->kind != MODULE_FILE)
        pprof_line(&w->to, buf_str(&func), p.file, p.line);
    buf_release(&func);
}

/* Lines are the innermost inlined function first. A return address is one behind
 * the call. */
static void put_location(struct writer *w, uint32_t frame)
{
    const struct frame *f = frames_get(&w->x.s->frames, frame);
    size_t at = proto_begin(w->to.out, PROFILE_LOCATION);

    proto_u64(w->to.out, LOCATION_ID, frame);
    if (f && f->module && f->module <= w->x.s->frames.modules.n)
        proto_u64(w->to.out, LOCATION_MAPPING, f->module);
    if (f && f->addr)
        proto_u64(w->to.out, LOCATION_ADDRESS, f->addr - (f->flags & FRAME_RETURN ? 1 : 0));
    for (uint32_t k = export_events_names(&w->x, frame); k--;)
        put_line(w, frame, k);
    proto_end(w->to.out, at);
}

/* ---- the whole ---- */

static void put_all(struct writer *w)
{
    const struct export_events *x = &w->x;

    for (size_t i = 0; i < x->list.n; i++)
        add_event(w, &x->s->events.a[x->list.a[i]]);
    put_types(w);
    for (size_t i = 0; i < w->sums.n; i++)
        put_sum(w, &w->sums.a[i]);
    put_mappings(w);
    for (uint32_t frame = 1; frame <= export_events_frames(x); frame++)
        put_location(w, frame);
    pprof_end(&w->to, &x->session->meta);
}

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    struct buf plain = {0};
    struct writer w = {.to = {.out = &plain}};
    int rc = export_events_init(&w.x, in, e);

    if (!rc) {
        w.period = w.x.samples && !strcmp(quality_sample_unit(w.x.s), "samples")
                       ? pprof_period(&in->session->meta)
                       : 0;
        put_all(&w);
        gunzip_reverse(plain.data, plain.len, out);
    }
    export_events_release(&w.x);
    pprof_release(&w.to);
    vec_release(&w.sums);
    vec_release(&w.path.frames);
    index_release(&w.sum_index);
    buf_release(&plain);
    return rc;
}

const struct exporter export_pprof = {
    .name = "pprof",
    .summary = "a profile of pprof, in gzip: with modules, lines, inlined functions, labels for threads",
    .wants_events = 1,
    .run = run,
    .run_profile = pprof_profile,
};
