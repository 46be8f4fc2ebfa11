/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's protobuf (profile.proto of github.com/google/pprof), as Go, gperftools and others write it, mostly
 * in gzip, or gperftools' older form (pprof_cpu.h). Messages may come in any order, so the text is held as a
 * whole and walked twice.
 */
#include "exchange/import/import.h"
#include "exchange/import/pprof_cpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING
};
enum {
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_DEFAULT_TYPE = 14,
    PROFILE_LAST
};
enum { TYPE_MAX = 60 }; /* bytes of a kind's name */
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD_ID };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* A field of a message: a number, or bytes. */
struct field {
    uint32_t number;
    int wire;
    uint64_t value;
    struct cursor bytes;
};

struct text {
    const char *p;
    size_t n;
};

struct function {
    uint32_t name, file; /* strtab */
};

struct mapping {
    uint64_t start, offset;
    uint32_t file;   /* strtab */
    uint32_t module; /* 0: it names no file */
    int is_kernel;
};

/* A location's frames in `frames`, the outermost first. */
struct location {
    uint32_t first, n;
};

struct pprof {
    struct store *s;
    struct import_stats *st;
    VEC(struct text) strings;
    VEC(struct text) types; /* unit in the next one */
    VEC(struct function) functions;
    VEC(struct mapping) mappings;
    VEC(struct location) locations;
    VEC(uint32_t) frames;
    struct map function_ids, mapping_ids, location_ids; /* their id -> index + 1 */
    uint64_t time, duration, default_type, period;
    int is_clock;    /* the period is one of a CPU's time */
    uint32_t metric; /* string: what is counted, where that is no sample */
    size_t chosen;   /* of a sample's values */
    size_t counts;   /* the one that counts samples, + 1; 0: none does */
    int difference;  /* pprof made it of two */
    int python;
};

/* ---- fields ---- */

/* 1: one; 0: the end; -1: damage. */
static int next_field(struct cursor *c, struct field *f)
{
    uint64_t tag;

    if (c->p == c->end)
        return 0;
    tag = cursor_varint(c);
    f->number = (uint32_t)(tag >> 3);
    f->wire = (int)(tag & 7);
    f->value = 0;
    f->bytes = (struct cursor){c->p, c->p, 0};
    if (f->wire == WIRE_VARINT) {
        f->value = cursor_varint(c);
    } else if (f->wire == WIRE_BYTES) {
        uint64_t n = cursor_varint(c);
        const void *p = n <= (size_t)(c->end - c->p) ? cursor_bytes(c, (size_t)n) : NULL;

        if (!p)
            return -1;
        f->bytes = cursor_init(p, (size_t)n);
    } else if (f->wire == WIRE_64 || f->wire == WIRE_32) {
        f->value = cursor_uint(c, f->wire == WIRE_64 ? 8 : 4);
    } else {
        return -1;
    }
    return c->bad || tag >> 3 > UINT32_MAX ? -1 : 1;
}

/* Repeated numbers: packed in one field, or a field each. 1: *v is the next of this field. */
static int next_number(struct field *f, uint64_t *v)
{
    if (f->wire == WIRE_VARINT) {
        *v = f->value;
        f->wire = -1;
        return 1;
    }
    if (f->wire != WIRE_BYTES || f->bytes.p == f->bytes.end)
        return 0;
    *v = cursor_varint(&f->bytes);
    return !f->bytes.bad;
}

static uint32_t string_of(struct pprof *x, uint64_t id)
{
    return id < x->strings.n ? strtab_addn(&x->s->strings, x->strings.a[id].p, x->strings.a[id].n) : 0;
}

static struct text text_of(const struct pprof *x, uint64_t id)
{
    return id < x->strings.n ? x->strings.a[id] : (struct text){"", 0};
}

/* ---- tables ---- */

static void take_function(struct pprof *x, struct cursor c)
{
    struct function f = {0};
    struct field field;
    uint64_t id = 0, system = 0;

    while (next_field(&c, &field) > 0) {
        if (field.number == FUNCTION_ID)
            id = field.value;
        else if (field.number == FUNCTION_NAME)
            f.name = string_of(x, field.value);
        else if (field.number == FUNCTION_SYSTEM_NAME)
            system = field.value;
        else if (field.number == FUNCTION_FILE)
            f.file = string_of(x, field.value);
    }
    if (!f.name)
        f.name = string_of(x, system);
    *vec_push(&x->functions) = f;
    *map_put(&x->function_ids, id) = x->functions.n;
}

/* A build id is text, in hexadecimal. */
static void take_build_id(struct module *m, struct text t)
{
    size_t n = t.n / 2;

    if (t.n % 2 || n > sizeof(m->build_id))
        return;
    for (size_t i = 0; i < n; i++) {
        char digits[3] = {t.p[2 * i], t.p[2 * i + 1], '\0'}, *end;

        m->build_id[i] = (uint8_t)strtoul(digits, &end, 16);
        if (*end || !isxdigit((unsigned char)digits[0]))
            return;
    }
    m->build_id_len = (uint8_t)n;
}

/* "[kernel]", which is what we write, "[kernel.kallsyms]", "vmlinux-6.1.0", "nf_tables.ko.xz" */
static int is_kernel(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *ko = strstr(name, ".ko");

    return !strncmp(name, "[kernel", 7) || !strncmp(name, "vmlinux", 7) ||
           !strncmp(name, "[guest.kernel", 13) || (ko && (!ko[3] || ko[3] == '.'));
}

static void take_mapping(struct pprof *x, struct cursor c)
{
    struct module module = {.kind = MODULE_FILE, .fd = -1};
    struct mapping m = {0};
    struct field field;
    uint64_t id = 0;

    while (next_field(&c, &field) > 0) {
        if (field.number == MAPPING_ID)
            id = field.value;
        else if (field.number == MAPPING_START)
            m.start = field.value;
        else if (field.number == MAPPING_OFFSET)
            m.offset = field.value;
        else if (field.number == MAPPING_FILE)
            m.file = string_of(x, field.value);
        else if (field.number == MAPPING_BUILD_ID)
            take_build_id(&module, text_of(x, field.value));
    }
    module.path = m.file;
    m.is_kernel = is_kernel(strtab_get(&x->s->strings, m.file));
    if (m.file)
        m.module = frames_add_module(&x->s->frames, &module);
    *vec_push(&x->mappings) = m;
    *map_put(&x->mapping_ids, id) = x->mappings.n;
}

static const struct mapping *mapping_of(const struct pprof *x, uint64_t mapping)
{
    const uint64_t *id = map_get(&x->mapping_ids, mapping);

    return id && *id ? &x->mappings.a[*id - 1] : NULL;
}

/* "x.py", and what has no file: "<frozen importlib._bootstrap>", "<string>". */
static int is_python(const char *path)
{
    size_t n = strlen(path);

    return (n > 3 && !strcmp(path + n - 3, ".py")) || !strncmp(path, "<frozen ", 8) ||
           !strcmp(path, "<string>") || !strcmp(path, "<stdin>");
}

static void push_frame(struct pprof *x, uint32_t name, uint32_t file, uint64_t line, const struct mapping *in)
{
    const char *path = strtab_get(&x->s->strings, file);
    struct frame f = {.kind = FRAME_NATIVE, .func = name, .file = file};

    if (is_python(path)) {
        f.kind = FRAME_PYTHON;
        x->python = 1;
    } else if (in) {
        f.module = in->module;
        f.kind = in->is_kernel ? FRAME_KERNEL : FRAME_NATIVE;
    }
    f.line = line <= UINT32_MAX ? (uint32_t)line : 0;
    *vec_push(&x->frames) = frames_add(&x->s->frames, &f);
}

/* "[libfoo.so+0x1234]": where nothing has a name. */
static void push_place(struct pprof *x, uint64_t mapping, uint64_t address)
{
    const struct mapping *m = mapping_of(x, mapping);
    const char *path = m ? strtab_get(&x->s->strings, m->file) : "", *slash = strrchr(path, '/');
    struct buf name = {0};

    if (m && *path)
        buf_addf(&name, "[%s+0x%llx]", slash ? slash + 1 : path,
                 (unsigned long long)(address - m->start + m->offset));
    else
        buf_addf(&name, "[unknown+0x%llx]", (unsigned long long)address);
    push_frame(x, strtab_add(&x->s->strings, name.data), 0, 0, m);
    buf_release(&name);
}

static int push_line(struct pprof *x, struct cursor c, const struct mapping *in)
{
    struct field field;
    uint64_t function = 0, line = 0;
    const uint64_t *id;

    while (next_field(&c, &field) > 0) {
        if (field.number == LINE_FUNCTION)
            function = field.value;
        else if (field.number == LINE_LINE)
            line = field.value;
    }
    id = map_get(&x->function_ids, function);
    if (!id || !x->functions.a[*id - 1].name)
        return 0;
    push_frame(x, x->functions.a[*id - 1].name, x->functions.a[*id - 1].file, line, in);
    return 1;
}

/* Its lines are the innermost first: what was inlined, then where. */
static void take_location(struct pprof *x, struct cursor c)
{
    struct location l = {.first = (uint32_t)x->frames.n};
    uint64_t id = 0, mapping = 0, address = 0;
    struct cursor first = c;
    struct field field;

    while (next_field(&first, &field) > 0) /* which may stand behind the lines */
        mapping = field.number == LOCATION_MAPPING ? field.value : mapping;

    while (next_field(&c, &field) > 0) {
        if (field.number == LOCATION_ID)
            id = field.value;
        else if (field.number == LOCATION_ADDRESS)
            address = field.value;
        else if (field.number == LOCATION_LINE)
            push_line(x, field.bytes, mapping_of(x, mapping));
    }
    if (x->frames.n == l.first)
        push_place(x, mapping, address);
    l.n = (uint32_t)x->frames.n - l.first;
    for (uint32_t i = 0; i < l.n / 2; i++) {
        uint32_t *a = &x->frames.a[l.first + i], *b = &x->frames.a[l.first + l.n - 1 - i], t = *a;

        *a = *b;
        *b = t;
    }
    *vec_push(&x->locations) = l;
    *map_put(&x->location_ids, id) = x->locations.n;
}

/* ---- samples ---- */

static uint32_t push_location(struct pprof *x, uint32_t stack, uint64_t location)
{
    const uint64_t *id = map_get(&x->location_ids, location);
    const struct location *l = id && *id ? &x->locations.a[*id - 1] : NULL;

    if (!l)
        import_count(x->st, IMPORT_LOST, "location that is not there|locations that are not there", 1);
    for (uint32_t i = 0; l && i < l->n; i++)
        stack = stacks_push(&x->s->stacks, stack, x->frames.a[l->first + i]);
    return stack;
}

/* Who ran, as wprof's own profiles say it. */
struct who {
    uint32_t process, thread; /* strtab */
    uint64_t pid, tid;
};

/* 0: it is none of those. */
static int take_label(struct pprof *x, struct cursor c, struct who *who)
{
    struct text key = {"", 0};
    uint32_t text = 0;
    uint64_t number = 0;
    struct field field;

    while (next_field(&c, &field) > 0) {
        if (field.number == LABEL_KEY)
            key = text_of(x, field.value);
        else if (field.number == LABEL_TEXT)
            text = string_of(x, field.value);
        else if (field.number == LABEL_NUMBER)
            number = field.value;
    }
#define IS(name) (key.n == sizeof(name) - 1 && !memcmp(key.p, name, key.n))
    if (IS("process"))
        who->process = text;
    else if (IS("thread"))
        who->thread = text;
    else if (IS("pid"))
        who->pid = number;
    else if (IS("tid"))
        who->tid = number;
    else if (IS("pprof::base"))
        x->difference = 1;
    else
        return 0;
#undef IS
    return 1;
}

/* 0: nobody is told, or no process with a number and a name. */
static uint32_t task_of(struct pprof *x, const struct who *w)
{
    struct task t = {.pid = (uint32_t)w->pid, .ns_pid = (uint32_t)w->pid, .own_pid = (uint32_t)w->pid};
    uint32_t leader;

    if (!w->process || !w->pid || w->pid > INT32_MAX || w->tid > INT32_MAX)
        return 0;
    t.tid = t.ns_tid = t.pid;
    t.comm = w->process;
    t.leader = (uint32_t)x->s->tasks.list.n + 1;
    leader = tasks_add(&x->s->tasks, &t);
    if (!w->tid || w->tid == w->pid)
        return leader;
    t.tid = t.ns_tid = (uint32_t)w->tid;
    t.comm = w->thread ? w->thread : w->process;
    t.leader = leader;
    return tasks_add(&x->s->tasks, &t);
}

static void take_sample(struct pprof *x, struct cursor c)
{
    VEC(uint64_t) locations = {0};
    struct event ev = {.kind = EVENT_SAMPLE, .metric = x->metric};
    struct who who = {0};
    struct field field;
    size_t values = 0;
    uint64_t v, count = 0, labels = 0;

    while (next_field(&c, &field) > 0) {
        if (field.number == SAMPLE_LOCATION)
            while (next_number(&field, &v))
                *vec_push(&locations) = v;
        else if (field.number == SAMPLE_VALUE)
            while (next_number(&field, &v)) {
                ev.value = values == x->chosen ? v : ev.value;
                count = ++values == x->counts ? v : count;
            }
        else if (field.number == SAMPLE_LABEL)
            labels += !take_label(x, field.bytes, &who);
    }
    for (size_t i = locations.n; i-- > 0;)
        ev.stack = push_location(x, ev.stack, locations.a[i]);
    vec_release(&locations);
    if ((int64_t)ev.value < 0 || __builtin_add_overflow(x->st->samples, ev.value, &x->st->samples)) {
        import_count(x->st, IMPORT_LOST, "sample with a negative value|samples with a negative value", 1);
        return;
    }
    if (!ev.value)
        return;
    ev.task = task_of(x, &who);
    *vec_push(&x->s->events) = ev;
    import_count(x->st, IMPORT_TOOK, "stack|stacks", 1);
    import_count(x->st, IMPORT_TOOK, "sample|samples", (int64_t)count > 0 ? count : 0);
    import_count(x->st, IMPORT_LEFT, "label of a stack|labels of stacks", labels);
}

/* ---- the profile ---- */

static int walk(struct pprof *x, struct cursor c, void (*take)(struct pprof *x, const struct field *f))
{
    struct field f;
    int rc;

    while ((rc = next_field(&c, &f)) > 0)
        take(x, &f);
    return rc;
}

static void take_string(struct pprof *x, const struct field *f)
{
    if (f->number == PROFILE_STRING)
        *vec_push(&x->strings) = (struct text){(const char *)f->bytes.p, (size_t)(f->bytes.end - f->bytes.p)};
    else if (f->number == PROFILE_TIME)
        x->time = f->value;
    else if (f->number == PROFILE_DURATION)
        x->duration = f->value;
    else if (f->number == PROFILE_PERIOD)
        x->period = f->value;
    else if (f->number == PROFILE_DEFAULT_TYPE)
        x->default_type = f->value;
}

static void read_type(struct cursor c, uint64_t *name, uint64_t *unit)
{
    struct field f;

    *name = *unit = 0;
    while (next_field(&c, &f) > 0) {
        if (f.number == TYPE_NAME)
            *name = f.value;
        else if (f.number == TYPE_UNIT)
            *unit = f.value;
    }
}

static int is_text(const struct text *t, const char *word)
{
    return t->n == strlen(word) && !memcmp(t->p, word, t->n);
}

/* Of a CPU's time, in ns: then a sample stands for the period. */
static void take_period_type(struct pprof *x, struct cursor c)
{
    uint64_t name, unit;
    struct text of, in;

    read_type(c, &name, &unit);
    of = text_of(x, name);
    in = text_of(x, unit);
    x->is_clock = is_text(&of, "cpu") && is_text(&in, "nanoseconds");
}

static void take_type(struct pprof *x, struct cursor c)
{
    uint64_t name, unit;

    read_type(c, &name, &unit);
    if (name == x->default_type && name)
        x->chosen = x->types.n / 2;
    *vec_push(&x->types) = text_of(x, name);
    *vec_push(&x->types) = text_of(x, unit);
}

static void take_table(struct pprof *x, const struct field *f)
{
    if (f->number == PROFILE_SAMPLE_TYPE)
        take_type(x, f->bytes);
    else if (f->number == PROFILE_PERIOD_TYPE)
        take_period_type(x, f->bytes);
    else if (f->number == PROFILE_MAPPING)
        take_mapping(x, f->bytes);
    else if (f->number == PROFILE_FUNCTION)
        take_function(x, f->bytes);
}

static void take_place(struct pprof *x, const struct field *f)
{
    if (f->number == PROFILE_LOCATION)
        take_location(x, f->bytes);
}

static void take_samples(struct pprof *x, const struct field *f)
{
    if (f->number == PROFILE_SAMPLE)
        take_sample(x, f->bytes);
}

static int choose_named(struct pprof *x, const char *name, struct err *e)
{
    struct buf have = {0};

    for (size_t i = 0; i + 1 < x->types.n; i += 2) {
        const struct text *t = &x->types.a[i];

        if (t->n == strlen(name) && !memcmp(t->p, name, t->n)) {
            x->chosen = i / 2;
            buf_release(&have);
            return 0;
        }
        buf_addf(&have, "%s%.*s", i ? ", " : "", (int)(t->n < 60 ? t->n : 60), t->p);
    }
    err_set(e, "no values '%s' in it (it has: %s)", name, buf_str(&have));
    buf_release(&have);
    return -1;
}

/* The one that pprof shows: that named as the default, else the last; but a CPU's samples are counted. */
static int choose_type(struct pprof *x, const char *event, struct err *e)
{
    for (size_t i = 0; i + 1 < x->types.n; i += 2)
        if (x->types.a[i].n == 7 && !memcmp(x->types.a[i].p, "samples", 7))
            x->counts = i / 2 + 1;
    if (event)
        return choose_named(x, event, e);
    if (!x->default_type && x->types.n)
        x->chosen = x->types.n / 2 - 1;
    if (x->counts && !x->default_type)
        x->chosen = x->counts - 1;
    return 0;
}

/* Samples of CPUs or of a clock; all else, as bytes in use or time that was waited, is no sample. */
static enum import_measure measure_of(const struct text *type, const struct text *unit)
{
    static const char *const sampled[] = {"samples", "sample", "cpu", "wall", "wall-time"};

    for (size_t i = 0; i < ARRAY_SIZE(sampled); i++)
        if (is_text(type, sampled[i]))
            return IMPORT_SAMPLES;
    return is_text(unit, "bytes") ? IMPORT_BYTES : is_text(unit, "nanoseconds") ? IMPORT_NS : IMPORT_COSTS;
}

static void name_event(struct pprof *x, struct meta *m, const struct text *type)
{
    if (x->st->measured) {
        free(m->event);
        m->event = mem_strndup(type->p, type->n < TYPE_MAX ? type->n : TYPE_MAX);
    } else if (is_text(type, "samples") && x->is_clock && x->period && x->period <= 1000000000) {
        free(m->event);
        m->event = mem_strdup("cpu-clock");
        m->frequency = (1000000000 + x->period / 2) / x->period;
    }
}

static void describe(struct pprof *x, struct meta *m)
{
    if (x->chosen * 2 + 1 < x->types.n) {
        const struct text *type = &x->types.a[x->chosen * 2], *unit = type + 1;

        struct buf text = {0};

        buf_addstr(&text, "a profile of pprof: ");
        if (x->types.n > 3)
            buf_addf(&text, "of %zu kinds of values those called ", x->types.n / 2);
        buf_addf(&text, "%.*s (%.*s)", (int)(type->n < 60 ? type->n : 60), type->p,
                 (int)(unit->n < 60 ? unit->n : 60), unit->p);
        *vec_push(&m->notes) = mem_strdup(text.data);
        buf_release(&text);
        name_event(x, m, type);
    }
    if (x->time && x->time < INT64_MAX)
        m->start_ts = m->end_ts = (double)x->time / 1e9;
    if (x->duration && x->duration < INT64_MAX) {
        m->duration_s = (double)x->duration / 1e9;
        m->end_ts = m->start_ts + m->duration_s;
    }
    if (x->python)
        meta_add_language(m, "python");
}

static int read_profile(struct pprof *x, struct cursor c, const char *event, struct err *e)
{
    if (walk(x, c, take_string) || walk(x, c, take_table))
        return err_set(e, "no whole profile of pprof: a field goes beyond the end");
    if (choose_type(x, event, e))
        return -1;
    if (x->chosen * 2 + 1 < x->types.n) {
        const struct text *type = &x->types.a[x->chosen * 2];

        x->st->measured = measure_of(type, type + 1);
        if (x->st->measured)
            x->metric = strtab_addn(&x->s->strings, type->p, type->n < TYPE_MAX ? type->n : TYPE_MAX);
    }
    walk(x, c, take_place);
    walk(x, c, take_samples);
    if (x->difference)
        return err_set(
            e, "a difference of two profiles (pprof -diff_base): import each of them, and `wprof diff` tells "
               "what differs");
    return x->s->events.n ? 0 : err_set(e, "no sample in it (a profile of pprof was expected)");
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct pprof x = {.s = s, .st = st};
    struct buf text = {0};
    int rc = input_read_all(in, &text, e);

    if (!rc && pprof_cpu_is(buf_str(&text), text.len)) {
        rc = in->event ? err_set(e, "--event: CPU profiles of gperftools have one kind of values")
                       : pprof_cpu_run(text.data, text.len, s, m, st, e);
        buf_release(&text);
        return rc;
    }
    if (!rc)
        rc = read_profile(&x, cursor_init(buf_str(&text), text.len), in->event, e);
    if (!rc)
        describe(&x, m);
    buf_release(&text);
    vec_release(&x.strings);
    vec_release(&x.types);
    vec_release(&x.functions);
    vec_release(&x.mappings);
    vec_release(&x.locations);
    vec_release(&x.frames);
    map_release(&x.function_ids);
    map_release(&x.mapping_ids);
    map_release(&x.location_ids);
    return rc;
}

/* Fields of a profile and nothing else, as far as the head goes, a kind of values among them. */
static int probe(const char *head, size_t n)
{
    struct cursor c = cursor_init(head, n);
    struct field f;
    int rc, types = 0;

    if (pprof_cpu_is(head, n))
        return 1;
    while ((rc = next_field(&c, &f)) > 0) {
        int message = f.number <= PROFILE_STRING;

        if (!f.number || f.number > PROFILE_LAST || (message && f.wire != WIRE_BYTES))
            return 0;
        types += f.number == PROFILE_SAMPLE_TYPE && f.bytes.p < f.bytes.end && *f.bytes.p == TYPE_NAME << 3;
    }
    return types && (!rc || n >= INPUT_HEAD);
}

const struct importer import_pprof = {
    .name = "pprof",
    .summary = "profiles of pprof: Go's, gperftools' and others' protobuf, gperftools' older CPU profiles",
    .events = 1,
    .probe = probe,
    .run = run,
};
