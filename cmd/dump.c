/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "analyze/symbolize.h"
#include "analyze/waitfor.h"
#include "base/log.h"
#include "base/units.h"
#include "collect/dump.h"
#include "product.h"
#include "render/dump.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

struct dump_opts {
    struct opt_list pids;
    const char *tier;
    int alone, json, verbose;
};

static const struct opt options[] = {
    OPT_LIST('p', "pid", struct dump_opts, pids, "PID",
             "a running process and its children; may be given again"),
    OPT_FLAG(0, "no-children", struct dump_opts, alone, "without the processes that it started"),
    OPT_CHOICE(0, "tier", struct dump_opts, tier, "A|B|C", NULL, "A|B|C",
               "no better way than that: BPF, perf events, from outside (default: the best that works)"),
    OPT_FLAG(0, "json", struct dump_opts, json, "as JSON"),
    OPT_FLAG('v', "verbose", struct dump_opts, verbose, "say more"),
};

struct pids {
    VEC(pid_t) list;
};

static int parse_pids(const struct opt_list *given, struct pids *out, struct err *e)
{
    for (size_t i = 0; i < given->n; i++) {
        uint64_t v;

        if (units_parse_uint(given->a[i], &v, e) || !v || v > INT_MAX)
            return err_set(e, "-p %s: not a process's number", given->a[i]);
        *vec_push(&out->list) = (pid_t)v;
    }
    return 0;
}

static void print(const struct dump *d, int json)
{
    struct text_style style = {.color = product_color(), .width = product_width()};
    struct buf out = {0};

    if (json) {
        dump_json_render(d, &out);
        fputs(buf_str(&out), stdout);
    } else {
        dump_text_render(d, &style, &out);
        product_print(&out);
    }
    buf_release(&out);
}

static int check_files(const struct dump *d, struct err *e)
{
    struct rlimit r = {0};

    if (!d->out_of_files)
        return 0;
    getrlimit(RLIMIT_NOFILE, &r);
    return err_set(
        e,
        "this is not all: the %llu files that may be open here were too few to look at every thread "
        "(a higher limit: ulimit -Hn)",
        (unsigned long long)r.rlim_cur);
}

static int dump(const struct dump_opts *o, const struct pids *pids, struct err *e)
{
    struct dump_how_to how = {
        .pids = pids->list.a, .n = pids->list.n, .alone = o->alone, .tier = o->tier ? o->tier[0] : 0};
    struct symbolize_opts names = {.same_boot = 1, .starts = 1};
    struct symbolize_stats stats;
    struct dump d = {0};
    int rc = dump_take(&d, &how, e);

    if (!rc && symbolize_store(&d.store, &names, &stats, e))
        rc = err_wrap(e, "symbols");
    if (!rc) {
        waitfor_dump(&d);
        print(&d, o->json);
        rc = check_files(&d, e);
    }
    dump_release(&d);
    return rc;
}

static int run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct dump_opts *o = values;
    struct pids pids = {0};
    struct err e = {0};
    int code = EXIT_OK;

    if (argc)
        return command_usage(&cmd_dump, "takes no operands, '%s' is too many (-p PID names a process)",
                             argv[0]);
    if (!o->pids.n)
        return command_usage(&cmd_dump, "which process? -p PID names it");
    if (parse_pids(&o->pids, &pids, &e)) {
        vec_release(&pids.list);
        return command_usage(&cmd_dump, "%s", e.msg);
    }
    if (o->verbose)
        log_set_level(LOG_DEBUG);
    if (dump(o, &pids, &e)) {
        log_error("dump: %s", e.msg);
        code = EXIT_FAILED;
    }
    vec_release(&pids.list);
    return code;
}

const struct command cmd_dump = {
    .name = "dump",
    .summary = "tell at once what every thread of a process does and what it waits for",
    .operands = "-p PID...",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct dump_opts),
    .examples = "wprof dump -p 4711\nsudo wprof dump -p 4711\nwprof dump -p 4711 --json >hang.json",
    .run = run,
};
