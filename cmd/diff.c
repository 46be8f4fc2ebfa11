/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include "command.h"

#include "base/log.h"
#include "render/diff.h"

#include <string.h>

struct diff_opts {
    int topology, by_name, bisect, two_column;
    struct opt_list base, new;
    const char *metric;
    struct diff_opts_how how;
};

static const struct opt options[] = {
    OPT_LIST(0, "base", struct diff_opts, base, "SESSION...",
             "runs of the base side: sessions, folders of sessions, files of folded stacks"),
    OPT_LIST(0, "new", struct diff_opts, new, "SESSION...", "runs of the new side"),
    OPT_CHOICE(0, "metric", struct diff_opts, metric, "METRIC", "oncpu", "oncpu|offcpu|waker|runq|gil|gpu",
               "what is compared of the stacks"),
    DIFF_OPTIONS(struct diff_opts, how, "", NULL),
    OPT_FLAG(0, "bisect", struct diff_opts, bisect,
             "exit codes for git bisect run: 125 where it can't be judged, 128 for failures"),
    OPT_FLAG(0, "two-column", struct diff_opts, two_column,
             "--format folded: the difference alone, as AIProf"),
    OPT_FLAG('t', "topology", struct diff_opts, topology, "compare who talks to whom; 1 where they differ"),
    OPT_FLAG(0, "by-name", struct diff_opts, by_name,
             "--topology: processes by their names: two runs of one program compare"),
};

static int find_paths(struct diff_paths side[COMPARISON_SIDES], const struct diff_opts *o, int argc,
                      char **argv, struct err *e)
{
    const struct opt_list *lists[] = {&o->base, &o->new};

    for (int k = 0; k < COMPARISON_SIDES; k++) {
        for (size_t i = 0; i < lists[k]->n; i++)
            if (diff_paths_add(&side[k], lists[k]->a[i], e))
                return -1;
        if (argc == 2 && diff_paths_add(&side[k], argv[k], e))
            return -1;
    }
    return 0;
}

static int is_json(const struct diff_opts *o)
{
    return o->how.json || !strcmp(o->how.format, "json");
}

/* The same of what --topology does not do. */
static int check_topology(const struct diff_opts *o)
{
    if (!is_json(o) && strcmp(o->how.format, "text") != 0)
        return command_usage(&cmd_diff, "--topology writes text or json, not %s", o->how.format);
    if (o->how.fail_above || o->bisect)
        return command_usage(&cmd_diff, "--topology has no gate but its exit code: 1 where they differ");
    if (o->how.only || o->how.self || o->two_column)
        return command_usage(&cmd_diff,
                             "--only, --self and --two-column are for profiles, not for --topology");
    return 0;
}

/* 0, or the exit code after saying what is wrong with the operands. */
static int check(const struct diff_opts *o, int argc)
{
    int lists = o->base.n || o->new.n, code = o->topology ? check_topology(o) : 0;

    if (code)
        return code;
    if (o->by_name && !o->topology)
        return command_usage(&cmd_diff, "--by-name is for --topology");
    if (o->topology && (argc != 2 || lists))
        return command_usage(&cmd_diff, "--topology takes two sessions, %d given", argc);
    if (lists && argc)
        return command_usage(&cmd_diff, "either BASE NEW, or --base and --new");
    if (!lists && argc != 2)
        return command_usage(&cmd_diff,
                             "takes two sessions, BASE NEW, %d given; --base and --new take several", argc);
    if (lists && (!o->base.n || !o->new.n))
        return command_usage(&cmd_diff, "--%s SESSION... is wanted too", o->base.n ? "new" : "base");
    return 0;
}

static int diff(const struct diff_opts *o, struct compare_opts *how, const struct diff_paths *side,
                struct err *e)
{
    const struct diff_renderer *r = diff_how_renderer(&o->how);
    struct diff_product put = {
        r, o->how.output, {.by = how->by, .top = o->how.top, .two_column = o->two_column}};
    struct comparison result = {0};
    int rc = diff_compare(&result, how, side, r, e);

    if (!rc)
        rc = diff_put(&put, &result, e);
    if (!rc)
        rc = diff_code(&result, o->bisect);
    comparison_release(&result);
    return rc;
}

static int diff_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct diff_opts *o = values;
    struct diff_paths side[COMPARISON_SIDES] = {0};
    struct compare_opts how = {.metric = o->metric};
    struct err e = {0};
    int code = check(o, argc);

    if (!code && diff_how(&how, &o->how, &e))
        code = command_usage(&cmd_diff, "%s", e.msg);
    if (code)
        return o->bisect ? DIFF_BISECT_STOP : code;
    if (o->topology)
        return diff_topology(argv[0], argv[1],
                             &(struct diff_topology_opts){o->by_name, is_json(o), o->how.output});
    code = find_paths(side, o, argc, argv, &e);
    if (!code)
        code = diff(o, &how, side, &e);
    for (int k = 0; k < COMPARISON_SIDES; k++)
        diff_paths_release(&side[k]);
    if (code >= 0)
        return code;
    log_error("%s", e.msg);
    return o->bisect ? DIFF_BISECT_STOP : EXIT_FAILED;
}

const struct command cmd_diff = {
    .name = "diff",
    .summary = "compare runs of two versions: what takes longer, how sure, and whether that is too much",
    .operands = "BASE NEW | --base SESSION... --new SESSION...",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct diff_opts),
    .examples = "wprof diff before after\n"
                "wprof diff --base runs/base --new runs/new --fail-above 5%\n"
                "wprof diff --per step --format md -o comment.md --base a1 a2 a3 --new b1 b2 b3\n"
                "wprof diff --topology --by-name --json before after",
    .run = diff_run,
};
