/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "diff.h"
#include "product.h"

#include "analyze/open.h"
#include "analyze/stats_step.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "collect/gpu_rest.h"
#include "model/baseline.h"
#include "model/session_dir.h"
#include "model/table.h"
#include "platform/git_head.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct baseline_opts {
    const char *dir, *branch, *commit;
    int all;
    uint64_t last;
    struct diff_opts_how how;
};

static const struct opt options[] = {
    {'d', "dir", OPT_TYPE_STRING, offsetof(struct baseline_opts, dir), "DIR", "wprof-baseline",
     "baseline.dir", NULL, "where the sessions are kept"},
    OPT_STRING('b', "branch", struct baseline_opts, branch, "NAME",
               "whose sessions (default: CI's branch, else git's)"),
    OPT_STRING('c', "commit", struct baseline_opts, commit, "ID",
               "add: of which commit they are (default: the same)"),
    OPT_FLAG('a', "all", struct baseline_opts, all, "list: of all branches"),
    OPT_UINT('n', "last", struct baseline_opts, last, "N", "10", NULL, "check: against the last N commits"),
    DIFF_OPTIONS(struct baseline_opts, how, "check: ", "5%"),
};

/* ---- which branch, which commit ---- */

static const char *from_environment(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);

        if (value && *value)
            return value;
    }
    return NULL;
}

/* Options, then what GitHub's and GitLab's jobs have, whose work tree is on no branch, then git. */
static void find_place(const struct baseline_opts *o, struct git_head *h)
{
    static const char *const branches[] = {"GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", NULL};
    static const char *const commits[] = {"GITHUB_SHA", "CI_COMMIT_SHA", NULL};
    const char *branch = o->branch ? o->branch : from_environment(branches);
    const char *commit = o->commit ? o->commit : from_environment(commits);

    git_head_read(h, ".");
    if (branch) {
        free(h->branch);
        h->branch = mem_strdup(branch);
    }
    if (commit) {
        free(h->commit);
        h->commit = mem_strdup(commit);
    }
}

/* ---- add ---- */

static int add_one(const struct baseline_opts *o, const struct git_head *h, const char *path, struct err *e)
{
    struct session s = {0};
    char *added = NULL;
    int rc = open_session(&s, path, gpu_rest_take, e);

    if (!rc && !s.sealed)
        rc = err_set(e, "%s is %s: only whole sessions are kept", path, s.meta.state);
    if (!rc)
        added = baseline_add(o->dir, h->branch, h->commit, session_files(&s), e);
    session_release(&s);
    if (!added)
        return -1;
    printf("%s\n", added);
    free(added);
    return 0;
}

static int run_add(const struct baseline_opts *o, const struct git_head *h, const struct diff_paths *paths,
                   struct err *e)
{
    if (!h->commit)
        return err_set(e, "no commit is known here: give one with --commit");
    if (!baseline_commit_ok(h->commit))
        return err_set(e, "--commit %s: letters, digits and ._- are wanted, at most 64", h->commit);
    for (size_t i = 0; i < paths->list.n; i++)
        if (add_one(o, h, paths->list.a[i], e))
            return -1;
    return 0;
}

/* ---- list ---- */

static const struct table_column columns[] = {
    {"branch", "branch", TABLE_TEXT}, {"commit", "commit", TABLE_TEXT}, {"when", "when", TABLE_TEXT},
    {"runs", "runs", TABLE_COUNT},    {"wall_ns", "wall", TABLE_NS},    {"path", "in", TABLE_TEXT},
};

/* When the first run began, and how long they took on average, by their meta.json. */
static void describe_runs(const struct baseline_entry *entry, double *when, double *wall)
{
    size_t n = 0;

    *when = *wall = 0;
    for (size_t i = 0; i < entry->sessions.n; i++) {
        char *path = mem_printf("%s/" SESSION_META, entry->sessions.a[i]);
        struct buf text = {0};
        struct meta m = {0};

        if (!io_read_file(AT_FDCWD, path, &text, NULL) && !meta_parse(&m, buf_str(&text), text.len, NULL)) {
            *when = *when > 0 ? fmin(*when, m.start_ts) : m.start_ts;
            *wall += m.duration_s;
            n++;
        }
        meta_release(&m);
        buf_release(&text);
        free(path);
    }
    *wall = n ? *wall / (double)n : 0;
}

static char *date_of(double when)
{
    time_t t = (time_t)when;
    char text[32];
    struct tm tm;

    localtime_r(&t, &tm);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
    return mem_strdup(text);
}

static int run_list(const struct baseline_opts *o, const struct git_head *h, struct err *e)
{
    struct baseline b = {0};
    struct buf out = {0};
    struct json_writer w = {.out = &out, .indent = 2};
    struct text_style style = {product_color(), product_width()};
    struct table t;

    if (baseline_read(&b, o->dir, o->all ? NULL : h->branch, e))
        return -1;
    table_init(&t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < b.list.n; i++) {
        const struct baseline_entry *entry = &b.list.a[i];
        union table_cell *cell = table_add(&t);
        double when, wall;

        describe_runs(entry, &when, &wall);
        cell[0].text = mem_strdup(entry->branch);
        cell[1].text = mem_strdup(entry->commit);
        cell[2].text = date_of(when);
        cell[3].count = entry->sessions.n;
        cell[4].count = (uint64_t)(wall * 1e9);
        cell[5].text = mem_strdup(entry->path);
    }
    if (o->how.json) {
        json_object(&w, NULL);
        text_table_json(&t, "entries", &w);
        json_end_object(&w);
        buf_addch(&out, '\n');
    } else {
        text_table(&t, "Baseline", &style, &out);
    }
    product_print(&out);
    buf_release(&out);
    table_release(&t);
    baseline_release(&b);
    return 0;
}

/* ---- check ---- */

/* Of the commits compared with, in their order, and of what is checked: which of them each run is of. */
struct series {
    VEC(const char *) commits; /* the last is what is checked */
    VEC(size_t) group;         /* one per run, the base side's first */
};

static void find_steps(struct comparison *c, const struct series *s)
{
    for (size_t i = 0; i < c->figures.n; i++) {
        const struct comparison_figure *f = &c->figures.a[i];
        struct stats_step step;

        if (!f->total || !stats_step_find(&step, f->runs, s->group.a, s->group.n) || step.p > c->alpha)
            continue;
        *vec_push(&c->steps) = (struct comparison_step){
            mem_strdup(f->name), mem_strdup(s->commits.a[step.at]), step.before, step.after, step.p};
    }
}

/* The last N commits but for the one that is checked. */
static int take_base(struct diff_paths *base, struct series *s, const struct baseline_opts *o,
                     const struct baseline *b, const char *commit, struct err *e)
{
    size_t n = 0, first = 0;

    for (size_t i = b->list.n; i-- > 0 && n < o->last;)
        if (!commit || strcmp(commit, b->list.a[i].commit)) {
            first = i;
            n++;
        }
    for (size_t i = first; i < b->list.n && n; i++) {
        const struct baseline_entry *entry = &b->list.a[i];

        if ((commit && !strcmp(commit, entry->commit)) || !entry->sessions.n)
            continue;
        for (size_t k = 0; k < entry->sessions.n; k++) {
            *vec_push(&base->list) = mem_strdup(entry->sessions.a[k]);
            *vec_push(&s->group) = s->commits.n;
        }
        *vec_push(&s->commits) = entry->commit;
    }
    return base->list.n
               ? 0
               : err_set(e,
                         "%s has no session of another commit of this branch: wprof baseline add keeps some",
                         o->dir);
}

static int compare_with(const struct baseline_opts *o, const struct baseline *b, const struct git_head *h,
                        struct diff_paths side[COMPARISON_SIDES], struct series *s, struct err *e)
{
    struct compare_opts how = {0};
    const struct diff_renderer *r = diff_how_renderer(&o->how);
    struct diff_product put = {r, o->how.output, {.top = o->how.top}};
    struct comparison result = {0};
    int rc = diff_how(&how, &o->how, e);

    if (!rc)
        rc = take_base(&side[COMPARISON_BASE], s, o, b, h->commit, e);
    for (size_t i = 0; !rc && i < side[COMPARISON_NEW].list.n; i++)
        *vec_push(&s->group) = s->commits.n;
    *vec_push(&s->commits) = "what is checked";
    put.style.by = how.by;
    if (!rc)
        rc = diff_compare(&result, &how, side, r, e);
    if (!rc) {
        find_steps(&result, s);
        rc = diff_put(&put, &result, e);
    }
    if (!rc)
        rc = diff_code(&result, 0);
    comparison_release(&result);
    return rc;
}

static int run_check(const struct baseline_opts *o, const struct git_head *h, const struct diff_paths *paths,
                     struct err *e)
{
    struct diff_paths side[COMPARISON_SIDES] = {0};
    struct baseline b = {0};
    struct series s = {0};
    int rc = baseline_read(&b, o->dir, h->branch, e);

    for (size_t i = 0; i < paths->list.n; i++)
        *vec_push(&side[COMPARISON_NEW].list) = mem_strdup(paths->list.a[i]);
    if (!rc)
        rc = compare_with(o, &b, h, side, &s, e);
    for (int k = 0; k < COMPARISON_SIDES; k++)
        diff_paths_release(&side[k]);
    vec_release(&s.commits);
    vec_release(&s.group);
    baseline_release(&b);
    return rc;
}

/* ---- */

static int dispatch(const struct baseline_opts *o, int argc, char **argv, struct err *e)
{
    struct diff_paths paths = {0};
    struct git_head h;
    int rc = 0;

    for (int i = 1; !rc && i < argc; i++)
        rc = diff_paths_add(&paths, argv[i], e);
    find_place(o, &h);
    if (!rc && !h.branch && !o->all)
        rc = err_set(e, "no branch is known here: give one with --branch");
    if (!rc && !strcmp(argv[0], "add"))
        rc = run_add(o, &h, &paths, e);
    else if (!rc && !strcmp(argv[0], "list"))
        rc = run_list(o, &h, e);
    else if (!rc)
        rc = run_check(o, &h, &paths, e);
    git_head_release(&h);
    diff_paths_release(&paths);
    return rc;
}

static int baseline_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct baseline_opts *o = values;
    struct err e = {0};
    int list = argc && !strcmp(argv[0], "list"), rc;

    if (!argc || (!list && strcmp(argv[0], "add") && strcmp(argv[0], "check")))
        return command_usage(&cmd_baseline,
                             argc ? "'%s' is none of add, list and check" : "add, list or check?",
                             argc ? argv[0] : "");
    if (list ? argc > 1 : argc < 2)
        return command_usage(&cmd_baseline, list ? "list takes no session" : "%s takes sessions", argv[0]);
    rc = dispatch(o, argc, argv, &e);
    if (rc >= 0)
        return rc;
    log_error("%s", e.msg);
    return EXIT_FAILED;
}

const struct command cmd_baseline = {
    .name = "baseline",
    .summary = "keep sessions by branch and commit, and compare new ones with the last of them",
    .operands = "add SESSION... | list | check SESSION...",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct baseline_opts),
    .examples = "wprof baseline add runs\n"
                "wprof baseline list --all\n"
                "wprof baseline check --last 5 --fail-above 3% runs",
    .run = baseline_run,
};
