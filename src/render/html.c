/* SPDX-License-Identifier: Apache-2.0 */
/* The page: one file with everything in it. templates/page.html is filled in; {{name}} is a part made here.
 */
#include "base/json.h"
#include "base/templates.h"
#include "render/base64.h"
#include "render/html_words.h"
#include "render/markup.h"
#include "render/page_data.h"
#include "render/palette.h"
#include "render/renderer.h"
#include "render/timeline_data.h"
#include "render/topology_data.h"

#include <string.h>

#define MAX_FILE    10000000 /* bytes */
#define MAX_BOXES   600000
#define MAX_PAIRS   500000
#define LEAST_BOXES 1000 /* a page is made with these, however long their names */

enum pane_of { PROFILE, TIMELINE, TOPOLOGY };

/* A view of its own in a tab. */
struct pane {
    const char *id, *label, *template;
    enum pane_of of; /* only where there is one */
};

static const struct pane panes[] = {
    {"flame", "Flame graph", "pane-flame.html", PROFILE},
    {"table", "Functions", "pane-table.html", PROFILE},
    {"timeline", "Timeline", "pane-timeline.html", TIMELINE},
    {"topology", "Topology", "pane-topology.html", TOPOLOGY},
};

/* In the order of use; all share one scope. */
static const char *const scripts[] = {
    "format.js",        "tree.js",
    "data.js",          "model.js",
    "flame-layout.js",  "flame-draw.js",
    "flame.js",         "search.js",
    "table.js",         "timeline-range.js",
    "tooltip.js",       "controls.js",
    "timeline-data.js", "timeline-layout.js",
    "timeline-draw.js", "timeline-words.js",
    "timeline.js",      "timeline-keys.js",
    "topology-data.js", "topology-route.js",
    "topology-draw.js", "topology-words.js",
    "topology.js",      "topology-keys.js",
    "keyboard.js",      "ui.js",
};

struct page {
    const struct render_input *in;
    struct figures figures;
    struct functions *functions; /* one per metric */
    char *command;
    struct buf blob, timeline; /* the numbers of both; the timeline's empty where there is none */
    struct buf topology;       /* JSON; empty where there is none */
    int alone;                 /* the topology is all there is */
    struct page_data_stats stats;
    struct buf *out;
};

static void add_template(struct page *pg, const char *name)
{
    size_t len = 0;
    const char *text = template_get(name, &len);

    buf_add(pg->out, text, len);
}

static void put_title(struct page *pg)
{
    markup_text(pg->out, pg->in->title ? pg->in->title : pg->command);
    buf_addstr(pg->out, " - wprof");
}

static void put_command(struct page *pg)
{
    markup_text(pg->out, pg->in->title ? pg->in->title : pg->command);
}

static void put_palette(struct page *pg)
{
    buf_addstr(pg->out, ":root{");
    palette_css(pg->out, 0);
    timeline_data_css(pg->out, 0);
    topology_data_css(pg->out, 0);
    buf_addstr(pg->out, "}\n:root[data-theme=dark]{");
    palette_css(pg->out, 1);
    timeline_data_css(pg->out, 1);
    topology_data_css(pg->out, 1);
    buf_addch(pg->out, '}');
}

static void put_style(struct page *pg)
{
    add_template(pg, "style.css");
    add_template(pg, "topology.css");
}

static void put_theme(struct page *pg)
{
    add_template(pg, "theme.js");
}

static void put_facts(struct page *pg)
{
    html_facts(pg->out, &pg->figures);
}

static void put_quality(struct page *pg)
{
    if (!pg->alone)
        html_quality(pg->out, &pg->figures);
}

static void put_warnings(struct page *pg)
{
    html_warnings(pg->out, &pg->figures);
}

static void put_pruned(struct page *pg)
{
    html_pruned(pg->out, &pg->stats);
}

static void put_report(struct page *pg)
{
    if (pg->in->report)
        buf_addf(pg->out, "<article class=\"report\">\n%s</article>\n<a id=\"panes\"></a>\n", pg->in->report);
}

static void put_top(struct page *pg)
{
    static const struct functions none;

    html_top(pg->out, pg->in->profile->metrics.n ? &pg->functions[0] : &none, pg->in->profile, 0);
}

static int has_pane(const struct page *pg, const struct pane *p)
{
    return p->of == PROFILE || (p->of == TIMELINE ? pg->timeline.len : pg->topology.len) > 0;
}

static void put_tabs(struct page *pg)
{
    for (size_t i = 0; i < ARRAY_SIZE(panes); i++)
        if (has_pane(pg, &panes[i]) && (!pg->alone || panes[i].of == TOPOLOGY))
            buf_addf(
                pg->out,
                "<button type=\"button\" role=\"tab\" data-pane=\"%s\" aria-selected=\"%s\">%s</button>\n",
                panes[i].id, i ? "false" : "true", panes[i].label);
}

static void put_panes(struct page *pg)
{
    for (size_t i = 0; i < ARRAY_SIZE(panes); i++)
        if (has_pane(pg, &panes[i]))
            add_template(pg, panes[i].template);
}

static void put_script(struct page *pg)
{
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
        add_template(pg, scripts[i]);
}

static void put_profile(struct page *pg)
{
    base64_add(pg->out, pg->blob.data, pg->blob.len);
}

static void put_timeline(struct page *pg)
{
    if (!pg->timeline.len)
        return;
    buf_addstr(pg->out, "\n<script type=\"application/octet-stream\" id=\"timeline\">");
    base64_add(pg->out, pg->timeline.data, pg->timeline.len);
    buf_addstr(pg->out, "</script>");
}

static void put_topology(struct page *pg)
{
    if (!pg->topology.len)
        return;
    buf_addstr(pg->out, "\n<script type=\"application/json\" id=\"topology\">");
    buf_add(pg->out, pg->topology.data, pg->topology.len);
    buf_addstr(pg->out, "</script>");
}

static void put_metrics(struct json_writer *w, const struct profile *p)
{
    json_array(w, "metrics");
    for (size_t m = 0; m < p->metrics.n; m++) {
        json_object(w, NULL);
        json_str(w, "name", p->metrics.a[m].name);
        json_str(w, "unit", p->metrics.a[m].unit);
        json_u64(w, "sum", p->metrics.a[m].sum);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_kinds(struct json_writer *w)
{
    json_array(w, "kinds");
    for (unsigned k = 0; k < PALETTE_KINDS; k++) {
        json_object(w, NULL);
        json_str(w, "id", palette_kind(k)->id);
        json_str(w, "label", palette_kind(k)->label);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_info(struct page *pg)
{
    struct json_writer w = {.out = pg->out};

    json_object(&w, NULL);
    json_str(&w, "view", pg->in->view);
    json_str(&w, "session", pg->in->meta->session_id);
    json_bool(&w, "task_ids", pg->in->task_ids);
    json_bool(&w, "apart", pg->in->apart);
    put_metrics(&w, pg->in->profile);
    put_kinds(&w);
    json_u64(&w, "slice_ns", pg->stats.slice_ns);
    json_object(&w, "pruned");
    json_u64(&w, "nodes", pg->stats.pruned_nodes);
    json_f64(&w, "share", pg->stats.pruned_share);
    json_f64(&w, "min_share", pg->stats.min_share);
    json_end_object(&w);
    if (pg->timeline.len)
        timeline_data_info(pg->in->timeline, &w);
    json_end_object(&w);
}

struct part {
    const char *name;
    void (*put)(struct page *pg);
};

static const struct part parts[] = {
    {"title", put_title},     {"command", put_command},   {"palette", put_palette},
    {"style", put_style},     {"theme", put_theme},       {"facts", put_facts},
    {"quality", put_quality}, {"warnings", put_warnings}, {"pruned", put_pruned},
    {"report", put_report},   {"top", put_top},           {"tabs", put_tabs},
    {"panes", put_panes},     {"script", put_script},     {"info", put_info},
    {"profile", put_profile}, {"timeline", put_timeline}, {"topology", put_topology},
};

static const struct part *find_part(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (strlen(parts[i].name) == n && !memcmp(parts[i].name, name, n))
            return &parts[i];
    return NULL;
}

static int fill(struct page *pg, struct err *e)
{
    const char *text = template_get("page.html", NULL), *open, *close;

    while ((open = strstr(text, "{{")) && (close = strstr(open, "}}"))) {
        const struct part *part = find_part(open + 2, (size_t)(close - open) - 2);

        if (!part)
            return err_set(e, "page.html asks for an unknown part '%.*s'", (int)(close - open) - 2, open + 2);
        buf_add(pg->out, text, (size_t)(open - text));
        part->put(pg);
        text = close + 2;
    }
    buf_addstr(pg->out, text);
    return 0;
}

/* Base64 makes three bytes four; the rest of the page is small and bounded. */
static size_t blob_room(const struct page *pg)
{
    const size_t rest = 400000, limit = pg->in->max_bytes ? pg->in->max_bytes : MAX_FILE;
    const size_t all = limit > rest ? (limit - rest) / 4 * 3 : 0;

    const size_t others = pg->timeline.len + pg->topology.len; /* the latter is text, and so needs less */

    return all > others ? all - others : 0;
}

static void encode(struct page *pg)
{
    struct page_data d = {pg->in->profile, pg->functions, MAX_BOXES, MAX_PAIRS};
    size_t room = blob_room(pg);

    for (;;) {
        double fits;

        buf_clear(&pg->blob);
        page_data_encode(&d, &pg->blob, &pg->stats);
        if (pg->blob.len <= room || d.max_boxes <= LEAST_BOXES)
            return;
        fits = 0.9 * (double)room / (double)pg->blob.len;
        d.max_boxes = (size_t)((double)d.max_boxes * fits);
        d.max_pairs = (size_t)((double)d.max_pairs * fits);
        if (d.max_boxes < LEAST_BOXES)
            d.max_boxes = LEAST_BOXES;
    }
}

static int has_values(const struct profile *p)
{
    for (size_t m = 0; m < p->metrics.n; m++)
        if (p->metrics.a[m].sum)
            return 1;
    return 0;
}

static int render(const struct render_input *in, struct buf *out, struct err *e)
{
    size_t n = in->profile->metrics.n;
    struct page pg = {.in = in, .out = out};
    int rc;

    pg.functions = mem_calloc(n, sizeof(*pg.functions));
    for (size_t m = 0; m < n; m++)
        functions_sum(&pg.functions[m], in->profile, m);
    pg.command = figures_command(in->meta);
    figures_make(&pg.figures, in->quality, in->meta);
    figures_add_nameless(&pg.figures, in->profile);
    if (in->timeline && in->timeline->lanes.n)
        timeline_data_encode(in->timeline, &pg.timeline);
    if (in->topology && in->topology->nodes.n)
        topology_data_encode(
            in->topology,
            &(struct topology_data_opts){in->title ? in->title : pg.command, in->layout, in->max_nodes},
            &pg.topology);
    pg.alone = pg.topology.len && !pg.timeline.len && !has_values(in->profile) && !in->quality->expected;
    encode(&pg);
    rc = fill(&pg, e);
    for (size_t m = 0; m < n; m++)
        functions_release(&pg.functions[m]);
    free(pg.functions);
    free(pg.command);
    figures_release(&pg.figures);
    buf_release(&pg.blob);
    buf_release(&pg.timeline);
    buf_release(&pg.topology);
    return rc;
}

const struct renderer_ops renderer_html = {
    .name = "html",
    .suffix = ".html",
    .summary = "one self-contained page: flame graph, functions, timeline, topology, what ran and how well "
               "it was measured",
    .wants_task_ids = 1,
    .wants_timeline = 1,
    .wants_topology = 1,
    .wants_metrics = 1,
    .render = render,
};
