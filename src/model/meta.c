/* SPDX-License-Identifier: Apache-2.0 */
/* meta.json: the fields that AIProf's collector knows (session_id .. notes), then ours. */
#include "base/json.h"
#include "model/quality.h"
#include "model/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1 };

/* The plain text fields, so that release, parse and write agree. */
struct text_field {
    const char *key;
    size_t offset;
};

#define TEXT(key, field)                                                                                     \
    {                                                                                                        \
        key, offsetof(struct meta, field)                                                                    \
    }

static const struct text_field identity[] = {
    TEXT("session_id", session_id),
    TEXT("host", host),
    TEXT("workload", workload),
    TEXT("kind", kind),
};

static const struct text_field details[] = {
    TEXT("state", state), TEXT("end_reason", end_reason), TEXT("cwd", cwd),
    TEXT("user", user),   TEXT("machine", machine),       TEXT("kernel", kernel),
    TEXT("os", os),       TEXT("cpu_model", cpu_model),   TEXT("event", event),
    TEXT("tier", tier),   TEXT("clock_id", clock_id),
};

static char **text_at(const struct meta *m, const struct text_field *f)
{
    return (char **)((char *)m + f->offset);
}

static void texts_release(struct meta *m, const struct text_field *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(*text_at(m, &f[i]));
}

#define STRINGS_RELEASE(v)                                                                                   \
    do {                                                                                                     \
        for (size_t i = 0; i < (v)->n; i++)                                                                  \
            free((v)->a[i]);                                                                                 \
        vec_release(v);                                                                                      \
    } while (0)

void meta_add_language(struct meta *m, const char *name)
{
    for (size_t i = 0; i < m->languages.n; i++)
        if (!strcmp(m->languages.a[i], name))
            return;
    *vec_push(&m->languages) = mem_strdup(name);
}

void meta_release(struct meta *m)
{
    texts_release(m, identity, ARRAY_SIZE(identity));
    texts_release(m, details, ARRAY_SIZE(details));
    free(m->agent_ver);
    STRINGS_RELEASE(&m->hosts);
    STRINGS_RELEASE(&m->sessions);
    STRINGS_RELEASE(&m->barriers);
    STRINGS_RELEASE(&m->kinds);
    STRINGS_RELEASE(&m->languages);
    STRINGS_RELEASE(&m->command);
    STRINGS_RELEASE(&m->notes);
    STRINGS_RELEASE(&m->env);
    for (size_t i = 0; i < m->collectors.n; i++) {
        free(m->collectors.a[i].name);
        free(m->collectors.a[i].state);
        free(m->collectors.a[i].detail);
    }
    for (size_t i = 0; i < m->artifacts.n; i++) {
        free(m->artifacts.a[i].kind);
        free(m->artifacts.a[i].path);
    }
    vec_release(&m->collectors);
    vec_release(&m->artifacts);
    free(m->damage);
    *m = (struct meta){0};
}

/* ---- reading ---- */

static char *text_of(const struct json_value *v)
{
    return v && v->type == JSON_STRING ? mem_strndup(v->str, strlen(v->str)) : NULL;
}

static void texts_parse(struct meta *m, const struct text_field *f, size_t n, const struct json_value *root)
{
    for (size_t i = 0; i < n; i++)
        *text_at(m, &f[i]) = text_of(json_get(root, f[i].key));
}

/* An array of strings. */
#define STRINGS_PARSE(v, value)                                                                              \
    do {                                                                                                     \
        const struct json_value *value_ = (value);                                                           \
        value_ = value_ && value_->type == JSON_ARRAY ? value_->child : NULL;                                \
        for (; value_; value_ = value_->next)                                                                \
            if (value_->type == JSON_STRING)                                                                 \
                *vec_push(v) = text_of(value_);                                                              \
    } while (0)

static void note_lines(struct meta *m, const char *s)
{
    while (*s) {
        size_t n = strcspn(s, "\n");

        if (n)
            *vec_push(&m->notes) = mem_strndup(s, n);
        s += n + (s[n] == '\n');
    }
}

int meta_is_imported(const struct meta *m)
{
    int imported = m->kind && !strcmp(m->kind, "imported");

    for (size_t i = 0; i < m->kinds.n; i++)
        imported |= !strcmp(m->kinds.a[i], "imported");
    return imported;
}

/* AIProf writes one text, others a list. */
static void notes_parse(struct meta *m, const struct json_value *v)
{
    if (v && v->type == JSON_STRING)
        note_lines(m, v->str);
    for (v = v && v->type == JSON_ARRAY ? v->child : NULL; v; v = v->next)
        if (v->type == JSON_STRING)
            note_lines(m, v->str);
}

static int is_sha256(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static double finite_or_0(double v)
{
    return isfinite(v) ? v : 0;
}

static void lists_parse(struct meta *m, const struct json_value *root)
{
    const struct json_value *v = json_get(root, "collectors");

    for (v = v && v->type == JSON_ARRAY ? v->child : NULL; v; v = v->next)
        if (v->type == JSON_OBJECT)
            *vec_push(&m->collectors) = (struct meta_collector){
                text_of(json_get(v, "name")), text_of(json_get(v, "state")), text_of(json_get(v, "detail"))};
    v = json_get(root, "artifacts");
    for (v = v && v->type == JSON_ARRAY ? v->child : NULL; v; v = v->next) {
        struct meta_artifact a = {.kind = text_of(json_get(v, "kind")), .path = text_of(json_get(v, "path"))};

        a.size = json_get_u64(v, "size", 0);
        if (is_sha256(json_get_str(v, "sha256", "")))
            strcpy(a.sha256, json_get_str(v, "sha256", ""));
        *vec_push(&m->artifacts) = a;
    }
}

static int64_t get_i64(const struct json_value *root, const char *key, int64_t otherwise)
{
    const struct json_value *v = json_get(root, key);

    return v && v->type == JSON_NUMBER && v->is_integer ? v->integer : otherwise;
}

static void numbers_parse(struct meta *m, const struct json_value *root)
{
    const struct json_value *clock = json_get(root, "clock");

    m->pid = get_i64(root, "pid", 0);
    m->start_ts = finite_or_0(json_get_f64(root, "start_ts", 0));
    m->end_ts = finite_or_0(json_get_f64(root, "end_ts", 0));
    m->duration_s = finite_or_0(json_get_f64(root, "duration_s", 0));
    m->ncpus = (uint32_t)json_get_u64(root, "ncpus", 0);
    m->frequency = json_get_u64(root, "frequency", 0);
    m->exit_code = get_i64(root, "exit_code", -1);
    m->start_mono = json_get_u64(clock, "start_mono_ns", 0);
    m->end_mono = json_get_u64(clock, "end_mono_ns", 0);
    m->realtime_offset = json_get_u64(clock, "realtime_offset_ns", 0);
}

int meta_parse(struct meta *m, const char *text, size_t n, struct err *e)
{
    struct json_doc *doc = json_parse(text, n, e);
    const struct json_value *root;
    uint64_t version;

    *m = (struct meta){0};
    if (!doc)
        return -1;
    root = json_root(doc);
    version = json_get_u64(root, "schema_version", 0);
    if (!version || !json_get_str(root, "session_id", NULL)) {
        json_free(doc);
        return err_set(e, "no session_id and schema_version in it: not a session's meta.json");
    }
    if (version > SCHEMA) {
        json_free(doc);
        return err_set(e, "schema_version %llu, this wprof reads up to %d: use a newer wprof",
                       (unsigned long long)version, SCHEMA);
    }
    m->schema_version = (int)version;
    texts_parse(m, identity, ARRAY_SIZE(identity), root);
    texts_parse(m, details, ARRAY_SIZE(details), root);
    m->agent_ver = text_of(json_get(root, "agent_ver"));
    STRINGS_PARSE(&m->hosts, json_get(root, "hosts"));
    STRINGS_PARSE(&m->sessions, json_get(root, "sessions"));
    STRINGS_PARSE(&m->barriers, json_get(root, "barriers"));
    STRINGS_PARSE(&m->kinds, json_get(root, "kinds"));
    STRINGS_PARSE(&m->languages, json_get(root, "languages"));
    STRINGS_PARSE(&m->command, json_get(root, "command"));
    STRINGS_PARSE(&m->env, json_get(root, "env"));
    notes_parse(m, json_get(root, "notes"));
    lists_parse(m, root);
    numbers_parse(m, root);
    json_free(doc);
    return 0;
}

/* ---- writing ---- */

static void texts_write(const struct meta *m, const struct text_field *f, size_t n, struct json_writer *w)
{
    for (size_t i = 0; i < n; i++)
        json_str(w, f[i].key, *text_at(m, &f[i]));
}

static void strings_write(struct json_writer *w, const char *key, char *const *a, size_t n)
{
    json_array(w, key);
    for (size_t i = 0; i < n; i++)
        json_str(w, NULL, a[i]);
    json_end_array(w);
}

/* AIProf's notes is one text; ours are lines of it. */
static void notes_write(const struct meta *m, struct json_writer *w)
{
    struct buf text = {0};

    for (size_t i = 0; i < m->notes.n; i++)
        buf_addf(&text, "%s%s", i ? "\n" : "", m->notes.a[i]);
    json_str(w, "notes", buf_str(&text));
    buf_release(&text);
}

/* Counters "cpu.taken" go to the collector cpu as "taken"; with name NULL: those of no collector, whole. */
static void counters_write(const struct meta *m, const struct store *s, const char *name,
                           struct json_writer *w)
{
    json_object(w, "counters");
    for (size_t i = 0; s && i < s->counters.n; i++) {
        const char *full = strtab_get(&s->strings, s->counters.a[i].name), *dot = strchr(full, '.');
        size_t n = dot ? (size_t)(dot - full) : 0;
        int owned = 0;

        for (size_t j = 0; j < m->collectors.n && n; j++) {
            const char *c = m->collectors.a[j].name;

            owned |= c && strlen(c) == n && !strncmp(c, full, n);
        }
        if (name ? n == strlen(name) && !strncmp(name, full, n) : !owned)
            json_u64(w, name ? dot + 1 : full, s->counters.a[i].value);
    }
    json_end_object(w);
}

static void collectors_write(const struct meta *m, const struct store *s, struct json_writer *w)
{
    json_array(w, "collectors");
    for (size_t i = 0; i < m->collectors.n; i++) {
        const struct meta_collector *c = &m->collectors.a[i];

        json_object(w, NULL);
        json_str(w, "name", c->name);
        json_str(w, "state", c->state);
        json_str(w, "detail", c->detail);
        if (c->name)
            counters_write(m, s, c->name, w);
        json_end_object(w);
    }
    json_end_array(w);
    counters_write(m, s, NULL, w);
}

void meta_artifact_write(const struct meta_artifact *a, struct json_writer *w)
{
    json_object(w, NULL);
    json_str(w, "kind", a->kind);
    json_str(w, "path", a->path);
    json_u64(w, "size", a->size);
    json_str(w, "sha256", a->sha256);
    json_end_object(w);
}

static void artifacts_write(const struct meta *m, struct json_writer *w)
{
    json_array(w, "artifacts");
    for (size_t i = 0; i < m->artifacts.n; i++)
        meta_artifact_write(&m->artifacts.a[i], w);
    json_end_array(w);
}

static void clock_write(const struct meta *m, struct json_writer *w)
{
    json_object(w, "clock");
    json_u64(w, "start_mono_ns", m->start_mono);
    json_u64(w, "end_mono_ns", m->end_mono);
    json_u64(w, "realtime_offset_ns", m->realtime_offset);
    json_end_object(w);
}

static void quality_write(const struct meta *m, const struct store *s, struct json_writer *w)
{
    struct quality q;

    quality_compute(&q, s, m);
    json_object(w, "quality");
    quality_json(&q, w);
    json_end_object(w);
}

void meta_write(const struct meta *m, const struct store *s, struct buf *out)
{
    struct json_writer w = {.out = out, .indent = 2};

    json_object(&w, NULL);
    texts_write(m, identity, ARRAY_SIZE(identity), &w);
    json_u64(&w, "schema_version", SCHEMA);
    if (m->hosts.n)
        strings_write(&w, "hosts", m->hosts.a, m->hosts.n);
    if (m->sessions.n)
        strings_write(&w, "sessions", m->sessions.a, m->sessions.n);
    if (m->barriers.n)
        strings_write(&w, "barriers", m->barriers.a, m->barriers.n);
    strings_write(&w, "kinds", m->kinds.a, m->kinds.n);
    json_i64(&w, "pid", m->pid);
    json_f64(&w, "start_ts", m->start_ts);
    json_f64(&w, "end_ts", m->end_ts);
    json_f64(&w, "duration_s", m->duration_s);
    strings_write(&w, "languages", m->languages.a, m->languages.n);
    json_str(&w, "agent_ver", m->agent_ver ? m->agent_ver : "wprof " VERSION); /* of who writes it */
    notes_write(m, &w);
    texts_write(m, details, ARRAY_SIZE(details), &w);
    strings_write(&w, "command", m->command.a, m->command.n);
    json_i64(&w, "exit_code", m->exit_code);
    json_u64(&w, "ncpus", m->ncpus);
    json_u64(&w, "frequency", m->frequency);
    clock_write(m, &w);
    strings_write(&w, "env", m->env.a, m->env.n);
    collectors_write(m, s, &w);
    if (s)
        quality_write(m, s, &w);
    artifacts_write(m, &w);
    json_end_object(&w);
    buf_addch(out, '\n');
}
