/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "page.h"
#include "product.h"
#include "topology.h"

#include "analyze/fold.h"
#include "analyze/held.h"
#include "analyze/only.h"
#include "analyze/open.h"
#include "analyze/split.h"
#include "analyze/timeline.h"
#include "analyze/topology.h"
#include "base/log.h"
#include "base/units.h"
#include "collect/gpu_rest.h"
#include "render/figures.h"
#include "render/renderer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct render_opts {
    const char *format, *view, *output, *title, *only, *split;
    const char *layout, *gexf;
    uint64_t max_nodes;
    int kernel, lines, inlines, pids, gil, idle;
};

static const struct opt options[] = {
    OPT_CHOICE('f', "format", struct render_opts, format, "FORMAT", "html",
               "html|svg|png|pdf|dot|drawio|gexf|mermaid|text",
               "what to make; all but html and svg are of the topology alone"),
    OPT_CHOICE(
        'v', "view", struct render_opts, view, "NAME", NULL,
        "cpu|oncpu|offcpu|offwake|waker|runq|gil|gpu|alloc|alloc-peak|spans|timeline|topology",
        "what to look at; oncpu and waker, as show -m has them, are cpu and offwake (default: cpu, or what "
        "there is)"),
    OPT_STRING('o', "output", struct render_opts, output, "FILE",
               "to FILE, - is stdout (default: the session's name here)"),
    OPT_STRING(0, "only", struct render_opts, only, "WHAT",
               "only what happened during step:12-20, request:7, outside:step"),
    OPT_STRING(0, "split", struct render_opts, split, "KIND", "each step, request or other mark apart"),
    OPT_STRING('t', "title", struct render_opts, title, "TEXT", "instead of the command line"),
    OPT_FLAG('g', "gil", struct render_opts, gil, "only what threads did while they held Python's GIL"),
    OPT_FLAG(0, "idle", struct render_opts, idle,
             "threads off the CPU too: samples of all time, not of CPU time"),
    OPT_FLAG('k', "kernel", struct render_opts, kernel, "mark kernel functions with _[k]"),
    OPT_FLAG('l', "lines", struct render_opts, lines, "code lines of one function apart"),
    OPT_FLAG('i', "inlines", struct render_opts, inlines, "inlined functions as frames of their own"),
    OPT_PICTURE(struct render_opts),
    OPT_FLAG('p', "pids", struct render_opts, pids,
             "processes and threads of one name apart, with their ids"),
};

/* What each of the choices of --view counts. The name of that is a choice, too. */
static const struct view {
    const char *name, *metric;
} views[] = {
    {"cpu", "oncpu"},      {"offcpu", "offcpu"},  {"offwake", "waker"}, {"runq", "runq"},
    {"gil", "gil"},        {"gpu", "gpu"},        {"alloc", "alloc"},   {"alloc-peak", "alloc-peak"},
    {"spans", "spans"},    {"timeline", "oncpu"}, /* beside the timeline itself */
    {"topology", "oncpu"},                        /* the same */
};

/* What a page holds at most: about 2 MB of it. */
static const struct timeline_opts page_timeline = {
    .max_spans = 60000, .max_ticks = 40000, .max_points = 20000, .max_nodes = 60000, .max_lanes = 1000};

static const struct view *find_view(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(views); i++)
        if (!strcmp(views[i].name, name))
            return &views[i];
    for (size_t i = 0; i < ARRAY_SIZE(views); i++)
        if (!strcmp(views[i].metric, name))
            return &views[i];
    return NULL;
}

/* The last part of the session's path, and the format's suffix; owned by the caller. */
static char *default_name(const char *path, const char *suffix)
{
    const char *end = path + strlen(path), *begin;

    while (end > path && end[-1] == '/')
        end--;
    for (begin = end; begin > path && begin[-1] != '/';)
        begin--;
    if (begin == end || (end - begin <= 2 && !strncmp(begin, "..", (size_t)(end - begin))))
        return mem_printf("wprof%s", suffix); /* "." and the like: no name to take */
    return mem_printf("%.*s%s", (int)(end - begin), begin, suffix);
}

static int write_product(const struct render_opts *o, const char *session, const char *suffix,
                         const struct buf *b, struct err *e)
{
    char *name, size[32];
    int rc;

    if (o->output && !strcmp(o->output, "-"))
        return fwrite(b->data, 1, b->len, stdout) == b->len ? 0 : err_sys(e, errno, "stdout");
    name = o->output ? mem_strdup(o->output) : default_name(session, suffix);
    rc = product_write(name, b, e);
    if (!rc)
        log_info("%s: %s", name, units_size(size, sizeof(size), b->len));
    free(name);
    return rc;
}

/* Whether the view can be had. */
static int check_timeline(const struct view *view, const struct renderer_ops *r, const struct session *s,
                          struct err *e)
{
    if (strcmp(view->name, "timeline") != 0)
        return 0;
    if (!r->wants_timeline)
        return err_set(e, "%s has no timeline: --format html has", r->name);
    if (!timeline_has(s))
        return err_set(e, "nothing in %s has a time, as in imported stacks: there is no timeline", s->path);
    return 0;
}

/* What stands beside the rest of a page cannot fail it, unless it is what was asked for. */
static int read_topology(const struct view *view, const struct session *s, struct graph *g, struct err *e)
{
    if (strcmp(view->name, "topology") != 0 && !topology_has(s))
        return 0;
    if (!topology_read(s, g, e))
        return 0;
    if (!strcmp(view->name, "topology"))
        return -1;
    log_warn("render: %s: the page is without the topology", e->msg);
    return 0;
}

/* A page has the other metrics, too, unless it is of a part of one only. */
static int add_metrics(struct profile *p, const struct render_opts *o, const struct session *s,
                       struct fold_opts fold, struct err *e)
{
    return o->gil || o->idle ? 0 : page_add_metrics(p, s, fold, e);
}

/* Of a session whose timeline is made: --split divides its events. */
static int make_profile(struct profile *p, const struct render_opts *o, const struct renderer_ops *r,
                        struct session *s, struct fold_opts fold, struct err *e)
{
    struct split split;
    int rc = split_apply(&split, s, o->split, e);

    fold.units = split.units.a;
    rc = rc || held_apply(&fold, s, o->gil, o->idle, e) || fold_profile(p, s, &fold, e) ||
                 (r->wants_metrics && add_metrics(p, o, s, fold, e))
             ? -1
             : 0;
    split_release(&split);
    return rc;
}

static int draw(const struct render_opts *o, struct session *s, struct err *e)
{
    const struct view *view = find_view(o->view ? o->view : fold_first(&s->store));
    const struct renderer_ops *r = renderer_find(o->format);
    struct fold_opts fold = {.metric = view->metric,
                             .kernel_suffix = o->kernel,
                             .lines = o->lines,
                             .inlines = o->inlines,
                             .pids = o->pids || r->wants_task_ids,
                             .samples = 1};
    struct timeline_opts lanes = page_timeline;
    struct timeline t = {0};
    struct profile p = {0};
    struct quality q = {0};
    struct render_input in = {.profile = &p,
                              .meta = &s->meta,
                              .quality = &q,
                              .view = view->name,
                              .title = o->title,
                              .task_ids = fold.pids,
                              .apart = o->pids,
                              .layout = o->layout,
                              .max_nodes = (size_t)o->max_nodes};
    struct graph g;
    struct buf out = {0};
    struct cut only = {0};
    int rc;

    if (check_timeline(view, r, s, e))
        return -1;
    graph_init(&g);
    quality_compute(&q, &s->store, &s->meta);
    rc = r->wants_topology ? read_topology(view, s, &g, e) : 0;
    in.topology = &g;
    rc = rc ? rc : only_apply(&only, s, o->only, e);
    fold.had = only.had;
    if (!rc && r->wants_timeline && timeline_has(s)) {
        lanes.cut = o->only ? &only : NULL;
        lanes.lines = o->lines;
        lanes.inlines = o->inlines;
        lanes.kernel_suffix = o->kernel;
        timeline_build(&t, s, &lanes);
        in.timeline = &t;
    }
    rc = rc || make_profile(&p, o, r, s, fold, e) ? -1 : 0;
    if (!rc)
        rc = r->render(&in, &out, e);
    if (!rc)
        rc = write_product(o, s->path, r->suffix, &out, e);
    timeline_release(&t);
    profile_release(&p);
    graph_release(&g);
    buf_release(&out);
    cut_release(&only);
    return rc;
}

/* The product of --view topology. */
static int draw_topology(const struct render_opts *o, const struct session *s, struct err *e)
{
    char *command = figures_command(&s->meta);
    struct topology_opts t = {o->format, o->layout, o->gexf, o->title ? o->title : command,
                              (size_t)o->max_nodes};
    struct buf out = {0};
    struct graph g;
    int rc;

    graph_init(&g);
    rc = topology_read(s, &g, e) || topology_product(&g, &t, &out, e) ? -1 : 0;
    if (!rc)
        rc = write_product(o, s->path, topology_suffix(o->format), &out, e);
    graph_release(&g);
    buf_release(&out);
    free(command);
    return rc;
}

/* By itself, and not on a page with all the rest. */
static int is_topology(const struct render_opts *o)
{
    return o->view && !strcmp(o->view, "topology") && strcmp(o->format, "html") != 0;
}

/* Whether the options go together; 0, or what command_usage() gives. */
static int check_options(const struct render_opts *o)
{
    const struct renderer_ops *r = renderer_find(o->format);

    if (!is_topology(o) && !r)
        return command_usage(&cmd_render, "--format %s is of the topology: --view topology", o->format);
    return 0;
}

static int render_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct render_opts *o = values;
    struct session s;
    struct err e = {0};
    int rc;

    if (argc > 1)
        return command_usage(&cmd_render, "takes one SESSION, '%s' is too many", argv[1]);
    rc = check_options(o);
    if (rc)
        return rc;
    rc = open_session(&s, argc ? argv[0] : NULL, gpu_rest_take, &e);
    if (!rc) {
        rc = is_topology(o) ? draw_topology(o, &s, &e) : draw(o, &s, &e);
        session_release(&s);
    }
    if (rc)
        log_error("render: %s", e.msg);
    return rc ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_render = {
    .name = "render",
    .summary = "make a page or a picture of a session",
    .operands = "[SESSION]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct render_opts),
    .examples = "wprof render\n"
                "wprof render --format svg -o ticket.svg wprof-train-20260716-153012-abc123\n"
                "wprof render --view timeline -o page.html\n"
                "wprof render --view gpu -o gpu.html\n"
                "wprof render --view offcpu --only step:12-20 -o slow.html\n"
                "wprof render --view topology -o page.html\n"
                "wprof render --view topology --format svg -o who.svg\n"
                "wprof render --view topology --format drawio\n"
                "wprof render -o - | gzip >page.html.gz",
    .run = render_run,
};
