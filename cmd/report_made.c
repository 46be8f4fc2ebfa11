/* SPDX-License-Identifier: Apache-2.0 */
#include "report_made.h"

#include "page.h"
#include "product.h"

#include "analyze/report.h"
#include "analyze/timeline.h"
#include "analyze/topology.h"
#include "base/io.h"
#include "base/log.h"
#include "render/picture_format.h"
#include "render/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A ticket takes 3 MB: the page's scripts and style, the report, its pictures, the numbers of the graphs. */
enum { ROWS = 15, PAGE_BYTES = 2800000, FLAME_BYTES = 500000, TOPOLOGY_NODES = 40 };

#define FLAME_ROW 0.1 /* what imports pile up is high and thin */

static const struct timeline_opts page_timeline = {
    .max_spans = 20000, .max_ticks = 12000, .max_points = 8000, .max_nodes = 20000, .max_lanes = 300};

/* Everything that a page shows. */
struct page {
    struct profile profile;
    struct timeline timeline;
    struct graph topology;
    struct buf flame, picture; /* empty: there is none */
    struct render_input in;
};

static void page_release(struct page *pg)
{
    profile_release(&pg->profile);
    timeline_release(&pg->timeline);
    graph_release(&pg->topology);
    buf_release(&pg->flame);
    buf_release(&pg->picture);
}

static int draw_flame(struct page *pg, const struct session *s, struct err *e)
{
    struct render_input in = pg->in;
    struct fold_opts fold = {.metric = "oncpu"};
    struct profile p = {0};
    int rc = fold_profile(&p, s, &fold, e);

    in.profile = &p;
    in.task_ids = 0;
    in.max_bytes = FLAME_BYTES;
    in.min_row = FLAME_ROW;
    for (size_t i = 0; i < nrenderers && !rc; i++)
        if (!strcmp(renderers[i]->name, "svg"))
            rc = renderers[i]->render(&in, &pg->flame, e);
    profile_release(&p);
    return rc;
}

/* Without Graphviz, or where a topology is too much for it, the page is without its picture. */
static void draw_topology(struct page *pg, const struct session *s)
{
    struct picture_wanted want = {.format = "svg", .title = "topology", .max_nodes = TOPOLOGY_NODES};
    struct buf notes = {0};
    struct err e = {0};

    if (!topology_has(s))
        return;
    if (topology_read(s, &pg->topology, &e) ||
        picture_produce(&pg->topology, &want, &pg->picture, &notes, &e)) {
        buf_clear(&pg->picture);
        log_warn("report: the page is without a picture of the topology: %s", e.msg);
    }
    buf_release(&notes);
}

static int page_make(struct page *pg, const struct session *s, const struct quality *q, struct err *e)
{
    struct fold_opts fold = {.metric = "oncpu", .pids = 1, .samples = 1};
    int rc;

    graph_init(&pg->topology);
    pg->in = (struct render_input){.profile = &pg->profile,
                                   .meta = &s->meta,
                                   .quality = q,
                                   .view = "cpu",
                                   .task_ids = 1,
                                   .max_nodes = TOPOLOGY_NODES,
                                   .topology = &pg->topology};
    /* A session without samples has a page without a flame graph: an empty profile. */
    fold.had = 1u << EVENT_SAMPLE;
    rc = fold_profile(&pg->profile, s, &fold, e) || page_add_metrics(&pg->profile, s, fold, e) ? -1 : 0;
    if (!rc && timeline_has(s)) {
        timeline_build(&pg->timeline, s, &page_timeline);
        pg->in.timeline = &pg->timeline;
    }
    if (!rc && fold_has(&s->store, "oncpu"))
        rc = draw_flame(pg, s, e);
    if (!rc)
        draw_topology(pg, s);
    return rc;
}

static int draw_page(const struct report *r, const struct session *s, struct buf *out, struct err *e)
{
    struct page pg = {0};
    struct report_page page = {.in = &pg.in, .max_bytes = PAGE_BYTES};
    int rc = page_make(&pg, s, r->quality, e);

    page.flame = pg.flame.len ? buf_str(&pg.flame) : NULL;
    page.topology = pg.picture.len ? buf_str(&pg.picture) : NULL;
    if (!rc)
        rc = report_html(r, &page, out, e);
    page_release(&pg);
    return rc;
}

static int draw(const struct report_line *o, const struct report *r, const struct session *s, struct buf *out,
                struct err *e)
{
    int to_file = o->output && strcmp(o->output, "-");
    struct text_style style = {to_file ? 0 : product_color(), to_file ? 0 : product_width(),
                               to_file ? 0 : product_rows()};
    struct json_writer w = {.out = out, .indent = 2};

    if (!strcmp(o->format, "md"))
        return report_md(r, out, e);
    if (!strcmp(o->format, "html"))
        return draw_page(r, s, out, e);
    if (!strcmp(o->format, "json")) {
        report_json(r, &w);
        buf_addch(out, '\n');
        return 0;
    }
    report_text(r, &style, o->all, out);
    return 0;
}

static int make(const struct report_line *o, const struct rule_settings *set, struct session *s,
                struct buf *out, struct err *e)
{
    /* A person reads text: its tables say how all rows are shown. */
    struct report_opts how = {set, o->all && strcmp(o->format, "text") != 0 ? 0 : ROWS};
    struct quality q = {0};
    struct report r = {0};
    int rc;

    quality_compute(&q, &s->store, &s->meta);
    rc = report_make(&r, s, &q, &how, e);
    if (!rc)
        rc = draw(o, &r, s, out, e);
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
