/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"
#include "show_gpu.h"
#include "show_metrics.h"
#include "show_ranks.h"
#include "show_steps.h"
#include "show_table.h"

#include "analyze/calls.h"
#include "analyze/fold.h"
#include "analyze/gil_top.h"
#include "analyze/held.h"
#include "analyze/only.h"
#include "analyze/open.h"
#include "analyze/tops.h"
#include "analyze/waits_top.h"
#include "base/log.h"
#include "base/units.h"
#include "collect/gpu_rest.h"
#include "model/session_extra.h"
#include "render/text.h"

#include <stdio.h>
#include <string.h>

struct show_opts {
    const char *by, *metric, *sort, *callers, *callees, *units, *only;
    uint64_t top;
    int tree, json, inlines, waits, steps, ranks, gil, idle, metrics, gpu;
};

static const struct opt options[] = {
    OPT_UINT('n', "top", struct show_opts, top, "N", "20", NULL, "rows a table, 0 for all"),
    OPT_CHOICE('b', "by", struct show_opts, by, "WHAT", NULL, "function|module|file|line|process|thread",
               "one table, of these"),
    OPT_CHOICE('s', "sort", struct show_opts, sort, "HOW", "self", "self|total", "order of that table"),
    OPT_STRING('m', "metric", struct show_opts, metric, "NAME",
               "what is counted (default: oncpu, of an import what it has)"),
    OPT_FLAG('t', "tree", struct show_opts, tree, "the call tree, what is below 0.5 % summed up"),
    OPT_FLAG('w', "waits", struct show_opts, waits, "what threads waited for off the CPU, and who ended it"),
    OPT_FLAG(0, "gpu", struct show_opts, gpu,
             "what GPUs did, why they were idle, and what the host did then"),
    OPT_FLAG('M', "metrics", struct show_opts, metrics, "what processes and the machine used, each second"),
    OPT_FLAG(0, "steps", struct show_opts, steps, "what each marked step took: on and off the CPU, waiting"),
    OPT_FLAG(0, "ranks", struct show_opts, ranks,
             "ranks of a merged session: who comes last, and what it does while the others wait"),
    OPT_STRING(0, "units", struct show_opts, units, "KIND", "the same of marks of another kind: request"),
    OPT_STRING(0, "only", struct show_opts, only, "WHAT",
               "only what happened during step:12-20, request:7, outside:step"),
    OPT_FLAG('g', "gil", struct show_opts, gil, "only what threads did while they held Python's GIL"),
    OPT_FLAG(0, "idle", struct show_opts, idle,
             "threads off the CPU too: samples of all time, not of CPU time"),
    OPT_STRING(0, "callers", struct show_opts, callers, "FUNCTION", "who calls it, as a tree"),
    OPT_STRING(0, "callees", struct show_opts, callees, "FUNCTION", "what it calls, as a tree"),
    OPT_FLAG('i', "inlines", struct show_opts, inlines, "inlined functions as functions of their own"),
    OPT_FLAG(0, "json", struct show_opts, json, "as JSON"),
};

enum { MIN_SHARE_PERMILLE = 5, TASKS_SHOWN = 8 };

struct show {
    const struct show_opts *o;
    struct session s;
    struct quality q;
    struct profile p;
    struct text_style style;
    struct buf out;
};

static int by_tasks(const char *by)
{
    return by && (!strcmp(by, "process") || !strcmp(by, "thread"));
}

static const char *unit_kind(const struct show_opts *o)
{
    return o->units ? o->units : o->steps ? "step" : NULL;
}

static enum tops_by tops_kind(const char *by)
{
    if (by && !strcmp(by, "module"))
        return TOPS_MODULE;
    if (by && !strcmp(by, "file"))
        return TOPS_FILE;
    return by && !strcmp(by, "line") ? TOPS_LINE : TOPS_FUNCTION;
}

static void show_table(struct show *x, struct table *t, const char *heading)
{
    if (x->out.len)
        buf_addch(&x->out, '\n');
    text_table(t, heading, &x->style, &x->out);
    table_release(t);
}

/* "1234 samples", "1.2 s" */
static void spell_amount(const struct profile_metric *m, uint64_t value, char *out, size_t n)
{
    if (!strcmp(m->unit, "bytes"))
        units_size(out, n, value);
    else if (strcmp(m->unit, "ns"))
        snprintf(out, n, "%llu %s", (unsigned long long)value, m->unit);
    else
        units_duration(out, n, value);
}

static void show_tops(struct show *x, const char *by, int total)
{
    const struct profile_metric *m = &x->p.metrics.a[0];
    char *heading, amount[64];
    struct table t;

    spell_amount(m, m->sum, amount, sizeof(amount));
    heading = mem_printf("%c%ss by %s, of %s", *by - 'a' + 'A', by + 1, total ? "total" : "self", amount);
    tops_functions(&t, &x->p, 0, tops_kind(by), total, x->o->top);
    show_table(x, &t, heading);
    free(heading);
}

static void show_tasks(struct show *x, int threads, uint64_t top)
{
    struct table t;

    tops_tasks(&t, &x->s, threads, top);
    show_table(x, &t, threads ? "Threads" : "Processes");
}

static void show_waits(struct show *x)
{
    struct table t;

    waits_top(&t, &x->s, x->o->top);
    if (!table_rows(&t))
        log_warn("no wait was recorded (the collector offcpu lists them; it is on unless record was told "
                 "otherwise)");
    show_table(x, &t, "Waits, by time");
}

/* Where only one thread ever had the GIL, and nobody waited, there is nothing to say. */
static void show_gil(struct show *x, uint64_t top)
{
    struct table t;

    gil_top(&t, &x->s, top);
    if (table_rows(&t) < 2 && !t.left_out)
        table_release(&t);
    else
        show_table(x, &t, "The GIL: who waited for it, who held it");
}

static int has_threads(const struct tasks *t)
{
    for (size_t i = 0; i < t->list.n; i++)
        if (t->list.a[i].tid != t->list.a[i].pid)
            return 1;
    return 0;
}

static void show_overview(struct show *x)
{
    uint64_t few = x->o->top && x->o->top < TASKS_SHOWN ? x->o->top : x->o->top ? TASKS_SHOWN : 0;

    text_session(&x->s, &x->q, &x->style, &x->out);
    show_tops(x, "function", 0);
    show_tops(x, "function", 1);
    if (x->s.store.tasks.list.n)
        show_tasks(x, 0, few);
    if (has_threads(&x->s.store.tasks))
        show_tasks(x, 1, few);
    show_gil(x, few);
    show_gpu_overview(&x->s, few, &x->style, &x->out);
}

static int show_calls(struct show *x, struct err *e)
{
    const char *name = x->o->callers ? x->o->callers : x->o->callees;
    char share[64], amount[64];
    struct profile calls;

    if (calls_profile(&calls, &x->p, 0, name, x->o->callers != NULL, e)) {
        profile_release(&calls);
        return -1;
    }
    snprintf(share, sizeof(share), "%.1f %%",
             x->p.metrics.a[0].sum ? 100.0 * (double)calls.metrics.a[0].sum / (double)x->p.metrics.a[0].sum
                                   : 0.0);
    buf_addf(&x->out, "%s ", x->o->callers ? "Callers of" : "Below");
    text_clean(name, 0, &x->out);
    spell_amount(&calls.metrics.a[0], calls.metrics.a[0].sum, amount, sizeof(amount));
    buf_addf(&x->out, ": %s, %s of all; shares are of these\n", amount, share);
    text_tree(&calls, 0, MIN_SHARE_PERMILLE / 1e3, &x->style, &x->out);
    profile_release(&calls);
    return 0;
}

/* ---- JSON ---- */

static void strings(struct json_writer *w, const char *key, char *const *a, size_t n)
{
    json_array(w, key);
    for (size_t i = 0; i < n; i++)
        json_str(w, NULL, a[i]);
    json_end_array(w);
}

static void json_extra(const struct show *x, struct json_writer *w)
{
    json_array(w, SESSION_EXTRA);
    for (size_t i = 0; i < x->s.meta.artifacts.n; i++) {
        const struct meta_artifact *a = &x->s.meta.artifacts.a[i];

        if (!session_is_extra(a))
            continue;
        json_object(w, NULL);
        json_str(w, "path", a->path);
        json_u64(w, "size", a->size);
        json_str(w, "sha256", *a->sha256 ? a->sha256 : NULL);
        json_end_object(w);
    }
    json_end_array(w);
}

static void json_about(const struct show *x, struct json_writer *w)
{
    const struct meta *m = &x->s.meta;

    json_str(w, "session", x->s.path);
    json_str(w, "session_id", m->session_id);
    json_str(w, "state", m->state);
    json_str(w, "kind", m->kind);
    json_str(w, "workload", m->workload);
    strings(w, "command", m->command.a, m->command.n);
    json_str(w, "host", m->host);
    json_f64(w, "start_ts", m->start_ts);
    json_f64(w, "duration_s", m->duration_s);
    json_str(w, "event", m->event);
    json_u64(w, "frequency", m->frequency);
    json_str(w, "tier", m->tier);
    json_str(w, "end_reason", m->end_reason);
    json_i64(w, "exit_code", m->exit_code);
    strings(w, "languages", m->languages.a, m->languages.n);
    strings(w, "notes", m->notes.a, m->notes.n);
    json_array(w, "collectors");
    for (size_t i = 0; i < m->collectors.n; i++) {
        json_object(w, NULL);
        json_str(w, "name", m->collectors.a[i].name);
        json_str(w, "state", m->collectors.a[i].state);
        json_str(w, "detail", m->collectors.a[i].detail);
        json_end_object(w);
    }
    json_end_array(w);
    json_extra(x, w);
    json_u64(w, "skipped_blocks", x->s.skipped_blocks);
    json_u64(w, "bad_bytes", x->s.bad_bytes);
    json_str(w, "damage", m->damage);
    json_u64(w, "events", x->s.store.events.n);
    quality_json(&x->q, w);
}

static void json_nodes(const struct profile *p, struct json_writer *w)
{
    struct buf label = {0};

    json_array(w, "nodes");
    for (size_t i = 1; i < p->nodes.n; i++) {
        buf_clear(&label);
        profile_frame_label(p, p->nodes.a[i].frame, &label);
        json_object(w, NULL);
        json_u64(w, "id", i);
        json_u64(w, "parent", p->nodes.a[i].parent);
        json_str(w, "name", buf_str(&label));
        json_u64(w, "self", p->metrics.a[0].self[i]);
        json_u64(w, "total", p->metrics.a[0].total[i]);
        json_end_object(w);
    }
    json_end_array(w);
    buf_release(&label);
}

static int json_tree(const struct show *x, struct json_writer *w, struct err *e)
{
    const char *name = x->o->callers ? x->o->callers : x->o->callees;
    struct profile calls;
    int rc = 0;

    if (!name) {
        json_nodes(&x->p, w);
        return 0;
    }
    rc = calls_profile(&calls, &x->p, 0, name, x->o->callers != NULL, e);
    if (!rc)
        json_nodes(&calls, w);
    profile_release(&calls);
    return rc;
}

static void json_tops(const struct show *x, struct json_writer *w)
{
    static const char *const plural[] = {"functions", "modules", "files", "lines"};
    enum tops_by by = tops_kind(x->o->by);
    struct table t;

    tops_functions(&t, &x->p, 0, by, !strcmp(x->o->sort, "total"), x->o->top);
    show_table_json(&t, plural[by], w);
}

static int show_json(struct show *x, struct err *e)
{
    struct json_writer w = {.out = &x->out, .indent = 2};
    struct table t;
    int rc = 0;

    json_object(&w, NULL);
    json_about(x, &w);
    json_object(&w, "metric");
    json_str(&w, "name", x->p.metrics.a[0].name);
    json_str(&w, "unit", x->p.metrics.a[0].unit);
    json_u64(&w, "sum", x->p.metrics.a[0].sum);
    json_end_object(&w);
    if (!by_tasks(x->o->by))
        json_tops(x, &w);
    tops_tasks(&t, &x->s, 0, x->o->top);
    show_table_json(&t, "processes", &w);
    tops_tasks(&t, &x->s, 1, x->o->top);
    show_table_json(&t, "threads", &w);
    gil_top(&t, &x->s, x->o->top);
    show_table_json(&t, "gil", &w);
    if (x->o->metrics)
        show_metrics_json(&x->s, x->o->top, &w);
    if (x->o->gpu)
        show_gpu_json(&x->s, x->o->top, &w);
    if (x->o->waits) {
        waits_top(&t, &x->s, x->o->top);
        show_table_json(&t, "waits", &w);
    }
    if (x->o->ranks)
        rc = show_ranks_json(&x->s, x->o->top, &w, e);
    if (!rc && unit_kind(x->o))
        rc = show_steps_json(&x->s, unit_kind(x->o), x->o->top, &w, e);
    if (!rc && (x->o->tree || x->o->callers || x->o->callees))
        rc = json_tree(x, &w, e);
    json_end_object(&w);
    buf_addch(&x->out, '\n');
    return rc;
}

/* ---- */

static int show(struct show *x, struct err *e)
{
    const struct show_opts *o = x->o;
    struct fold_opts fold = {
        .metric = o->metric, .inlines = o->inlines, .lines = tops_kind(o->by) == TOPS_LINE};
    struct cut cut;
    int rc = 0;

    if (!o->metric && meta_is_imported(&x->s.meta))
        fold.metric = fold_first(&x->s.store);
    quality_compute(&x->q, &x->s.store, &x->s.meta);
    rc = only_apply(&cut, &x->s, o->only, e);
    fold.had = cut.had;
    cut_release(&cut);
    if (!rc)
        rc = held_apply(&fold, &x->s, o->gil, o->idle, e);
    if (rc || fold_profile(&x->p, &x->s, &fold, e))
        return -1;
    if (o->json) {
        rc = show_json(x, e);
    } else if (o->callers || o->callees) {
        rc = show_calls(x, e);
    } else if (o->tree) {
        text_tree(&x->p, 0, MIN_SHARE_PERMILLE / 1e3, &x->style, &x->out);
    } else if (o->metrics) {
        show_metrics(&x->s, o->top, &x->style, &x->out);
    } else if (o->gpu) {
        show_gpu(&x->s, o->top, &x->style, &x->out);
    } else if (o->waits) {
        show_waits(x);
    } else if (o->ranks) {
        rc = show_ranks(&x->s, o->top, &x->style, &x->out, e);
    } else if (unit_kind(o)) {
        rc = show_steps(&x->s, unit_kind(o), o->top, &x->style, &x->out, e);
    } else if (by_tasks(o->by)) {
        show_tasks(x, !strcmp(o->by, "thread"), o->top);
    } else if (o->by) {
        show_tops(x, o->by, !strcmp(o->sort, "total"));
    } else {
        show_overview(x);
    }
    return rc;
}

static int show_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct show x = {.o = values};
    struct err e = {0};
    int rc;

    if (argc > 1)
        return command_usage(&cmd_show, "takes one SESSION, '%s' is too many", argv[1]);
    if (x.o->tree + (x.o->callers != NULL) + (x.o->callees != NULL) + (x.o->by != NULL) + x.o->waits +
                x.o->metrics + x.o->gpu + x.o->steps + x.o->ranks + (x.o->units != NULL) >
            1 &&
        !x.o->json)
        return command_usage(&cmd_show, "--by, --tree, --callers, --callees, --waits, --metrics, --gpu, "
                                        "--steps, --units and --ranks exclude each other");
    x.style = (struct text_style){product_color(), product_width()};
    rc = open_session(&x.s, argc ? argv[0] : NULL, gpu_rest_take, &e);
    if (!rc) {
        session_list(&x.s, SESSION_EXTRA);
        rc = show(&x, &e);
        if (!rc)
            product_print(&x.out);
        profile_release(&x.p);
        session_release(&x.s);
    }
    buf_release(&x.out);
    if (rc)
        log_error("%s", e.msg);
    return rc ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_show = {
    .name = "show",
    .summary = "show what ran, how well it was measured, and where the time went",
    .operands = "[SESSION]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct show_opts),
    .examples = "wprof show\n"
                "wprof show --by module wprof-train-20260716-153012-abc123\n"
                "wprof show --callers slow_transform\n"
                "wprof show --waits\n"
                "wprof show --metrics\n"
                "wprof show --gpu\n"
                "wprof show --steps\n"
                "wprof show --ranks merged\n"
                "wprof show --only step:12-20 --metric offcpu\n"
                "wprof show --json | jq .unwound_share",
    .run = show_run,
};
