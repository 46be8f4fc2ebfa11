/* SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include "analyze/fold.h"
#include "base/log.h"
#include "render/picture_format.h"
#include "render/renderer.h"

#include <string.h>
#include <time.h>

/* "topology of myhost, 2026-07-16 15:30:12" */
static void add_title(const struct graph *g, struct buf *out)
{
    time_t s = (time_t)(g->time_ns / 1000000000);
    char when[32];
    struct tm tm;

    buf_addf(out, "topology%s%s", *g->host ? " of " : "", g->host);
    if (!g->time_ns || !localtime_r(&s, &tm))
        return;
    strftime(when, sizeof(when), "%F %T", &tm);
    buf_addf(out, ", %s", when);
}

static void say(const struct buf *notes)
{
    const char *line = buf_str(notes), *end;

    for (; (end = strchr(line, '\n')); line = end + 1)
        log_info("topology: %.*s", (int)(end - line), line);
}

/* A page of a session that has the topology and nothing else. */
static int add_page(const struct graph *g, const struct picture_wanted *w, struct buf *out, struct err *e)
{
    struct session s = {0};
    struct profile p = {0};
    struct quality q = {0};
    struct render_input in = {.profile = &p,
                              .meta = &s.meta,
                              .quality = &q,
                              .view = "topology",
                              .title = w->title,
                              .topology = g,
                              .layout = w->layout,
                              .max_nodes = w->max_nodes};
    int rc;

    s.meta.host = mem_strdup(g->host);
    s.meta.start_ts = (double)g->time_ns / 1e9;
    quality_compute(&q, &s.store, &s.meta);
    rc = fold_profile(&p, &s, &(struct fold_opts){.metric = "oncpu"}, e);
    rc = rc ? rc : renderer_find("html")->render(&in, out, e);
    profile_release(&p);
    session_release(&s);
    return rc;
}

int topology_product(const struct graph *g, const struct topology_opts *o, struct buf *out, struct err *e)
{
    int old = !strcmp(o->format, "gexf") && !strcmp(o->gexf, "1.2");
    struct picture_wanted w = {old ? "gexf-1.2" : o->format, o->layout, o->title, o->max_nodes};
    struct buf title = {0}, notes = {0};
    int rc;

    if (!o->title) {
        add_title(g, &title);
        w.title = buf_str(&title);
    }
    rc = !strcmp(o->format, "html") ? add_page(g, &w, out, e) : picture_produce(g, &w, out, &notes, e);
    if (!rc)
        say(&notes);
    buf_release(&title);
    buf_release(&notes);
    return rc;
}

const char *topology_suffix(const char *format)
{
    const struct picture_format *f = picture_format_find(format);

    return f ? f->suffix : "";
}
