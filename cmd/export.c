/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "export_aiprof.h"
#include "product.h"
#include "tables_open.h"

#include "analyze/fold.h"
#include "analyze/held.h"
#include "analyze/only.h"
#include "analyze/only_rank.h"
#include "analyze/open.h"
#include "analyze/split.h"
#include "analyze/timeline.h"
#include "analyze/topology.h"
#include "base/log.h"
#include "collect/gpu_rest.h"
#include "exchange/export/events.h"
#include "exchange/export/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct export_opts {
    const char *format, *metric, *output, *only, *rank, *split, *table;
    int kernel, jit, all, addrs, lines, inlines, pids, pid, tid, gil, idle;
};

static const struct opt options[] = {
    OPT_CHOICE('f', "format", struct export_opts, format, "FORMAT", "folded",
               "folded|pprof|speedscope|callgrind|chrome|perfetto|witty|aiprof|csv|ndjson|sqlite",
               "what to write"),
    OPT_STRING('m', "metric", struct export_opts, metric, "NAME", "what is counted (default: oncpu)"),
    OPT_STRING(0, "only", struct export_opts, only, "WHAT",
               "only what happened during step:12-20, request:7, outside:step"),
    OPT_STRING(0, "rank", struct export_opts, rank, "N", "only this rank, of a session of several"),
    OPT_FLAG('g', "gil", struct export_opts, gil, "only what threads did while they held Python's GIL"),
    OPT_FLAG(0, "idle", struct export_opts, idle,
             "threads off the CPU too: samples of all time, not of CPU time"),
    OPT_STRING(0, "split", struct export_opts, split, "KIND", "each step, request or other mark apart"),
    OPT_STRING('t', "table", struct export_opts, table, "NAME",
               "csv, ndjson: only this table (see wprof query --schema)"),
    OPT_STRING('o', "output", struct export_opts, output, "FILE", "to FILE, not to stdout"),
    OPT_FLAG('k', "kernel", struct export_opts, kernel, "mark kernel functions with _[k]"),
    OPT_FLAG(0, "jit", struct export_opts, jit, "mark functions made at run time with _[j]"),
    OPT_FLAG(0, "all", struct export_opts, all, "both marks: --kernel --jit"),
    OPT_FLAG(0, "addrs", struct export_opts, addrs,
             "imported functions without a name: with their address, [libc.so.6 <7f26dc47>]"),
    OPT_FLAG('l', "lines", struct export_opts, lines, "code lines of one function apart"),
    OPT_FLAG('i', "inlines", struct export_opts, inlines, "inlined functions as frames of their own"),
    OPT_FLAG('p', "pids", struct export_opts, pids,
             "processes and threads of one name apart, with their ids"),
    OPT_FLAG(0, "pid", struct export_opts, pid, "processes of one name apart: python3-1234"),
    OPT_FLAG(0, "tid", struct export_opts, tid, "threads apart, with both ids: python3-1234/1235"),
};

static int write_product(const struct export_opts *o, const struct buf *b, struct err *e)
{
    if (!o->output || !strcmp(o->output, "-")) {
        if (b->len && fwrite(b->data, 1, b->len, stdout) != b->len)
            return err_sys(e, errno, "stdout");
        return 0;
    }
    return product_write(o->output, b, e);
}

static int export_profile(const struct exporter *x, const struct export_opts *o, struct session *s,
                          const struct cut *only, struct buf *out, struct err *e)
{
    struct fold_opts fold = {.metric = o->metric,
                             .had = only ? only->had : 0,
                             .kernel_suffix = o->kernel || o->all,
                             .jit_suffix = o->jit || o->all,
                             .addrs = o->addrs,
                             .verbatim = x == &export_folded,
                             .lines = o->lines || x->lines || x->run_profile,
                             .inlines = o->inlines || x->run_profile,
                             .pids = o->pids,
                             .pid_suffix = o->pid,
                             .tid_suffix = o->tid};
    struct profile p = {0};
    struct export_input in = {.session = s, .profile = &p};
    struct split split;
    int rc = split_apply(&split, s, o->split, e);

    fold.units = split.units.a;
    if (!rc)
        rc = held_apply(&fold, s, o->gil, o->idle, e);
    if (!rc)
        rc = fold_profile(&p, s, &fold, e);
    if (!rc)
        rc = (x->run_profile ? x->run_profile : x->run)(&in, out, e);
    profile_release(&p);
    split_release(&split);
    return rc;
}

/* Of waits below who ended them, marks apart, what GPUs' memory takes: stacks are made of these, and of
 * events alone are not. */
static int wants_folding(const struct exporter *x, const struct export_opts *o)
{
    return x->run_profile && (o->split || o->idle || !export_events_takes(o->metric));
}

static int export_timeline(const struct exporter *x, const struct export_opts *o, struct session *s,
                           const struct cut *only, struct buf *out, struct err *e)
{
    struct timeline_opts all = {
        .cut = only, .kernel_suffix = o->kernel || o->all, .lines = o->lines, .inlines = o->inlines};
    struct timeline t = {0};
    struct export_input in = {.session = s, .timeline = &t};
    int rc;

    if (o->metric || o->split || o->gil || o->idle)
        return err_set(e, "--%s is for profiles: %s writes a timeline, with everything on it",
                       o->metric  ? "metric"
                       : o->split ? "split"
                       : o->gil   ? "gil"
                                  : "idle",
                       x->name);
    if (!timeline_has(s))
        return err_set(e, "nothing in %s has a time, as in imported stacks: there is no timeline to write",
                       s->path);
    timeline_build(&t, s, &all);
    rc = x->run(&in, out, e);
    timeline_release(&t);
    return rc;
}

static int export_topology(const struct exporter *x, const struct export_opts *o, struct session *s,
                           const struct cut *only, struct buf *out, struct err *e)
{
    struct graph g;
    struct export_input in = {.session = s, .topology = &g};
    int rc;

    if (o->metric || o->gil || o->idle || only)
        return err_set(
            e, "%s writes the topology as a whole: --metric, --only, --gil and --idle are for profiles",
            x->name);
    graph_init(&g);
    rc = topology_read(s, &g, e);
    if (!rc)
        rc = x->run(&in, out, e);
    graph_release(&g);
    return rc;
}

static int export_events(const struct exporter *x, const struct export_opts *o, struct session *s,
                         const struct cut *only, struct buf *out, struct err *e)
{
    struct export_input in = {.session = s, .metric = o->metric, .gil = o->gil};

    if (wants_folding(x, o))
        return export_profile(x, o, s, only, out, e);
    return x->run(&in, out, e);
}

static int export_tables(const struct exporter *x, const struct export_opts *o, struct session *s,
                         const struct cut *only, struct buf *out, struct err *e)
{
    struct tables *t;
    struct export_input in = {.session = s, .table = o->table};
    int rc;

    if (o->metric || o->split || o->gil || o->idle)
        return err_set(e, "--metric, --split, --gil and --idle are for profiles: %s holds everything",
                       x->name);
    in.tables = t = tables_new(&tables_open_reader);
    tables_add_open(t, s);
    rc = x->run(&in, out, e);
    tables_free(t);
    return rc;
}

/* What its files hold is fixed, but for the time. */
static int export_directory(const struct exporter *x, const struct export_opts *o, struct session *s,
                            const struct cut *only, struct err *e)
{
    if (o->metric || o->split || o->gil || o->idle)
        return err_set(
            e, "--metric, --split, --gil and --idle are for profiles: %s holds what its files are for",
            x->name);
    if (o->kernel || o->jit || o->all || o->addrs || o->lines || o->inlines || o->pids || o->pid || o->tid)
        return err_set(e,
                       "how functions and processes are called in %s is fixed: it takes --only and --output",
                       x->name);
    return export_aiprof_directory(s, only, o->output, e);
}

/* A product with nothing in it, that nobody asked for by name. */
static void say_empty(const struct exporter *x, const struct export_opts *o, const struct session *s)
{
    const char *first = fold_first(&s->store);

    if (o->metric || x->directory || x->wants_tables || x->wants_topology || x->wants_timeline ||
        fold_has(&s->store, "oncpu"))
        return;
    if (strcmp(first, "oncpu") != 0)
        log_warn("%s has no samples of CPUs, so this is empty: --metric %s has something", s->path, first);
    else
        log_warn("%s has no stacks, so this is empty", s->path);
}

static int export(const struct export_opts *o, const char *path, struct err *e)
{
    const struct exporter *x = exporter_find(o->format, e);
    struct session s;
    struct buf out = {0};
    struct cut only;
    int rc;

    if (!x)
        return -1;
    if (o->table && (!x->wants_tables || x == &export_sqlite))
        return err_set(e, "--table is for csv and ndjson: %s has none or all of them", x->name);
    if (x->directory && (!o->output || !strcmp(o->output, "-")))
        return err_set(e, "%s is a directory: name it with --output", x->name);
    if (open_session(&s, path, gpu_rest_take, e))
        return -1;
    say_empty(x, o, &s);
    only = (struct cut){0};
    rc = only_rank_apply(&s, o->rank, e) ? -1 : only_apply(&only, &s, o->only, e);
    if (!rc && x->directory)
        rc = export_directory(x, o, &s, o->only ? &only : NULL, e);
    else if (!rc)
        rc = (x->wants_tables     ? export_tables
              : x->wants_events   ? export_events
              : x->wants_topology ? export_topology
              : x->wants_timeline ? export_timeline
                                  : export_profile)(x, o, &s, o->only ? &only : NULL, &out, e);
    if (!rc && !x->directory)
        rc = write_product(o, &out, e);
    cut_release(&only);
    session_release(&s);
    buf_release(&out);
    return rc;
}

static int export_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct err e = {0};

    if (argc > 1)
        return command_usage(&cmd_export, "takes one SESSION, '%s' is too many", argv[1]);
    if (!export(values, argc ? argv[0] : NULL, &e))
        return EXIT_OK;
    log_error("%s", e.msg);
    return EXIT_FAILED;
}

const struct command cmd_export = {
    .name = "export",
    .summary = "write a session in a format that other tools read",
    .operands = "[SESSION]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct export_opts),
    .examples = "wprof export --format folded -o train.folded\n"
                "wprof export --kernel wprof-train-20260716-153012-abc123 | flamegraph.pl >train.svg\n"
                "wprof export --format perfetto -o train.pftrace\n"
                "wprof export --format pprof -o train.pb.gz",
    .run = export_run,
};
