/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/json.h"
#include "base/log.h"
#include "platform/pfm.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

struct events_opts {
    int json;
};

static const struct opt options[] = {
    OPT_FLAG(0, "json", struct events_opts, json, "as JSON"),
};

/* An event that fits the pattern, and what came of opening it. */
struct row {
    const struct pfm_item *item;
    enum pfm_opens opens;
    int errnum;
};

/* Part of the name, or all of it where the pattern has * or ?; case does not matter. */
static int fits(const char *name, const char *pattern)
{
    if (!pattern)
        return 1;
    if (strpbrk(pattern, "*?["))
        return !fnmatch(pattern, name, FNM_CASEFOLD);
    return strcasestr(name, pattern) != NULL;
}

static const char *opens_text(const struct row *r)
{
    return r->opens == PFM_OPENS_YES ? "yes" : r->opens == PFM_OPENS_USER ? "user" : "no";
}

static void print_json(const struct row *rows, size_t n)
{
    struct buf out = {0};
    struct json_writer w = {.out = &out, .indent = 2};

    json_array(&w, NULL);
    for (size_t i = 0; i < n; i++) {
        json_object(&w, NULL);
        json_str(&w, "name", rows[i].item->name);
        json_str(&w, "pmu", rows[i].item->pmu);
        json_str(&w, "opens", opens_text(&rows[i]));
        json_str(&w, "why", rows[i].opens == PFM_OPENS_NO ? strerror(rows[i].errnum) : NULL);
        json_str(&w, "description", rows[i].item->desc);
        json_end_object(&w);
    }
    json_end_array(&w);
    buf_addch(&out, '\n');
    product_print(&out);
    buf_release(&out);
}

static void print_text(const struct row *rows, size_t n)
{
    struct buf out = {0};
    struct pfm_event ev;
    char why[256];
    size_t no = 0;

    buf_addf(&out, "%-40s %-10s %-5s %s\n", "EVENT", "PMU", "OPENS", "WHAT IT COUNTS");
    for (size_t i = 0; i < n; i++) {
        buf_addf(&out, "%-40s %-10s %-5s %s\n", rows[i].item->name, rows[i].item->pmu, opens_text(&rows[i]),
                 rows[i].item->desc);
        no += rows[i].opens == PFM_OPENS_NO;
    }
    product_print(&out);
    buf_release(&out);
    if (no)
        log_info("%zu of %zu events don't open here (--json says why)", no, n);
    pfm_default_event(&ev, why, sizeof(why));
    log_info("record samples %s unless told otherwise%s%s", ev.name, *why ? ": " : "", why);
}

static void probe(struct row *r)
{
    struct pfm_event ev;

    if (pfm_encode(r->item->name, &ev, NULL))
        r->errnum = ENOTSUP;
    else
        r->opens = pfm_probe(&ev, &r->errnum);
}

static int nothing_fits(const struct pfm_list *l, const char *pattern)
{
    char near[256];

    pfm_nearest(l, pattern, 3, near, sizeof(near));
    log_error("no event of this machine fits '%s'%s%s", pattern, *near ? "; nearest: " : "", near);
    return EXIT_FAILED;
}

static int events_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct events_opts *o = values;
    const char *pattern = argc ? argv[0] : NULL;
    VEC(struct row) rows = {0};
    struct pfm_list l;
    struct err e = {0};
    int code = EXIT_OK;

    if (argc > 1)
        return command_usage(&cmd_events, "takes one PATTERN, '%s' is too many", argv[1]);
    if (pfm_list(&l, &e)) {
        log_error("events: %s", e.msg);
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < l.items.n; i++) {
        if (!fits(l.items.a[i].name, pattern))
            continue;
        *vec_push(&rows) = (struct row){.item = &l.items.a[i]};
        probe(&rows.a[rows.n - 1]);
    }
    if (!rows.n)
        code = nothing_fits(&l, pattern ? pattern : "");
    else if (o->json)
        print_json(rows.a, rows.n);
    else
        print_text(rows.a, rows.n);
    vec_release(&rows);
    pfm_list_release(&l);
    return code;
}

const struct command cmd_events = {
    .name = "events",
    .summary = "list the events of this machine that record -e takes",
    .operands = "[PATTERN]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct events_opts),
    .examples = "wprof events\nwprof events clock\nwprof events 'cache*' --json",
    .run = events_run,
};
