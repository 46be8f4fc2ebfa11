/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"
#include "report_made.h"

#include "analyze/open.h"
#include "base/log.h"
#include "collect/gpu_rest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct opt options[] = {
    OPT_CHOICE('f', "format", struct report_line, format, "FORMAT", "text", "text|md|html|json",
               "what to make"),
    OPT_LIST('r', "rule", struct report_line, rules, "ID", "look for this alone; may be given again"),
    OPT_FLAG('a', "all", struct report_line, all, "all findings, what became of each rule, all tables"),
    OPT_STRING('o', "output", struct report_line, output, "FILE", "to FILE; - is stdout, the default"),
    OPT_FLAG(0, "refresh", struct report_line, refresh, "make it anew, where the session has it already"),
    OPT_FLAG(0, "rules-page", struct report_line, rules_page, NULL),
    OPT_LIST('s', "set", struct report_line, set, "RULE.THRESHOLD=VALUE",
             "another threshold: gil-wait.share=10%"),
};

/* Of the settings' [rules], then --set, then --rule. */
static int take_rules(struct rule_settings *x, const struct report_line *o, const struct config *cfg,
                      struct err *e)
{
    const struct config_pair *pairs;
    size_t n = config_pairs(cfg, "rules", &pairs);

    for (size_t i = 0; i < n; i++)
        if (rule_set(x, pairs[i].key, pairs[i].text, e))
            return err_wrap(e, "%s", pairs[i].origin);
    for (size_t i = 0; i < o->set.n; i++) {
        const char *eq = strchr(o->set.a[i], '=');
        char *name = eq ? mem_strndup(o->set.a[i], (size_t)(eq - o->set.a[i])) : NULL;
        int rc =
            eq ? rule_set(x, name, eq + 1, e) : err_set(e, "'%s': want RULE.THRESHOLD=VALUE", o->set.a[i]);

        free(name);
        if (rc)
            return err_wrap(e, "--set");
    }
    for (size_t i = 0; i < o->rules.n; i++)
        if (rule_only(x, o->rules.a[i], e))
            return err_wrap(e, "--rule");
    return 0;
}

static int write_out(const struct report_line *o, const struct buf *out, struct err *e)
{
    if (!o->output || !strcmp(o->output, "-")) {
        product_print(out);
        return ferror(stdout) ? err_sys(e, errno, "stdout") : 0;
    }
    return product_write(o->output, out, e);
}

static int add_session(const struct report_line *o, const struct rule_settings *set, const char *path,
                       struct buf *out, struct err *e)
{
    struct session s;
    int rc = open_session(&s, path, gpu_rest_take, e);

    if (rc)
        return -1;
    rc = report_made(o, set, &s, out, e);
    if (rc)
        err_wrap(e, "%s", s.path);
    session_release(&s);
    return rc;
}

/* Several follow each other; JSON's are an array then. */
static int make(const struct report_line *o, const struct rule_settings *set, int argc, char **argv,
                struct err *e)
{
    int json = !strcmp(o->format, "json"), rc = 0;
    struct buf out = {0};

    if (argc > 1 && json)
        buf_addstr(&out, "[\n");
    for (int i = 0; i < (argc ? argc : 1) && !rc; i++) {
        if (i)
            buf_addstr(&out, json ? ",\n" : "\n");
        rc = add_session(o, set, argc ? argv[i] : NULL, &out, e);
    }
    if (argc > 1 && json)
        buf_addstr(&out, "]\n");
    if (!rc)
        rc = write_out(o, &out, e);
    buf_release(&out);
    return rc;
}

static int report_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct report_line *o = values;
    struct rule_settings set = {0};
    struct buf page = {0};
    struct err e = {0};
    int rc;

    if (o->rules_page) {
        report_rules_page(&page);
        product_print(&page);
        buf_release(&page);
        return EXIT_OK;
    }
    if (take_rules(&set, o, cfg, &e)) {
        rc = command_usage(&cmd_report, "%s", e.msg);
        rule_settings_release(&set);
        return rc;
    }
    if (argc > 1 && !strcmp(o->format, "html")) {
        rule_settings_release(&set);
        return command_usage(&cmd_report, "a page is of one SESSION, '%s' is too many", argv[1]);
    }
    rc = make(o, &set, argc, argv, &e);
    rule_settings_release(&set);
    if (rc)
        log_error("report: %s", e.msg);
    return rc ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_report = {
    .name = "report",
    .summary = "say what makes it slow: findings with their cost, evidence and advice",
    .operands = "[SESSION...]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct report_line),
    .examples = "wprof report\n"
                "wprof report --all wprof-train-20260716-153012-abc123\n"
                "wprof report --rule loader-wait --set loader-wait.share=1%\n"
                "wprof report --format html -o page.html\n"
                "wprof report --format md >comment.md\n"
                "wprof report --format json | jq '.findings[0].title'",
    .run = report_run,
};
