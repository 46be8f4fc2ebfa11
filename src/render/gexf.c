/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as GEXF for Gephi, 1.3 (gexf.net) or 1.2draft, which NetworkX reads: places, sizes, colours, and
 * when a node or edge was there. */
#include "render/markup.h"
#include "render/picture_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct gexf {
    const struct picture *p;
    int draft; /* 1.2draft */
    struct buf *out;
};

/* xsd:dateTime in 1.3; seconds since 1970 in the draft, whose readers know few types. */
static void add_time(const struct gexf *x, const char *name, uint64_t ns)
{
    time_t s = (time_t)(ns / 1000000000);
    char text[32];
    struct tm tm;

    if (!ns)
        return;
    if (x->draft) {
        buf_addf(x->out, " %s=\"%" PRIu64 ".%06u\"", name, ns / 1000000000,
                 (unsigned)(ns % 1000000000 / 1000));
        return;
    }
    gmtime_r(&s, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    buf_addf(x->out, " %s=\"%s.%03u+00:00\"", name, text, (unsigned)(ns % 1000000000 / 1000000));
}

static void add_seen(const struct gexf *x, uint64_t first, uint64_t last)
{
    add_time(x, "start", first);
    add_time(x, "end", last);
}

static void add_value(const struct gexf *x, const char *of, const char *value)
{
    buf_addf(x->out, "<attvalue for=\"%s\" value=\"", of);
    markup_text(x->out, value);
    buf_addstr(x->out, "\"/>");
}

static void add_number(const struct gexf *x, const char *of, uint64_t value)
{
    buf_addf(x->out, "<attvalue for=\"%s\" value=\"%" PRIu64 "\"/>", of, value);
}

static void add_color(const struct gexf *x, const char *color)
{
    unsigned r = 0x99, g = 0x99, b = 0x99;

    sscanf(color, "#%2x%2x%2x", &r, &g, &b);
    buf_addf(x->out, "<viz:color r=\"%u\" g=\"%u\" b=\"%u\"%s/>", r, g, b, x->draft ? "" : " a=\"1.0\"");
}

/* Where it is, from the outside in: "host / container / process". */
static void add_place(const struct gexf *x, uint32_t box)
{
    struct buf place = {0};

    for (; box != PICTURE_NONE; box = x->p->boxes.a[box].parent) {
        struct buf outer = {0};

        if (!*x->p->boxes.a[box].label)
            continue;
        buf_addf(&outer, "%s%s%s", x->p->boxes.a[box].label, place.len ? " / " : "", buf_str(&place));
        buf_release(&place);
        place = outer;
    }
    if (place.len)
        add_value(x, "place", buf_str(&place));
    buf_release(&place);
}

static void add_flat(struct buf *out, const char *label)
{
    char *flat = mem_strdup(label);

    for (char *c = flat; (c = strchr(c, '\n'));)
        *c = ' ';
    markup_text(out, flat);
    free(flat);
}

/* y goes up in Gephi. A node that stands for many is larger: by area. */
static void add_node(const struct gexf *x, uint32_t i)
{
    const struct picture_node *n = &x->p->nodes.a[i];

    buf_addf(x->out, "      <node id=\"n%u\" label=\"", i);
    add_flat(x->out, n->label);
    buf_addch(x->out, '"');
    add_seen(x, n->first_ns, n->last_ns);
    buf_addstr(x->out, "><attvalues>");
    add_value(x, "kind", graph_kind(n->of->kind)->name);
    add_value(x, "node", n->id);
    add_number(x, "count", n->count);
    add_place(x, n->box);
    buf_addstr(x->out, "</attvalues>");
    add_color(x, picture_color(n));
    buf_addf(x->out, "<viz:position x=\"%.2f\" y=\"%.2f\" z=\"0.0\"/><viz:size value=\"%.2f\"/></node>\n",
             n->at.x, x->p->height - n->at.y, 10 * sqrt((double)n->count));
}

static void add_edge(const struct gexf *x, uint32_t i)
{
    const struct picture_edge *e = &x->p->edges.a[i];
    const struct graph_relation_info *r = graph_relation(e->kind);
    const char *type = !r->directed ? "undirected" : e->both ? "mutual" : "directed";
    double bytes = (double)e->bytes_ab + (double)e->bytes_ba;

    /* NetworkX refuses undirected edges beside directed ones: in the draft, `direction` alone says it */
    buf_addf(x->out, "      <edge id=\"e%u\" source=\"n%u\" target=\"n%u\" label=\"%s\" weight=\"%.3f\"", i,
             e->a, e->b, r->name, 1 + log2(1 + bytes));
    if (!x->draft)
        buf_addf(x->out, " type=\"%s\"", type);
    add_seen(x, e->first_ns, e->last_ns);
    buf_addstr(x->out, "><attvalues>");
    add_value(x, "relation", r->name);
    add_value(x, "direction", type);
    add_number(x, "bytes_ab", e->bytes_ab);
    add_number(x, "bytes_ba", e->bytes_ba);
    add_number(x, "messages_ab", e->messages_ab);
    add_number(x, "messages_ba", e->messages_ba);
    add_number(x, "edges", e->count);
    if (!isnan(e->weight))
        buf_addf(x->out, "<attvalue for=\"figure\" value=\"%.17g\"/>", e->weight);
    buf_addstr(x->out, "</attvalues>");
    add_color(x, r->color);
    buf_addstr(x->out, "</edge>\n");
}

static void add_head(const struct gexf *x)
{
    if (x->draft)
        buf_addstr(x->out, "<gexf xmlns=\"http://www.gexf.net/1.2draft\" "
                           "xmlns:viz=\"http://www.gexf.net/1.2draft/viz\" version=\"1.2\">\n");
    else
        buf_addstr(x->out, "<gexf xmlns=\"http://gexf.net/1.3\" xmlns:viz=\"http://gexf.net/1.3/viz\" "
                           "version=\"1.3\">\n");
    buf_addstr(x->out, "  <meta>\n    <creator>wprof</creator>\n    <description>");
    markup_text(x->out, x->p->title);
    for (size_t i = 0; i < x->p->notes.n; i++) {
        buf_addstr(x->out, "; ");
        markup_text(x->out, x->p->notes.a[i]);
    }
    buf_addstr(x->out, "</description>\n  </meta>\n");
}

static void add_attributes(const struct gexf *x)
{
    static const char *const of_nodes[][2] = {
        {"kind", "string"}, {"node", "string"}, {"count", "integer"}, {"place", "string"}};
    static const char *const of_edges[][2] = {
        {"relation", "string"},  {"direction", "string"}, {"bytes_ab", "long"}, {"bytes_ba", "long"},
        {"messages_ab", "long"}, {"messages_ba", "long"}, {"edges", "integer"}, {"figure", "double"}};

    buf_addstr(x->out, "    <attributes class=\"node\" mode=\"static\">\n");
    for (size_t i = 0; i < ARRAY_SIZE(of_nodes); i++)
        buf_addf(x->out, "      <attribute id=\"%s\" title=\"%s\" type=\"%s\"/>\n", of_nodes[i][0],
                 of_nodes[i][0], of_nodes[i][1]);
    buf_addstr(x->out, "    </attributes>\n    <attributes class=\"edge\" mode=\"static\">\n");
    for (size_t i = 0; i < ARRAY_SIZE(of_edges); i++)
        buf_addf(x->out, "      <attribute id=\"%s\" title=\"%s\" type=\"%s\"/>\n", of_edges[i][0],
                 of_edges[i][0], of_edges[i][1]);
    buf_addstr(x->out, "    </attributes>\n");
}

static int has_times(const struct picture *p)
{
    for (size_t i = 0; i < p->nodes.n; i++)
        if (p->nodes.a[i].first_ns)
            return 1;
    return 0;
}

static void write_as(const struct gexf *x)
{
    buf_addstr(x->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    add_head(x);
    if (has_times(x->p))
        buf_addf(x->out, "  <graph defaultedgetype=\"directed\" mode=\"dynamic\" timeformat=\"%s\"%s>\n",
                 x->draft ? "double" : "dateTime", x->draft ? "" : " timerepresentation=\"interval\"");
    else
        buf_addstr(x->out, "  <graph defaultedgetype=\"directed\" mode=\"static\">\n");
    add_attributes(x);
    buf_addstr(x->out, "    <nodes>\n");
    for (uint32_t i = 0; i < x->p->nodes.n; i++)
        add_node(x, i);
    buf_addstr(x->out, "    </nodes>\n    <edges>\n");
    for (uint32_t i = 0; i < x->p->edges.n; i++)
        add_edge(x, i);
    buf_addstr(x->out, "    </edges>\n  </graph>\n</gexf>\n");
}

static void write_13(const struct picture *p, const struct graph *g, struct buf *out)
{
    write_as(&(struct gexf){.p = p, .out = out});
}

static void write_12(const struct picture *p, const struct graph *g, struct buf *out)
{
    write_as(&(struct gexf){.p = p, .draft = 1, .out = out});
}

extern const struct picture_format format_gexf, format_gexf_12;
const struct picture_format format_gexf = {
    .name = "gexf", .suffix = ".gexf", .has_places = 1, .flat = 1, .write = write_13};
const struct picture_format format_gexf_12 = {
    .name = "gexf-1.2", .suffix = ".gexf", .has_places = 1, .flat = 1, .write = write_12};
