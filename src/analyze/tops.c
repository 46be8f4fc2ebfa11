/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/tops.h"

#include "analyze/metrics_sums.h"
#include "model/frames.h"
#include "model/functions.h"

#include <math.h>
#include <string.h>

/* Of a metric that counts `type`. */
#define FUNCTION_COLUMNS(type)                                                                               \
    {                                                                                                        \
        {"self_share", "self", TABLE_SHARE}, {"self", "", type}, {"total_share", "total", TABLE_SHARE},      \
            {"total", "", type}, {"kind", "kind", TABLE_TEXT}, {"name", "name", TABLE_TEXT},                 \
            {"module", "in", TABLE_TEXT}, {"function", NULL, TABLE_TEXT}, {"file", NULL, TABLE_TEXT},        \
            {"line", NULL, TABLE_COUNT},                                                                     \
    }

static const struct table_column count_columns[] = FUNCTION_COLUMNS(TABLE_COUNT);
static const struct table_column time_columns[] = FUNCTION_COLUMNS(TABLE_NS);
static const struct table_column bytes_columns[] = FUNCTION_COLUMNS(TABLE_BYTES);

enum { F_SELF_SHARE, F_SELF, F_TOTAL_SHARE, F_TOTAL, F_KIND, F_NAME, F_MODULE, F_FUNCTION, F_FILE, F_LINE };

static const struct table_column process_columns[] = {
    {"share", "share", TABLE_SHARE}, {"samples", "samples", TABLE_COUNT}, {"cpu_ns", "CPU time", TABLE_NS},
    {"pid", "pid", TABLE_ID},        {"name", "name", TABLE_TEXT},
};

static const struct table_column thread_columns[] = {
    {"share", "share", TABLE_SHARE}, {"samples", "samples", TABLE_COUNT}, {"cpu_ns", "CPU time", TABLE_NS},
    {"pid", "pid", TABLE_ID},        {"name", "name", TABLE_TEXT},        {"tid", "tid", TABLE_ID},
};

enum { T_SHARE, T_SAMPLES, T_CPU, T_PID, T_NAME, T_TID };

/* With metrics: those behind are filled from them. */
static const struct table_column measured_columns[] = {
    {"share", "share", TABLE_SHARE},
    {"samples", "samples", TABLE_COUNT},
    {"cpu_ns", "CPU time", TABLE_NS},
    {"pid", "pid", TABLE_ID},
    {"name", "name", TABLE_TEXT},
    {"delay_ns", "run queue", TABLE_NS, 1},
    {"max_rss", "max RSS", TABLE_BYTES, 2},
    {"read_bytes", "read", TABLE_BYTES, 3},
    {"written_bytes", "written", TABLE_BYTES, 4},
};

enum { T_DELAY = T_TID, T_RSS, T_READ, T_WRITTEN };

static const char *const kinds[] = {
    [FRAME_NONE] = "",   [FRAME_KERNEL] = "kernel", [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
    [FRAME_JIT] = "jit", [FRAME_GPU] = "gpu",       [FRAME_MARKER] = "",       [FRAME_GIL] = "gil",
};

struct row {
    uint32_t frame; /* one of those that make the row */
    uint64_t self, total;
};

/* What puts frames into one row: the key string, interned; 0: the frame is in no row. */
struct groups {
    struct strtab keys;
    uint32_t *of;         /* profile frame -> key */
    VEC(struct row) rows; /* by key - 1 */
};

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void key_of(const struct profile *p, uint32_t i, enum tops_by by, struct buf *key)
{
    const struct profile_frame *f = &p->frames.a[i];
    const char *module = strtab_get(&p->strings, f->module), *file = strtab_get(&p->strings, f->file);

    switch (by) {
    case TOPS_FUNCTION:
        profile_frame_label(p, i, key);
        buf_addf(key, "\n%s\n%d", module, f->kind);
        break;
    case TOPS_MODULE:
        buf_addf(key, "%s\n%d", *module ? module : kinds[f->kind], f->kind == FRAME_PYTHON);
        break;
    case TOPS_FILE:
        buf_addf(key, "%s\n%s", *file ? file : module, *file ? "" : kinds[f->kind]);
        break;
    case TOPS_LINE:
        profile_frame_label(p, i, key);
        buf_addf(key, "\n%s\n%u", *file ? file : module, f->line);
        break;
    }
}

static void make_groups(struct groups *g, const struct profile *p, enum tops_by by)
{
    struct buf key = {0};

    g->of = mem_calloc(p->frames.n, sizeof(*g->of));
    for (uint32_t i = 0; i < p->frames.n; i++) {
        if (p->frames.a[i].kind == FRAME_NONE)
            continue;
        buf_clear(&key);
        key_of(p, i, by, &key);
        g->of[i] = strtab_addn(&g->keys, buf_str(&key), key.len);
        if (g->of[i] > g->rows.n)
            *vec_push(&g->rows) = (struct row){.frame = i};
    }
    buf_release(&key);
}

/* A key's total takes a node only where no ancestor has the same key. */
static void add_up(struct groups *g, const struct profile *p, size_t metric)
{
    struct functions f = {0};

    functions_sum_groups(&f, p, metric, g->of, g->rows.n + 1);
    for (size_t i = 0; i < g->rows.n; i++) {
        g->rows.a[i].self = f.self[i + 1];
        g->rows.a[i].total = f.total[i + 1];
    }
    functions_release(&f);
}

static int by_self(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int by_total(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return by_self(pa, pb);
}

static char *text(const char *s)
{
    return *s ? mem_strdup(s) : NULL;
}

static char *row_name(const struct profile *p, uint32_t frame, enum tops_by by)
{
    const struct profile_frame *f = &p->frames.a[frame];
    const char *module = strtab_get(&p->strings, f->module), *file = strtab_get(&p->strings, f->file);
    struct buf b = {0};

    switch (by) {
    case TOPS_MODULE:
        return mem_strdup(*module ? module : f->kind == FRAME_PYTHON ? "[python]" : "[no module]");
    case TOPS_FILE:
        return *file ? mem_strdup(file) : mem_printf("[no file] %s", *module ? module : kinds[f->kind]);
    default:
        profile_frame_label(p, frame, &b);
        return buf_detach(&b);
    }
}

static void fill_row(union table_cell *c, const struct profile *p, const struct row *r, uint64_t sum,
                     enum tops_by by)
{
    const struct profile_frame *f = &p->frames.a[r->frame];
    const char *module = strtab_get(&p->strings, f->module);
    int whole = by == TOPS_FUNCTION || by == TOPS_LINE;

    c[F_SELF_SHARE].share = sum ? (double)r->self / (double)sum : NAN;
    c[F_SELF].count = r->self;
    c[F_TOTAL_SHARE].share = sum ? (double)r->total / (double)sum : NAN;
    c[F_TOTAL].count = r->total;
    c[F_KIND].text = whole ? text(kinds[f->kind]) : NULL;
    c[F_NAME].text = row_name(p, r->frame, by);
    c[F_MODULE].text = whole ? text(base(module)) : NULL;
    c[F_FUNCTION].text = whole ? text(strtab_get(&p->strings, f->func)) : NULL;
    c[F_FILE].text = by != TOPS_MODULE ? text(strtab_get(&p->strings, f->file)) : NULL;
    c[F_LINE].count = f->line;
}

void tops_functions(struct table *t, const struct profile *p, size_t metric, enum tops_by by, int total,
                    size_t limit)
{
    const struct profile_metric *m = &p->metrics.a[metric];
    struct groups g = {0};

    table_init(t,
               !strcmp(m->unit, "ns")      ? time_columns
               : !strcmp(m->unit, "bytes") ? bytes_columns
                                           : count_columns,
               ARRAY_SIZE(count_columns));
    make_groups(&g, p, by);
    add_up(&g, p, metric);
    if (g.rows.n)
        qsort(g.rows.a, g.rows.n, sizeof(*g.rows.a), total ? by_total : by_self);
    for (size_t i = 0; i < g.rows.n; i++) {
        const struct row *r = &g.rows.a[i];

        if (total ? !r->total : !r->self)
            break;
        if (limit && table_rows(t) >= limit)
            t->left_out++;
        else
            fill_row(table_add(t), p, r, m->sum, by);
    }
    strtab_release(&g.keys);
    vec_release(&g.rows);
    free(g.of);
}

struct task_row {
    uint32_t task;
    uint64_t samples, cpu_ns;
};

static int heavier_task(const void *pa, const void *pb)
{
    const struct task_row *a = pa, *b = pb;

    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns > b->cpu_ns ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* What ran for a moment before it executed the program that was recorded, and was never sampled, counts as
 * that. */
static void join_images(struct task_row *rows, const struct tasks *tasks)
{
    for (size_t i = 0; i + 1 < tasks->list.n; i++) {
        const struct task *a = &tasks->list.a[i], *b = &tasks->list.a[i + 1];

        if (rows[i].samples || !task_same_thread(a, b))
            continue;
        rows[i + 1].cpu_ns += rows[i].cpu_ns;
        rows[i].cpu_ns = 0;
    }
}

static void fill_task(union table_cell *c, const struct session *s, const struct task_row *r, uint64_t sum,
                      int threads)
{
    const struct task *k = &s->store.tasks.list.a[r->task - 1];

    c[T_SHARE].share = sum ? (double)r->samples / (double)sum : NAN;
    c[T_SAMPLES].count = r->samples;
    c[T_CPU].count = r->cpu_ns;
    c[T_PID].count = k->ns_pid ? k->ns_pid : k->pid;
    if (threads)
        c[T_TID].count = k->ns_tid ? k->ns_tid : k->tid;
    c[T_NAME].text = origins_task_name(&s->store, k, "?");
}

static void fill_measured(union table_cell *c, const struct metrics_sums *x, uint32_t task)
{
    c[T_DELAY].count = metrics_sums_total(x, task, METRIC_ID_SCHED_DELAY);
    c[T_RSS].count = metrics_sums_max_rss(x, task);
    c[T_READ].count = metrics_sums_total(x, task, METRIC_ID_IO_READ);
    c[T_WRITTEN].count = metrics_sums_total(x, task, METRIC_ID_IO_WRITE);
}

void tops_tasks(struct table *t, const struct session *s, int threads, size_t limit)
{
    const struct tasks *tasks = &s->store.tasks;
    size_t n = tasks->list.n;
    struct task_row *rows = mem_calloc(n + 1, sizeof(*rows));
    struct metrics_sums measured;
    uint64_t sum = 0;

    metrics_sums_init(&measured, s);
    if (threads)
        table_init(t, thread_columns, ARRAY_SIZE(thread_columns));
    else if (measured.list.n)
        table_init(t, measured_columns, ARRAY_SIZE(measured_columns));
    else
        table_init(t, process_columns, ARRAY_SIZE(process_columns));
    for (size_t i = 0; i < n; i++) {
        const struct task *k = &tasks->list.a[i];

        rows[i].task = (uint32_t)i + 1;
        rows[threads || !k->leader || k->leader > n ? i : k->leader - 1].cpu_ns += k->cpu_ns;
    }
    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];
        uint32_t id = ev->task;

        if (ev->kind != EVENT_SAMPLE)
            continue;
        sum += ev->value;
        if (id && id <= n && !threads && tasks->list.a[id - 1].leader)
            id = tasks->list.a[id - 1].leader;
        if (id && id <= n)
            rows[id - 1].samples += ev->value;
    }
    join_images(rows, tasks);
    qsort(rows, n, sizeof(*rows), heavier_task);
    for (size_t i = 0; i < n; i++) {
        union table_cell *c;

        if (!rows[i].samples && !rows[i].cpu_ns)
            continue;
        if (limit && table_rows(t) >= limit) {
            t->left_out++;
            continue;
        }
        c = table_add(t);
        fill_task(c, s, &rows[i], sum, threads);
        if (!threads && measured.list.n)
            fill_measured(c, &measured, rows[i].task);
    }
    metrics_sums_release(&measured);
    free(rows);
}
