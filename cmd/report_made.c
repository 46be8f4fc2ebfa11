/* SPDX-License-Identifier: Apache-2.0 */
#include "report_made.h"

#include "product.h"

#include "analyze/report.h"
#include "base/io.h"
#include "base/log.h"
#include "render/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 15 };

#define REPORTS "reports"

/* ---- what a session keeps ---- */

/* Text fits the terminal, so that it is made anew; what depends on options is not the session's report. */
static int is_kept(const struct report_line *o, const struct rule_settings *set, const struct session *s)
{
    return strcmp(o->format, "text") && !o->all && !set->values.n && !set->own.n && !set->only.n && s->sealed;
}

static char *kept_name(const struct report_line *o)
{
    return mem_printf(REPORTS "/heuristic.%s", o->format);
}

/* 1: it is there, and appended. */
static int read_kept(const struct report_line *o, int dir, struct buf *out)
{
    char *name = kept_name(o);
    struct stat report, meta;
    int there =
        !fstatat(dir, name, &report, AT_SYMLINK_NOFOLLOW) && S_ISREG(report.st_mode) &&
        !fstatat(dir, "meta.json", &meta, 0) &&
        (report.st_mtim.tv_sec > meta.st_mtim.tv_sec ||
         (report.st_mtim.tv_sec == meta.st_mtim.tv_sec && report.st_mtim.tv_nsec >= meta.st_mtim.tv_nsec)) &&
        !io_read_file(dir, name, out, NULL);

    free(name);
    return there;
}

/* Owned like the session. A session that can't be written to has no report of its own. */
static void keep(const struct report_line *o, int dir, const char *text, size_t n)
{
    char *name = kept_name(o);
    struct stat st;
    struct err e = {0};

    if (fstat(dir, &st))
        err_sys(&e, errno, "%s", name);
    else if (!mkdirat(dir, REPORTS, 0700) && !geteuid() &&
             fchownat(dir, REPORTS, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW))
        err_sys(&e, errno, REPORTS);
    else
        io_replace_file_owned(dir, name, text, n, geteuid() ? (uid_t)-1 : st.st_uid,
                              geteuid() ? (gid_t)-1 : st.st_gid, &e);
    if (*e.msg)
        log_debug("the report is not kept in the session: %s", e.msg);
    free(name);
}

/* ---- making one ---- */

static int draw(const struct report_line *o, const struct report *r, struct buf *out, struct err *e)
{
    struct text_style style = {product_color(), product_width()};
    struct json_writer w = {.out = out, .indent = 2};

    if (!strcmp(o->format, "json")) {
        report_json(r, &w);
        buf_addch(out, '\n');
    } else {
        if (o->output && strcmp(o->output, "-"))
            style = (struct text_style){0};
        report_text(r, &style, o->all, out);
    }
    return 0;
}

static int make(const struct report_line *o, const struct rule_settings *set, struct session *s,
                struct buf *out, struct err *e)
{
    struct report_opts how = {set, o->all ? 0 : ROWS};
    struct quality q = {0};
    struct report r = {0};
    int rc;

    quality_compute(&q, &s->store, &s->meta);
    rc = report_make(&r, s, &q, &how, e);
    if (!rc)
        rc = draw(o, &r, out, e);
    report_release(&r);
    return rc;
}

int report_made(const struct report_line *o, const struct rule_settings *set, struct session *s,
                struct buf *out, struct err *e)
{
    int dir = is_kept(o, set, s) ? open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, rc = 0;
    size_t before = out->len;

    if (dir >= 0 && !o->refresh && read_kept(o, dir, out)) {
        log_info("the report that %s keeps (--refresh makes it anew)", s->path);
    } else {
        rc = make(o, set, s, out, e);
        if (!rc && dir >= 0)
            keep(o, dir, out->data + before, out->len - before);
    }
    if (dir >= 0)
        close(dir);
    return rc;
}
