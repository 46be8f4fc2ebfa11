/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics_top.h"

#include "base/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct task *task_of(const struct metrics_sums *x, uint32_t id)
{
    const struct tasks *tasks = &x->s->store.tasks;

    return id && id <= tasks->list.n ? &tasks->list.a[id - 1] : NULL;
}

static char *name_of(const struct metrics_sums *x, const struct task *task)
{
    return origins_task_name(&x->s->store, task, "?");
}

static uint32_t pid_of(const struct task *t)
{
    return t->ns_pid ? t->ns_pid : t->pid;
}

static uint32_t tid_of(const struct task *t)
{
    return t->ns_tid ? t->ns_tid : t->tid;
}

/* ---- all of them ---- */

static const struct table_column all_columns[] = {
    {"of", "of", TABLE_TEXT},       {"process", "process", TABLE_TEXT},
    {"pid", "pid", TABLE_ID},       {"tid", "tid", TABLE_ID},
    {"cpu", "cpu", TABLE_COUNT},    {"metric", "metric", TABLE_TEXT},
    {"kind", "kind", TABLE_TEXT},   {"unit", "unit", TABLE_TEXT},
    {"min", "min", TABLE_REAL},     {"mean", "mean", TABLE_REAL},
    {"max", "max", TABLE_REAL},     {"last", "last", TABLE_REAL},
    {"total", "total", TABLE_REAL}, {"readings", "readings", TABLE_COUNT},
};

enum {
    A_OF,
    A_PROCESS,
    A_PID,
    A_TID,
    A_CPU,
    A_METRIC,
    A_KIND,
    A_UNIT,
    A_MIN,
    A_MEAN,
    A_MAX,
    A_LAST,
    A_TOTAL,
    A_N
};

static const char *whose(const struct metrics_sums *x, const struct metrics_sum *m)
{
    unsigned of = metrics_get(m->id)->of;

    if (of & METRIC_GPU)
        return "gpu";
    if (metrics_sums_is_machine(x, m->task))
        return "machine";
    if (of & METRIC_CGROUP)
        return "cgroup";
    return of & METRIC_THREAD ? "thread" : "process";
}

static void fill_all(union table_cell *c, const struct metrics_sums *x, const struct metrics_sum *m)
{
    const struct metric *metric = metrics_get(m->id);
    const struct task *task = task_of(x, m->task);
    double scale = metric->unit == METRIC_RATIO ? 1.0 / METRIC_MILLION : 1;

    c[A_OF].text = mem_strdup(whose(x, m));
    if (task) {
        c[A_PROCESS].text = name_of(x, task_of(x, task->leader));
        c[A_PID].count = pid_of(task);
        c[A_TID].count = tid_of(task);
    }
    c[A_CPU].count = m->cpu != METRIC_ANY_CPU ? m->cpu : TABLE_NONE;
    c[A_METRIC].text = mem_strdup(metric->name);
    c[A_KIND].text = mem_strdup(metric->kind == METRIC_COUNTER ? "counter" : "gauge");
    c[A_UNIT].text = mem_strdup(metrics_unit_name(metric->unit));
    c[A_MIN].share = m->least * scale;
    c[A_MEAN].share = m->mean * scale;
    c[A_MAX].share = m->most * scale;
    c[A_LAST].share = m->last * scale;
    c[A_TOTAL].share = m->total * scale;
    c[A_N].count = m->n;
}

void metrics_table_all(struct table *t, const struct metrics_sums *x)
{
    table_init(t, all_columns, ARRAY_SIZE(all_columns));
    for (size_t i = 0; i < x->list.n; i++)
        fill_all(table_add(t), x, &x->list.a[i]);
}

/* ---- the machine ---- */

static const struct table_column machine_columns[] = {
    {"what", "what", TABLE_TEXT}, {"min", "min", TABLE_FIGURE},   {"mean", "mean", TABLE_FIGURE},
    {"max", "max", TABLE_FIGURE}, {"last", "last", TABLE_FIGURE}, {"total", "total", TABLE_FIGURE},
};

enum { M_WHAT, M_MIN, M_MEAN, M_MAX, M_LAST, M_TOTAL };

static char *spell(const struct metric *m, double value, int per_second)
{
    char text[64];

    return isnan(value) ? NULL : mem_strdup(metrics_spell(text, sizeof(text), m, value, per_second));
}

/* `of` is taken over. */
static char *titled(const char *title, char *of)
{
    char *text = mem_printf("%s (%s)", title, of);

    free(of);
    return text;
}

/* Where there are several, whose it is. */
static char *machine_title(const struct metrics_sums *x, const struct metrics_sum *m)
{
    const struct metric *metric = metrics_get(m->id);
    const struct task *task = task_of(x, m->task);
    char *title = m->cpu != METRIC_ANY_CPU
                      ? mem_printf("%s: %s %u", metric->title, metrics_part(metric), m->cpu)
                      : mem_strdup(metric->title),
         *whole;

    if (!task || metrics_sums_machine(x) != METRICS_MACHINES)
        return title;
    whole = titled(title, mem_strdup(strtab_get(&x->s->store.strings, task->comm)));
    free(title);
    return whole;
}

static void fill_machine(union table_cell *c, const struct metrics_sums *x, const struct metrics_sum *m,
                         int cgroup)
{
    const struct metric *metric = metrics_get(m->id);
    int rate = metric->kind == METRIC_COUNTER;

    if (cgroup)
        c[M_WHAT].text = titled(metric->title, name_of(x, task_of(x, m->task)));
    else
        c[M_WHAT].text = machine_title(x, m);
    c[M_MIN].text = spell(metric, m->least, rate);
    c[M_MEAN].text = spell(metric, m->mean, rate);
    c[M_MAX].text = spell(metric, m->most, rate);
    c[M_LAST].text = spell(metric, m->last, rate);
    c[M_TOTAL].text = spell(metric, m->total, 0);
}

void metrics_table_machine(struct table *t, const struct metrics_sums *x, int cgroup)
{
    table_init(t, machine_columns, ARRAY_SIZE(machine_columns));
    for (size_t i = 0; i < x->list.n; i++) {
        const struct metrics_sum *m = &x->list.a[i];

        if (cgroup ? m->task && metrics_get(m->id)->of & METRIC_CGROUP : metrics_sums_is_machine(x, m->task))
            fill_machine(table_add(t), x, m, cgroup);
    }
}

/* ---- what tasks used ---- */

struct used {
    uint32_t task;
    uint64_t weight;
};

static int heavier(const void *pa, const void *pb)
{
    const struct used *a = pa, *b = pb;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

struct used_list {
    VEC(struct used) list;
};

/* Tasks with a metric that `wants` takes, by the sum of the two. */
static void list_used(struct used_list *out, const struct metrics_sums *x, unsigned of, enum metric_id a,
                      enum metric_id b)
{
    uint32_t last = 0;

    for (size_t i = 0; i < x->list.n; i++) {
        const struct metrics_sum *m = &x->list.a[i];
        uint64_t first, second;

        if (m->task == last || metrics_sums_is_machine(x, m->task) || !(metrics_get(m->id)->of & of))
            continue;
        last = m->task;
        first = metrics_sums_total(x, m->task, a);
        second = b ? metrics_sums_total(x, m->task, b) : 0;
        *vec_push(&out->list) = (struct used){m->task, (first == METRICS_NONE ? 0 : first) +
                                                           (second == METRICS_NONE ? 0 : second)};
    }
    if (out->list.n)
        qsort(out->list.a, out->list.n, sizeof(*out->list.a), heavier);
}

/* ---- processes ---- */

/* Behind pid and name, a column for each; of gauges the most. */
static const enum metric_id process_metrics[] = {
    METRIC_ID_CPU_USER,
    METRIC_ID_CPU_SYSTEM,
    METRIC_ID_CPU_CHILDREN,
    METRIC_ID_SCHED_DELAY,
    METRIC_ID_SWITCHES_VOLUNTARY,
    METRIC_ID_SWITCHES_INVOLUNTARY,
    METRIC_ID_FAULTS_MINOR,
    METRIC_ID_FAULTS_MAJOR,
    METRIC_ID_MEMORY_RSS,
    METRIC_ID_IO_READ,
    METRIC_ID_IO_WRITE,
    METRIC_ID_IO_IN,
    METRIC_ID_IO_OUT,
    METRIC_ID_THREADS,
};

static const struct table_column process_columns[] = {
    {"pid", "pid", TABLE_ID},
    {"name", "name", TABLE_TEXT},
    {"user_ns", "user", TABLE_NS},
    {"system_ns", "system", TABLE_NS},
    {"children_ns", "children", TABLE_NS, 8},
    {"delay_ns", "run queue", TABLE_NS},
    {"voluntary", "voluntary", TABLE_COUNT, 6},
    {"involuntary", "involunt.", TABLE_COUNT, 5},
    {"minor_faults", "minor", TABLE_COUNT, 4},
    {"major_faults", "major", TABLE_COUNT, 7},
    {"max_rss", "max RSS", TABLE_BYTES},
    {"read_bytes", "read", TABLE_BYTES, 2},
    {"written_bytes", "written", TABLE_BYTES, 3},
    {"in_bytes", "by calls", TABLE_BYTES, 10},
    {"out_bytes", "by calls", TABLE_BYTES, 11},
    {"max_threads", "threads", TABLE_COUNT, 9},
};

_Static_assert(ARRAY_SIZE(process_columns) == 2 + ARRAY_SIZE(process_metrics), "a column for each metric");

static uint64_t amount_of(const struct metrics_sums *x, uint32_t task, enum metric_id id)
{
    if (id == METRIC_ID_MEMORY_RSS)
        return metrics_sums_max_rss(x, task);
    return metrics_get(id)->kind == METRIC_GAUGE ? metrics_sums_most(x, task, id)
                                                 : metrics_sums_total(x, task, id);
}

void metrics_table_processes(struct table *t, const struct metrics_sums *x, size_t limit)
{
    struct used_list used = {0};

    table_init(t, process_columns, ARRAY_SIZE(process_columns));
    list_used(&used, x, METRIC_PROCESS, METRIC_ID_CPU_USER, METRIC_ID_CPU_SYSTEM);
    for (size_t i = 0; i < used.list.n; i++) {
        const struct task *task = task_of(x, used.list.a[i].task);
        union table_cell *c;

        if (!task || (limit && table_rows(t) >= limit)) {
            t->left_out++;
            continue;
        }
        c = table_add(t);
        c[0].count = pid_of(task);
        c[1].text = name_of(x, task);
        for (size_t k = 0; k < ARRAY_SIZE(process_metrics); k++)
            c[2 + k].count = amount_of(x, used.list.a[i].task, process_metrics[k]);
    }
    vec_release(&used.list);
}

/* ---- threads ---- */

static const struct table_column thread_columns[] = {
    {"pid", "pid", TABLE_ID},
    {"tid", "tid", TABLE_ID},
    {"name", "name", TABLE_TEXT},
    {"oncpu_ns", "on CPU", TABLE_NS},
    {"ipc", "IPC", TABLE_REAL, 1},
    {"l1i_misses", "L1I misses", TABLE_COUNT, 3},
    {"llc_misses", "LLC misses", TABLE_COUNT, 2},
    {"instructions", "instructions", TABLE_COUNT, 4},
    {"cpus", "on CPUs", TABLE_TEXT},
};

enum { T_PID, T_TID, T_NAME, T_ONCPU, T_IPC, T_L1I, T_LLC, T_INSTRUCTIONS, T_CPUS };

/* "1: 80 %, 3: 20 %": where it ran, the most first, as far as that is known. */
static char *places(const struct metrics_sums *x, uint32_t task, uint64_t all)
{
    struct buf b = {0};
    double before = INFINITY;

    for (int shown = 0; all && shown < 8; shown++) {
        const struct metrics_sum *best = NULL;

        for (size_t i = 0; i < x->list.n; i++) {
            const struct metrics_sum *m = &x->list.a[i];

            if (m->task == task && m->id == METRIC_ID_SCHED_ONCPU && m->cpu != METRIC_ANY_CPU &&
                m->total > 0 && m->total < before && (!best || m->total > best->total))
                best = m;
        }
        if (!best)
            break;
        before = best->total;
        buf_addf(&b, "%s%u: %.0f %%", shown ? ", " : "", best->cpu, 100 * best->total / (double)all);
    }
    return b.len ? buf_detach(&b) : NULL;
}

void metrics_table_threads(struct table *t, const struct metrics_sums *x, size_t limit)
{
    struct used_list used = {0};

    table_init(t, thread_columns, ARRAY_SIZE(thread_columns));
    list_used(&used, x, METRIC_THREAD, METRIC_ID_SCHED_ONCPU, METRIC_NONE);
    for (size_t i = 0; i < used.list.n; i++) {
        const struct task *task = task_of(x, used.list.a[i].task);
        const struct metrics_sum *ipc;
        union table_cell *c;
        uint32_t id = used.list.a[i].task;

        if (!task || (limit && table_rows(t) >= limit)) {
            t->left_out++;
            continue;
        }
        ipc = metrics_sums_find(x, id, METRIC_ID_IPC);
        c = table_add(t);
        c[T_PID].count = pid_of(task);
        c[T_TID].count = tid_of(task);
        c[T_NAME].text = name_of(x, task);
        c[T_ONCPU].count = metrics_sums_total(x, id, METRIC_ID_SCHED_ONCPU);
        c[T_IPC].share = ipc ? ipc->mean / METRIC_MILLION : NAN;
        c[T_L1I].count = metrics_sums_total(x, id, METRIC_ID_L1I_MISSES);
        c[T_LLC].count = metrics_sums_total(x, id, METRIC_ID_LLC_MISSES);
        c[T_INSTRUCTIONS].count = metrics_sums_total(x, id, METRIC_ID_INSTRUCTIONS);
        c[T_CPUS].text = places(x, id, c[T_ONCPU].count);
    }
    vec_release(&used.list);
}
