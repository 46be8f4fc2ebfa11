/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"

#include "base/log.h"
#include "exchange/sessions/find.h"
#include "platform/clock.h"
#include "render/sessions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_LIMIT = 50 };

struct ls_opts {
    const char *format, *host, *workload, *kind, *since, *limit, *output;
};

static const struct opt options[] = {
    OPT_CHOICE('f', "format", struct ls_opts, format, "FORMAT", "text", "text|json|html",
               "how they are listed"),
    OPT_STRING(0, "host", struct ls_opts, host, "PATTERN", "only those recorded there: 'gpu-*'"),
    OPT_STRING('w', "workload", struct ls_opts, workload, "PATTERN", "only those of that program"),
    OPT_STRING('k', "kind", struct ls_opts, kind, "PATTERN",
               "only those of that kind: fused, imported, cpu-oncpu"),
    OPT_STRING(0, "since", struct ls_opts, since, "TIME",
               "only those begun in the last 2h, 7d, or since 2026-11-30"),
    OPT_STRING('n', "limit", struct ls_opts, limit, "N",
               "at most so many, the newest; 0: all (default: 50 as text, else all)"),
    OPT_STRING('o', "output", struct ls_opts, output, "FILE", "to FILE, not to stdout"),
};

static int read_limit(const struct ls_opts *o, uint64_t *limit, struct err *e)
{
    char *end;

    *limit = strcmp(o->format, "text") ? 0 : TEXT_LIMIT;
    if (!o->limit)
        return 0;
    errno = 0;
    *limit = strtoull(o->limit, &end, 10);
    if (errno || *end || end == o->limit || *o->limit == '-')
        return err_set(e, "--limit '%s' is no whole number", o->limit);
    return 0;
}

static int read_filter(const struct ls_opts *o, struct sessions_filter *f, struct err *e)
{
    *f = (struct sessions_filter){.host = o->host, .workload = o->workload, .kind = o->kind};
    if (o->since && sessions_parse_since(o->since, (double)clock_ns(CLOCK_REALTIME) / 1e9, &f->since, e))
        return err_wrap(e, "--since");
    return read_limit(o, &f->limit, e);
}

/* Where the page is going to lie. Owned by the caller; NULL with `e`. */
static char *page_directory(const struct ls_opts *o, struct err *e)
{
    char *path = mem_strdup(o->output && strcmp(o->output, "-") != 0 ? o->output : "x"),
         *slash = strrchr(path, '/'), *dir;

    if (slash)
        slash[slash == path] = '\0';
    dir = realpath(slash ? path : ".", NULL);
    if (!dir)
        err_sys(e, errno, "%s", slash ? path : ".");
    free(path);
    return dir;
}

static int make_page(const struct ls_opts *o, struct sessions *s, struct buf *out, struct err *e)
{
    char *from = page_directory(o, e), *here = realpath(".", NULL);

    if (from && here) {
        sessions_find_pages(s);
        sessions_page(s, from, here, out);
    }
    free(from);
    free(here);
    return out->len ? 0 : -1;
}

static void say_left_out(const struct sessions *s)
{
    if (s->denied)
        log_warn("%" PRIu64 " director%s could not be read", s->denied, s->denied == 1 ? "y" : "ies");
    if (s->too_deep)
        log_warn("%" PRIu64 " director%s below 16 others %s not looked into", s->too_deep,
                 s->too_deep == 1 ? "y" : "ies", s->too_deep == 1 ? "was" : "were");
    if (s->damaged)
        log_warn("%" PRIu64 " director%s a meta.json that is no session's: %s%s", s->damaged,
                 s->damaged == 1 ? "y has" : "ies have", sessions_text(s, s->damaged_at),
                 s->damaged == 1 ? "" : ", ...");
    if (s->unread)
        log_warn("%" PRIu64 " archive%s could not be read", s->unread, s->unread == 1 ? "" : "s");
    if (s->foreign)
        log_info("%" PRIu64 " archive%s no session", s->foreign, s->foreign == 1 ? " holds" : "s hold");
    if (s->left_out)
        log_info("%" PRIu64 " older session%s not listed (--limit 0 lists all)", s->left_out,
                 s->left_out == 1 ? " is" : "s are");
}

static int list(const struct ls_opts *o, struct sessions *s, struct err *e)
{
    struct text_style style = {product_color(), product_width()};
    struct buf out = {0};
    int rc = 0;

    if (!strcmp(o->format, "json"))
        sessions_json(s, &out);
    else if (!strcmp(o->format, "html"))
        rc = make_page(o, s, &out, e);
    else if (s->list.n)
        sessions_text_table(s, &style, &out);
    if (!rc && o->output && strcmp(o->output, "-") != 0)
        rc = product_write(o->output, &out, e);
    else if (!rc)
        product_print(&out);
    buf_release(&out);
    if (!rc)
        say_left_out(s);
    return rc;
}

static int ls(const struct ls_opts *o, char **dirs, size_t n, struct err *e)
{
    struct sessions s = {0};
    struct sessions_filter f;
    int rc = read_filter(o, &f, e);

    for (size_t i = 0; i < (n ? n : 1) && !rc; i++)
        rc = sessions_find(&s, n ? dirs[i] : ".", e);
    if (!rc) {
        sessions_filter(&s, &f);
        rc = list(o, &s, e);
    }
    sessions_release(&s);
    return rc;
}

static int ls_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct err e = {0};

    if (!ls(values, argv, (size_t)argc, &e))
        return EXIT_OK;
    log_error("%s", e.msg);
    return EXIT_FAILED;
}

const struct command cmd_ls = {
    .name = "ls",
    .summary = "list the sessions below a directory, and archives of them",
    .operands = "[DIR|ARCHIVE...]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct ls_opts),
    .examples = "wprof ls\n"
                "wprof ls --workload 'train*' --since 7d /data/sessions\n"
                "wprof ls --format html -o sessions.html /data/sessions",
    .run = ls_run,
};
