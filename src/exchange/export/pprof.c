/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's profile (proto/profile.proto of github.com/google/pprof), in gzip as its tools expect it. Strings
 * are interned in a strtab, whose ids serve as their numbers.
 */
#include "exchange/export/events.h"
#include "exchange/import/gunzip.h"

#include "base/hash.h"
#include "base/proto.h"

enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum mapping_field {
    MAPPING_ID = 1,
    MAPPING_START,
    MAPPING_LIMIT,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_HAS_FUNCTIONS,
    MAPPING_HAS_FILES,
    MAPPING_HAS_LINES,
    MAPPING_HAS_INLINES,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

#define NS_PER_S 1000000000ull

/* Events of one thread and stack. */
struct sum {
    uint32_t task;
    struct export_stack stack;
    uint64_t count, value;
};

struct function {
    uint32_t name, file;
};

struct writer {
    struct export_events x;
    struct buf *out;
    struct strtab strings;
    VEC(struct sum) sums;
    struct export_path path;        /* of one of them */
    VEC(struct function) functions; /* id is index + 1 */
    struct index sum_index, function_index;
    uint64_t period; /* ns of CPU time that a sample stands for; 0: not known, or no samples */
};

static uint32_t text(struct writer *w, const char *s)
{
    return strtab_add(&w->strings, s);
}

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

static void put_type(struct writer *w, unsigned field, const char *name, const char *unit)
{
    size_t at = proto_begin(w->out, field);

    proto_u64(w->out, TYPE_NAME, text(w, name));
    proto_u64(w->out, TYPE_UNIT, text(w, unit));
    proto_end(w->out, at);
}

/* As Go's profiles have them: a count, then time, which pprof shows where nothing else is asked for. */
static void put_types(struct writer *w)
{
    if (w->x.samples) {
        put_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
        if (!w->period)
            return;
        put_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
        put_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
        proto_u64(w->out, PROFILE_PERIOD, w->period);
        return;
    }
    put_type(w, PROFILE_SAMPLE_TYPE, "spans", "count");
    put_type(w, PROFILE_SAMPLE_TYPE, w->x.metric, "nanoseconds");
}

/* ---- samples ---- */

static void put_label(struct writer *w, const char *key, const char *value, uint64_t number)
{
    size_t at = proto_begin(w->out, SAMPLE_LABEL);

    proto_u64(w->out, LABEL_KEY, text(w, key));
    if (value)
        proto_u64(w->out, LABEL_TEXT, text(w, value));
    else
        proto_u64(w->out, LABEL_NUMBER, number);
    proto_end(w->out, at);
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
    size_t sample = proto_begin(w->out, PROFILE_SAMPLE), at = proto_begin(w->out, SAMPLE_LOCATION);

    export_events_path(&w->x, s->stack, &w->path);
    for (size_t i = 0; i < w->path.frames.n; i++)
        buf_add_varint(w->out, w->path.frames.a[i]);
    proto_end(w->out, at);
    at = proto_begin(w->out, SAMPLE_VALUE);
    buf_add_varint(w->out, s->count);
    if (!w->x.samples)
        buf_add_varint(w->out, s->value);
    else if (w->period)
        buf_add_varint(w->out, s->value * w->period);
    proto_end(w->out, at);
    put_labels(w, s->task);
    proto_end(w->out, sample);
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
    size_t at = proto_begin(w->out, PROFILE_MAPPING);
    struct buf build_id = {0};

    for (unsigned i = 0; i < m->build_id_len && i < sizeof(m->build_id); i++)
        buf_addf(&build_id, "%02x", m->build_id[i]);
    proto_u64(w->out, MAPPING_ID, id);
    proto_u64(w->out, MAPPING_START, 0); /* addresses are the file's own */
    proto_u64(w->out, MAPPING_LIMIT, x->limit);
    proto_u64(w->out, MAPPING_FILE, text(w, strtab_get(&w->x.s->strings, m->path)));
    proto_u64(w->out, MAPPING_BUILD_ID, text(w, buf_str(&build_id)));
    for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES; field++)
        proto_u64(w->out, field, x->seen && !x->unnamed);
    proto_end(w->out, at);
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

struct wanted_function {
    const struct function *list;
    struct function key;
};

static int same_function(const void *ctx, uint32_t id)
{
    const struct wanted_function *k = ctx;

    return k->list[id - 1].name == k->key.name && k->list[id - 1].file == k->key.file;
}

static uint32_t function_id(struct writer *w, const char *name, const char *file)
{
    struct wanted_function k = {w->functions.a, {text(w, name), text(w, file)}};
    uint64_t hash = hash_u64((uint64_t)k.key.name << 32 | k.key.file);
    uint32_t id = index_find(&w->function_index, hash, same_function, &k);

    if (!id) {
        *vec_push(&w->functions) = k.key;
        id = (uint32_t)w->functions.n;
        index_add(&w->function_index, hash, id);
    }
    return id;
}

static void put_line(struct writer *w, uint32_t frame, uint32_t k)
{
    struct buf func = {0};
    struct export_place p = export_events_name(&w->x, frame, k, &func);
    const struct frame *f = frames_get(&w->x.s->frames, frame);
    const struct module *m = f ? frames_module(&w->x.s->frames, f->module) : NULL;
    size_t at;

    /* pprof's tools can name what has a file. */
    if (p.named || !m || m->kind != MODULE_FILE) {
        at = proto_begin(w->out, LOCATION_LINE);
        proto_u64(w->out, LINE_FUNCTION, function_id(w, buf_str(&func), p.file));
        if (p.line)
            proto_u64(w->out, LINE_NUMBER, p.line);
        proto_end(w->out, at);
    }
    buf_release(&func);
}

/* Lines are the innermost inlined function first. A return address is one behind
 * the call. */
static void put_location(struct writer *w, uint32_t frame)
{
    const struct frame *f = frames_get(&w->x.s->frames, frame);
    size_t at = proto_begin(w->out, PROFILE_LOCATION);

    proto_u64(w->out, LOCATION_ID, frame);
    if (f && f->module && f->module <= w->x.s->frames.modules.n)
        proto_u64(w->out, LOCATION_MAPPING, f->module);
    if (f && f->addr)
        proto_u64(w->out, LOCATION_ADDRESS, f->addr - (f->flags & FRAME_RETURN ? 1 : 0));
    for (uint32_t k = export_events_names(&w->x, frame); k--;)
        put_line(w, frame, k);
    proto_end(w->out, at);
}

static void put_functions(struct writer *w)
{
    for (size_t i = 0; i < w->functions.n; i++) {
        const struct function *f = &w->functions.a[i];
        size_t at = proto_begin(w->out, PROFILE_FUNCTION);

        proto_u64(w->out, FUNCTION_ID, i + 1);
        proto_u64(w->out, FUNCTION_NAME, f->name);
        proto_u64(w->out, FUNCTION_SYSTEM_NAME, f->name);
        proto_u64(w->out, FUNCTION_FILE, f->file);
        proto_end(w->out, at);
    }
}

/* ---- the whole ---- */

static void put_strings(struct writer *w)
{
    proto_str(w->out, PROFILE_STRING, "");
    for (uint32_t id = 1; id <= strtab_count(&w->strings); id++)
        proto_str(w->out, PROFILE_STRING, strtab_get(&w->strings, id));
}

static void put_about(struct writer *w)
{
    const struct meta *m = &w->x.session->meta;
    char *comment = mem_printf("wprof session %s", m->session_id ? m->session_id : "");

    if (m->start_ts > 0)
        proto_u64(w->out, PROFILE_TIME, (uint64_t)(m->start_ts * NS_PER_S));
    if (m->duration_s > 0)
        proto_u64(w->out, PROFILE_DURATION, (uint64_t)(m->duration_s * NS_PER_S));
    proto_u64(w->out, PROFILE_COMMENT, text(w, comment));
    free(comment);
}

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
    put_functions(w);
    put_about(w);
    put_strings(w);
}

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    struct buf plain = {0};
    struct writer w = {.out = &plain};
    int rc = export_events_init(&w.x, in, e);

    if (!rc) {
        w.period = w.x.samples && in->session->meta.frequency ? NS_PER_S / in->session->meta.frequency : 0;
        put_all(&w);
        gunzip_reverse(plain.data, plain.len, out);
    }
    export_events_release(&w.x);
    strtab_release(&w.strings);
    vec_release(&w.sums);
    vec_release(&w.path.frames);
    vec_release(&w.functions);
    index_release(&w.sum_index);
    index_release(&w.function_index);
    buf_release(&plain);
    return rc;
}

const struct exporter export_pprof = {
    .name = "pprof",
    .summary = "a profile of pprof, in gzip: with modules, lines, inlined functions, labels for threads",
    .wants_events = 1,
    .run = run,
};
