/* SPDX-License-Identifier: Apache-2.0 */
#include "model/store_log.h"

#include "model/column.h"
#include "model/zblock.h"

#include <string.h>

/* Levels of zstd: 3 while recording; the trial only ranks codings. */
enum { TRIAL_LEVEL = 3 };

int store_log_create(struct store_log *w, int fd, int level, int best, struct err *e)
{
    *w = (struct store_log){0};
    if (best)
        w->trial = zpacker_new(TRIAL_LEVEL);
    if (wlog_create(&w->log, fd, level, e)) {
        store_log_release(w);
        return -1;
    }
    return 0;
}

void store_log_release(struct store_log *w)
{
    zpacker_free(w->trial);
    wlog_writer_release(&w->log);
    vec_release(&w->counters);
    w->trial = NULL;
}

void store_log_column(struct wlog_payload *p, const uint64_t *v, size_t n, enum wlog_type type,
                      struct zpacker *trial)
{
    /* Ids of rows made one after the other are near each other; the rest is small or a constant. */
    enum column_coding usual =
        type == WLOG_STACKS || type == WLOG_FRAMES || type == WLOG_NAMES ? COLUMN_DELTA : COLUMN_VARINT;

    if (trial)
        column_put_best(p, v, n, trial);
    else
        column_put(p, v, n, usual);
}

/* Rows of a table as columns: FIELD(i) is row i's value, put with the coding usual for `type`. */
#define PUT_COLUMN(p, scratch, n, type, trial, FIELD)                                                        \
    do {                                                                                                     \
        for (size_t i = 0; i < (n); i++)                                                                     \
            (scratch)[i] = (FIELD);                                                                          \
        store_log_column(p, scratch, n, type, trial);                                                        \
    } while (0)

static void strings_put(struct wlog_payload *p, const struct strtab *t, size_t from, size_t n,
                        struct zpacker *trial)
{
    uint64_t *len = mem_alloc(n * sizeof(*len));

    for (size_t i = 0; i < n; i++)
        len[i] = strlen(strtab_get(t, (uint32_t)(from + i + 1)));
    store_log_column(p, len, n, WLOG_STRINGS, trial);
    for (size_t i = 0; i < n; i++)
        buf_add(&p->raw, strtab_get(t, (uint32_t)(from + i + 1)), len[i]);
    free(len);
}

static void modules_put(struct wlog_payload *p, const struct module *m, size_t n)
{
    for (size_t i = 0; i < n; i++, m++) {
        buf_add_varint(&p->raw, m->path);
        buf_addch(&p->raw, (char)m->kind);
        buf_addch(&p->raw, (char)m->build_id_len);
        buf_add(&p->raw, m->build_id, m->build_id_len);
        buf_add_varint(&p->raw, m->task);
        buf_add_varint(&p->raw, m->dev);
        buf_add_varint(&p->raw, m->ino);
    }
}

static void frames_put(struct wlog_payload *p, const struct frame *f, size_t n, struct zpacker *trial)
{
    uint64_t *v = mem_alloc(n * sizeof(*v));

    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, f[i].kind);
    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, f[i].flags);
    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, f[i].module);
    PUT_COLUMN(p, v, n, WLOG_FRAMES, trial, f[i].addr);
    PUT_COLUMN(p, v, n, WLOG_FRAMES, trial, f[i].func);
    PUT_COLUMN(p, v, n, WLOG_FRAMES, trial, f[i].file);
    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, f[i].line);
    free(v);
}

/* Each frame as its distance from the one that last stood below an equal frame: what a call site calls is
 * mostly what it called before, or the next place in the same function. Smaller, but slower to read. */
static void distances(uint64_t *v, const struct store *s, size_t from, size_t n)
{
    const struct stack_node *a = s->stacks.nodes.a;
    uint32_t *below = mem_calloc(s->frames.list.n + 1, sizeof(*below));

    for (size_t i = 0; i < n; i++) {
        struct stack_node k = a[from + i];
        uint32_t *last = &below[k.parent ? a[k.parent - 1].frame : 0];

        v[i] = column_zigzag(k.frame, *last);
        *last = k.frame;
    }
    free(below);
}

static void stacks_put(struct wlog_payload *p, const struct store *s, size_t from, size_t n,
                       struct zpacker *trial)
{
    const struct stack_node *a = s->stacks.nodes.a;
    uint64_t *v = mem_alloc(n * sizeof(*v));

    buf_addch(&p->raw, trial ? STORE_LOG_DISTANCES : STORE_LOG_PLAIN);
    /* How far above lies the parent: 0 in a chain. */
    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, from + i - a[from + i].parent);
    if (trial) {
        distances(v, s, from, n);
        store_log_column(p, v, n, WLOG_EVENTS, trial);
    } else {
        PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, a[from + i].frame);
    }
    free(v);
}

static void tasks_put(struct wlog_payload *p, const struct tasks *t, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct task *k = &t->list.a[ids[i] - 1];
        const uint64_t fields[] = {ids[i],      k->pid,     k->tid,    k->start_ns, k->leader,
                                   k->parent,   k->ns_pid,  k->ns_tid, k->own_pid,  k->comm,
                                   k->first_ns, k->last_ns, k->cpu_ns};

        for (size_t j = 0; j < ARRAY_SIZE(fields); j++)
            buf_add_varint(&p->raw, fields[j]);
    }
}

static int append(struct store_log *w, enum wlog_type type, struct wlog_payload *p, struct err *e)
{
    int rc = wlog_append(&w->log, type, p, e);

    wlog_payload_release(p);
    return rc;
}

static size_t rows(size_t done, size_t all)
{
    return all - done < STORE_LOG_BLOCK ? all - done : STORE_LOG_BLOCK;
}

static int flush_strings(struct store_log *w, const struct strtab *t, struct err *e)
{
    while (w->strings < t->offsets.n) {
        size_t n = rows(w->strings, t->offsets.n);
        struct wlog_payload p = {0};

        while (n > 1 && t->offsets.a[w->strings + n - 1] - t->offsets.a[w->strings] > STORE_LOG_BYTES)
            n /= 2;
        buf_add_varint(&p.raw, n);
        strings_put(&p, t, w->strings, n, w->trial);
        if (append(w, WLOG_STRINGS, &p, e))
            return -1;
        w->strings += n;
    }
    return 0;
}

static int flush_frames(struct store_log *w, const struct frames *f, struct err *e)
{
    while (w->modules < f->modules.n) {
        size_t n = rows(w->modules, f->modules.n);
        struct wlog_payload p = {0};

        buf_add_varint(&p.raw, n);
        modules_put(&p, f->modules.a + w->modules, n);
        if (append(w, WLOG_MODULES, &p, e))
            return -1;
        w->modules += n;
    }
    while (w->frames < f->list.n) {
        size_t n = rows(w->frames, f->list.n);
        struct wlog_payload p = {0};

        buf_add_varint(&p.raw, n);
        frames_put(&p, f->list.a + w->frames, n, w->trial);
        if (append(w, WLOG_FRAMES, &p, e))
            return -1;
        w->frames += n;
    }
    return 0;
}

static int flush_stacks(struct store_log *w, const struct store *s, struct err *e)
{
    while (w->stacks < s->stacks.nodes.n) {
        size_t n = rows(w->stacks, s->stacks.nodes.n);
        struct wlog_payload p = {0};

        buf_add_varint(&p.raw, n);
        stacks_put(&p, s, w->stacks, n, w->trial);
        if (append(w, WLOG_STACKS, &p, e))
            return -1;
        w->stacks += n;
    }
    return 0;
}

static int u32_cmp(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Of those tasks that have changed, and are of one: a session of one recording has no such block. */
static int flush_task_origins(struct store_log *w, const struct tasks *t, struct err *e)
{
    struct wlog_payload p = {0};
    VEC(uint32_t) ids = {0};
    int rc = 0;

    for (size_t i = 0; i < t->changed.n; i++)
        if (t->list.a[t->changed.a[i] - 1].origin)
            *vec_push(&ids) = t->changed.a[i];
    if (ids.n) {
        buf_add_varint(&p.raw, ids.n);
        store_task_origins_put(&p, t, ids.a, ids.n, w->trial);
        rc = append(w, WLOG_TASK_ORIGINS, &p, e);
    }
    vec_release(&ids);
    return rc;
}

/* The same of those whose own name is the root: only what was imported of perf has them. */
static int flush_task_roots(struct store_log *w, const struct tasks *t, struct err *e)
{
    struct wlog_payload p = {0};
    VEC(uint32_t) ids = {0};
    int rc = 0;

    for (size_t i = 0; i < t->changed.n; i++)
        if (t->list.a[t->changed.a[i] - 1].is_root)
            *vec_push(&ids) = t->changed.a[i];
    if (ids.n) {
        buf_add_varint(&p.raw, ids.n);
        store_task_roots_put(&p, ids.a, ids.n, w->trial);
        rc = append(w, WLOG_TASK_ROOTS, &p, e);
    }
    vec_release(&ids);
    return rc;
}

static int flush_tasks(struct store_log *w, struct tasks *t, struct err *e)
{
    struct wlog_payload p = {0};
    size_t n = 0;

    if (!t->changed.n)
        return 0;
    qsort(t->changed.a, t->changed.n, sizeof(*t->changed.a), u32_cmp);
    for (size_t i = 0; i < t->changed.n; i++)
        if (!i || t->changed.a[i] != t->changed.a[i - 1])
            t->changed.a[n++] = t->changed.a[i];
    t->changed.n = n;
    buf_add_varint(&p.raw, n);
    tasks_put(&p, t, t->changed.a, n);
    if (append(w, WLOG_TASKS, &p, e) || flush_task_origins(w, t, e) || flush_task_roots(w, t, e))
        return -1;
    vec_clear(&t->changed);
    return 0;
}

static int flush_origins(struct store_log *w, const struct origins *o, struct err *e)
{
    while (w->origins < o->list.n) {
        size_t n = rows(w->origins, o->list.n);
        struct wlog_payload p = {0};

        buf_add_varint(&p.raw, n);
        store_origins_put(&p, o->list.a + w->origins, n);
        if (append(w, WLOG_ORIGINS, &p, e))
            return -1;
        w->origins += n;
    }
    return 0;
}

/* The names of frames ids[0..n), in columns: frame (as a difference), names each, then func, file, line of
 * every name. */
static void names_put(struct wlog_payload *p, const struct frames *f, const uint64_t *ids, size_t n,
                      size_t total, struct zpacker *trial)
{
    uint64_t *v = mem_alloc((total > n ? total : n) * sizeof(*v));

    store_log_column(p, ids, n, WLOG_NAMES, trial);
    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, f->list.a[ids[i] - 1].names_n);
    for (int column = 0; column < 3; column++) {
        size_t k = 0;

        for (size_t i = 0; i < n; i++) {
            const struct frame *fr = &f->list.a[ids[i] - 1];

            for (size_t j = 0; j < fr->names_n; j++) {
                const struct frame_name *name = &f->names.a[fr->names + j];

                v[k++] = column == 0 ? name->func : column == 1 ? name->file : name->line;
            }
        }
        store_log_column(p, v, total, WLOG_NAMES, trial);
    }
    free(v);
}

static int flush_names(struct store_log *w, const struct frames *f, struct err *e)
{
    uint64_t *ids;
    size_t at = 0, done = w->names;
    int rc = 0;

    if (w->names >= f->names.n)
        return 0;
    ids = mem_alloc(STORE_LOG_BLOCK * sizeof(*ids));
    while (at < f->list.n && !rc) {
        struct wlog_payload p = {0};
        size_t n = 0, total = 0;

        for (; at < f->list.n && n < STORE_LOG_BLOCK && total < STORE_LOG_BLOCK - UINT16_MAX; at++) {
            const struct frame *fr = &f->list.a[at];

            if (!fr->names_n || fr->names < done)
                continue;
            ids[n++] = at + 1;
            total += fr->names_n;
        }
        if (!n)
            break;
        buf_add_varint(&p.raw, n);
        names_put(&p, f, ids, n, total, w->trial);
        rc = append(w, WLOG_NAMES, &p, e);
    }
    if (!rc)
        w->names = f->names.n;
    free(ids);
    return rc;
}

static void waits_put(struct wlog_payload *p, const struct wait *a, size_t n, struct zpacker *trial)
{
    uint64_t *v = mem_alloc(n * sizeof(*v));

    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, a[i].reason);
    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, a[i].irq);
    PUT_COLUMN(p, v, n, WLOG_EVENTS, trial, a[i].waker_task);
    PUT_COLUMN(p, v, n, WLOG_STACKS, trial, a[i].waker_stack);
    PUT_COLUMN(p, v, n, WLOG_STACKS, trial, a[i].what);
    free(v);
}

static int flush_waits(struct store_log *w, const struct waits *t, struct err *e)
{
    while (w->waits < t->list.n) {
        size_t n = rows(w->waits, t->list.n);
        struct wlog_payload p = {0};

        buf_add_varint(&p.raw, n);
        waits_put(&p, t->list.a + w->waits, n, w->trial);
        if (append(w, WLOG_WAITS, &p, e))
            return -1;
        w->waits += n;
    }
    return 0;
}

static int flush_gpus(struct store_log *w, const struct gpu_works *t, struct err *e)
{
    while (w->gpus < t->list.n) {
        size_t n = rows(w->gpus, t->list.n);
        struct wlog_payload p = {0};

        buf_add_varint(&p.raw, n);
        store_gpu_put(&p, t->list.a + w->gpus, n, w->trial);
        if (append(w, WLOG_GPU, &p, e))
            return -1;
        w->gpus += n;
    }
    return 0;
}

static int counters_changed(const struct store_log *w, const struct store *s)
{
    if (w->counters.n != s->counters.n)
        return 1;
    for (size_t i = 0; i < s->counters.n; i++)
        if (w->counters.a[i].name != s->counters.a[i].name ||
            w->counters.a[i].value != s->counters.a[i].value)
            return 1;
    return 0;
}

static int flush_counters(struct store_log *w, const struct store *s, struct err *e)
{
    struct wlog_payload p = {0};

    if (!counters_changed(w, s))
        return 0;
    buf_add_varint(&p.raw, s->counters.n);
    for (size_t i = 0; i < s->counters.n; i++) {
        buf_add_varint(&p.raw, s->counters.a[i].name);
        buf_add_varint(&p.raw, s->counters.a[i].value);
    }
    if (append(w, WLOG_COUNTERS, &p, e))
        return -1;
    vec_clear(&w->counters);
    for (size_t i = 0; i < s->counters.n; i++)
        *vec_push(&w->counters) = s->counters.a[i];
    return 0;
}

static int flush_events(struct store_log *w, struct store *s, int keep, struct err *e)
{
    size_t done = 0;
    int rc = 0;

    while (done < s->events.n && !rc) {
        size_t n = rows(done, s->events.n);
        struct wlog_payload p = {0};

        store_events_sort(s->events.a + done, n, 0);
        store_events_put(&p, s->events.a + done, n, w->trial);
        rc = append(w, WLOG_EVENTS, &p, e);
        if (!rc) {
            done += n;
            w->events += n;
        }
    }
    if (!keep && done) {
        memmove(s->events.a, s->events.a + done, (s->events.n - done) * sizeof(*s->events.a));
        s->events.n -= done;
    }
    return rc;
}

int store_log_flush(struct store_log *w, struct store *s, int keep_events, struct err *e)
{
    if (flush_strings(w, &s->strings, e) || flush_frames(w, &s->frames, e) || flush_stacks(w, s, e) ||
        flush_origins(w, &s->origins, e) || flush_tasks(w, &s->tasks, e) || flush_names(w, &s->frames, e) ||
        flush_waits(w, &s->waits, e) || flush_gpus(w, &s->gpus, e) || flush_counters(w, s, e))
        return -1;
    return flush_events(w, s, keep_events, e);
}

int store_log_name(struct store_log *w, const char *session_id, struct err *e)
{
    struct wlog_payload p = {0};

    buf_add(&p.raw, session_id, strnlen(session_id, STORE_LOG_ID));
    return append(w, WLOG_SESSION, &p, e);
}

int store_log_end(struct store_log *w, const struct store *s, struct err *e)
{
    const uint64_t counts[] = {w->log.blocks, w->strings,      w->modules, w->frames,
                               w->stacks,     s->tasks.list.n, w->events};
    struct wlog_payload p = {0};

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        buf_add_varint(&p.raw, counts[i]);
    return append(w, WLOG_END, &p, e);
}
