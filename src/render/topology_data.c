/* SPDX-License-Identifier: Apache-2.0 */
#include "render/topology_data.h"

#include "base/json.h"
#include "render/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES   3000   /* that a browser moves about without effort */
#define MAX_MEMBERS 20000  /* nodes named of those that are folded, in all */
#define MAX_VALUE   300    /* bytes of a text */
#define MAX_ROOM    600000 /* bytes of attributes and members */

/* Of a process, put there by the recording; shown as times and not as attributes. */
static const struct {
    const char *attr, *label;
} times[] = {{"cpu_ns", "on the CPU"},
             {"runq_ns", "waiting for a CPU"},
             {"offcpu_ns", "blocked"},
             {"io_ns", "blocked on I/O"},
             {"gil_ns", "waiting for the GIL"}};

enum { TIMES = ARRAY_SIZE(times) };

struct encoder {
    const struct graph *g;
    struct picture p;
    struct json_writer w;
    uint64_t from_ns;      /* what times are relative to; whole ms */
    int kind[GRAPH_KINDS]; /* places in `kinds`, `relations`; -1: not in use */
    int relation[GRAPH_RELATIONS];
    VEC(const char *) names; /* of attributes */
    int64_t (*ns)[TIMES];    /* of the picture's nodes; -1: none */
    VEC(uint32_t) * members; /* of the picture's nodes that stand for several: the graph's */
    size_t members_left, text_from;
};

/* ---- colours ---- */

static unsigned channel(const char *color, int i)
{
    char hex[3] = {color[1 + 2 * i], color[2 + 2 * i], '\0'};

    return (unsigned)strtoul(hex, NULL, 16);
}

/* Nodes are pastel: on a dark ground as dark, and of the same hue. Edges there are somewhat lighter. */
static unsigned dark_channel(unsigned c, int of_node)
{
    double v = of_node ? 10 + 0.32 * c - 0.5 * (255 - c) : c + 0.3 * (255 - c);

    return v < 14 ? 14 : (unsigned)v;
}

static void put_color(struct buf *out, const char *prefix, const char *name, const char *color, int dark)
{
    int of_node = !strcmp(prefix, "node");

    if (!dark) {
        buf_addf(out, "--%s-%s:%s;", prefix, name, color);
        return;
    }
    buf_addf(out, "--%s-%s:#%02x%02x%02x;", prefix, name, dark_channel(channel(color, 0), of_node),
             dark_channel(channel(color, 1), of_node), dark_channel(channel(color, 2), of_node));
}

void topology_data_css(struct buf *out, int dark)
{
    for (int k = 0; k < GRAPH_KINDS; k++)
        put_color(out, "node", graph_kind((enum graph_kind)k)->name, graph_kind((enum graph_kind)k)->color,
                  dark);
    for (int r = 0; r < GRAPH_RELATIONS; r++)
        put_color(out, "edge", graph_relation((enum graph_relation)r)->name,
                  graph_relation((enum graph_relation)r)->color, dark);
}

/* ---- what was folded ---- */

static void collect_members(struct encoder *x)
{
    size_t n = x->p.nodes.n;

    x->members = mem_calloc(n, sizeof(*x->members));
    x->ns = mem_alloc(n * sizeof(*x->ns));
    memset(x->ns, 0xff, n * sizeof(*x->ns));
    for (uint32_t i = 0; i < x->g->nodes.n; i++) {
        uint32_t at = x->p.shown_by[i];

        if (at == PICTURE_NONE)
            continue;
        *vec_push(&x->members[at]) = i;
        for (size_t t = 0; t < TIMES; t++) {
            int64_t ns = graph_attr_int(&x->g->nodes.a[i]->attrs, times[t].attr, -1);

            if (ns >= 0)
                x->ns[at][t] = x->ns[at][t] < 0 ? ns : x->ns[at][t] + ns;
        }
    }
}

/* ---- numbers ---- */

static void put_point(struct encoder *x, double v)
{
    json_f64(&x->w, NULL, round(v * 10) / 10);
}

static void put_area(struct encoder *x, struct picture_area at)
{
    put_point(x, at.x);
    put_point(x, at.y);
    put_point(x, at.w);
    put_point(x, at.h);
}

static void put_index(struct encoder *x, uint32_t i)
{
    json_i64(&x->w, NULL, i == PICTURE_NONE ? -1 : (int64_t)i);
}

static void put_seen(struct encoder *x, uint64_t first, uint64_t last)
{
    json_u64(&x->w, NULL, first ? first - x->from_ns : 0);
    json_u64(&x->w, NULL, last > x->from_ns ? last - x->from_ns : 0);
}

/* A ms before the first that was seen: 0 is free for what is not known. */
static void find_start(struct encoder *x)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < x->p.nodes.n; i++)
        if (x->p.nodes.a[i].first_ns && x->p.nodes.a[i].first_ns < first)
            first = x->p.nodes.a[i].first_ns;
    for (size_t i = 0; i < x->p.edges.n; i++)
        if (x->p.edges.a[i].first_ns && x->p.edges.a[i].first_ns < first)
            first = x->p.edges.a[i].first_ns;
    x->from_ns = first == UINT64_MAX ? 0 : (first / 1000000 - 1) * 1000000;
}

/* ---- kinds ---- */

static void put_kinds(struct encoder *x)
{
    int n = 0;

    for (int k = 0; k < GRAPH_KINDS; k++)
        x->kind[k] = -1;
    for (size_t i = 0; i < x->p.nodes.n; i++)
        x->kind[x->p.nodes.a[i].of->kind] = 0;
    for (size_t i = 0; i < x->p.boxes.n; i++)
        x->kind[x->p.boxes.a[i].kind] = 0;
    json_array(&x->w, "kinds");
    for (int k = 0; k < GRAPH_KINDS; k++) {
        const struct graph_kind_info *info = graph_kind((enum graph_kind)k);

        if (x->kind[k] < 0)
            continue;
        x->kind[k] = n++;
        json_object(&x->w, NULL);
        json_str(&x->w, "id", info->name);
        json_str(&x->w, "shape", info->shape);
        json_end_object(&x->w);
    }
    json_end_array(&x->w);
}

static void put_relations(struct encoder *x)
{
    int n = 0;

    for (int r = 0; r < GRAPH_RELATIONS; r++)
        x->relation[r] = -1;
    for (size_t i = 0; i < x->p.edges.n; i++)
        x->relation[x->p.edges.a[i].kind] = 0;
    json_array(&x->w, "relations");
    for (int r = 0; r < GRAPH_RELATIONS; r++) {
        const struct graph_relation_info *info = graph_relation((enum graph_relation)r);

        if (x->relation[r] < 0)
            continue;
        x->relation[r] = n++;
        json_object(&x->w, NULL);
        json_str(&x->w, "id", info->name);
        json_bool(&x->w, "directed", info->directed);
        json_str(&x->w, "meaning", info->meaning);
        json_end_object(&x->w);
    }
    json_end_array(&x->w);
}

/* ---- attributes ---- */

static size_t name_index(struct encoder *x, const char *name)
{
    size_t i = 0;

    while (i < x->names.n && strcmp(x->names.a[i], name) != 0)
        i++;
    if (i == x->names.n)
        *vec_push(&x->names) = name;
    return i;
}

static int is_time(const char *name)
{
    for (size_t t = 0; t < TIMES; t++)
        if (!strcmp(name, times[t].attr))
            return 1;
    return !strcmp(name, "cpu_share");
}

static void put_text(struct encoder *x, const char *s)
{
    size_t n = strlen(s);

    if (n <= MAX_VALUE) {
        json_strn(&x->w, NULL, s, n);
        return;
    }
    for (n = MAX_VALUE; n && ((uint8_t)s[n] & 0xc0) == 0x80;) /* not within a character */
        n--;
    char *cut = mem_printf("%.*s\342\200\246", (int)n, s);

    json_str(&x->w, NULL, cut);
    free(cut);
}

static void put_value(struct encoder *x, const struct graph_attr *a)
{
    switch (a->type) {
    case GRAPH_STR:
    case GRAPH_JSON:
        put_text(x, a->str);
        break;
    case GRAPH_INT:
        json_i64(&x->w, NULL, a->i);
        break;
    case GRAPH_F64:
        json_f64(&x->w, NULL, a->f);
        break;
    case GRAPH_BOOL:
        json_bool(&x->w, NULL, (int)a->i);
        break;
    default:
        json_null(&x->w, NULL);
    }
}

static int has_room(const struct encoder *x)
{
    return x->w.out->len - x->text_from < MAX_ROOM;
}

/* Of a node that stands for itself. */
static void put_attrs(struct encoder *x, const struct graph_node *n)
{
    json_array(&x->w, NULL);
    for (size_t i = 0; n && i < n->attrs.list.n; i++) {
        const struct graph_attr *a = &n->attrs.list.a[i];

        if (is_time(a->name) || !has_room(x))
            continue;
        json_u64(&x->w, NULL, name_index(x, a->name));
        put_value(x, a);
    }
    json_end_array(&x->w);
}

/* ---- nodes and edges ---- */

/* Pids of other machines are not those of the profile. */
static int64_t pid_of(const struct encoder *x, const struct graph_node *n)
{
    return n->kind == GRAPH_PROCESS && !strcmp(n->ns, x->g->ns) ? graph_attr_int(&n->attrs, "pid", 0) : 0;
}

static void put_members(struct encoder *x, size_t i)
{
    size_t n = x->members[i].n, put = 0;

    json_array(&x->w, NULL);
    for (size_t k = 0; n > 1 && k < n && x->members_left && has_room(x); k++, put++, x->members_left--) {
        const struct graph_node *m = x->g->nodes.a[x->members[i].a[k]];
        struct buf label = {0};

        graph_node_label(m, &label);
        put_text(x, buf_str(&label));
        json_i64(&x->w, NULL, pid_of(x, m));
        buf_release(&label);
    }
    json_end_array(&x->w);
    json_u64(&x->w, NULL, n > 1 ? n - put : 0);
}

static void put_times(struct encoder *x, size_t i)
{
    if (x->ns[i][0] < 0) {
        json_u64(&x->w, NULL, 0);
        return;
    }
    json_array(&x->w, NULL);
    for (size_t t = 0; t < TIMES; t++)
        json_i64(&x->w, NULL, x->ns[i][t] < 0 ? 0 : x->ns[i][t]);
    json_end_array(&x->w);
}

static void put_node(struct encoder *x, size_t i)
{
    const struct picture_node *n = &x->p.nodes.a[i];

    json_array(&x->w, NULL);
    json_str(&x->w, NULL, n->label);
    put_text(x, n->id);
    json_i64(&x->w, NULL, x->kind[n->of->kind]);
    json_u64(&x->w, NULL, n->count);
    put_index(x, n->box);
    put_area(x, n->at);
    put_seen(x, n->first_ns, n->last_ns);
    json_str(&x->w, NULL, n->count > 1 ? "" : n->of->source);
    put_times(x, i);
    put_attrs(x, n->count > 1 ? NULL : n->of);
    put_members(x, i);
    json_end_array(&x->w);
}

/* What one of those before it has said already. */
static int is_said(const struct picture_edge *e, size_t n, const struct graph_attr *a)
{
    for (size_t i = 0; i < n; i++) {
        const struct graph_attr *said = graph_attr(&e->of[i]->attrs, a->name);

        if (said && said->type == a->type &&
            (a->type == GRAPH_STR ? !strcmp(said->str, a->str) : said->i == a->i))
            return 1;
    }
    return 0;
}

/* Of the first that it stands for. */
static void put_edge_attrs(struct encoder *x, const struct picture_edge *e)
{
    size_t n = e->count < PICTURE_EDGE_OF ? e->count : PICTURE_EDGE_OF;

    json_array(&x->w, NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < e->of[i]->attrs.list.n; k++) {
            const struct graph_attr *a = &e->of[i]->attrs.list.a[k];

            if (!has_room(x) || !strncmp(a->name, "waited_", 7) || is_said(e, i, a))
                continue;
            json_u64(&x->w, NULL, name_index(x, a->name));
            put_value(x, a);
        }
    json_end_array(&x->w);
}

static void put_edge(struct encoder *x, const struct picture_edge *e)
{
    const uint64_t figures[] = {e->bytes_ab, e->bytes_ba, e->messages_ab, e->messages_ba};

    json_array(&x->w, NULL);
    json_i64(&x->w, NULL, x->relation[e->kind]);
    put_index(x, e->a);
    put_index(x, e->b);
    json_u64(&x->w, NULL, e->both != 0);
    json_u64(&x->w, NULL, e->count);
    for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
        json_u64(&x->w, NULL, figures[i]);
    put_seen(x, e->first_ns, e->last_ns);
    json_f64(&x->w, NULL, e->weight); /* NAN is null */
    json_u64(&x->w, NULL, e->waited_a_ns);
    json_u64(&x->w, NULL, e->waited_b_ns);
    json_str(&x->w, NULL, e->label);
    put_edge_attrs(x, e);
    json_end_array(&x->w);
}

static void put_boxes(struct encoder *x)
{
    json_array(&x->w, "boxes");
    for (size_t i = 0; i < x->p.boxes.n; i++) {
        const struct picture_box *b = &x->p.boxes.a[i];

        json_array(&x->w, NULL);
        put_text(x, b->label);
        json_i64(&x->w, NULL, x->kind[b->kind]);
        put_index(x, b->parent);
        put_area(x, b->at);
        json_end_array(&x->w);
    }
    json_end_array(&x->w);
}

/* What the sources of the graph did not see. */
static void put_unseen(struct encoder *x)
{
    json_array(&x->w, "unseen");
    for (size_t i = 0; i < x->g->coverage.n; i++) {
        const struct graph_coverage *c = &x->g->coverage.a[i];
        int failed = !strcmp(c->state, "failed") || !strcmp(c->state, "timed out");
        struct buf line = {0};

        if (!failed && !c->denied)
            continue;
        buf_addf(&line, "%s: %s", c->source, failed ? c->state : "");
        if (c->denied)
            buf_addf(&line, "%s%" PRIu64 " denied", failed ? ", " : "", c->denied);
        if (*c->detail)
            buf_addf(&line, " (%s)", c->detail);
        put_text(x, buf_str(&line));
        buf_release(&line);
    }
    json_end_array(&x->w);
}

static void put_words(struct encoder *x)
{
    json_str(&x->w, "title", x->p.title);
    json_u64(&x->w, "of_nodes", x->p.of_nodes);
    json_u64(&x->w, "of_edges", x->p.of_edges);
    json_f64(&x->w, "width", ceil(x->p.width));
    json_f64(&x->w, "height", ceil(x->p.height));
    json_bool(&x->w, "with_boxes", x->p.with_boxes);
    json_u64(&x->w, "from_ms", x->from_ns / 1000000);
    json_array(&x->w, "notes");
    for (size_t i = 0; i < x->p.notes.n; i++)
        json_str(&x->w, NULL, x->p.notes.a[i]);
    json_end_array(&x->w);
    put_unseen(x);
    json_array(&x->w, "times");
    for (size_t t = 0; t < TIMES; t++)
        json_str(&x->w, NULL, times[t].label);
    json_end_array(&x->w);
}

static void put_names(struct encoder *x)
{
    json_array(&x->w, "names");
    for (size_t i = 0; i < x->names.n; i++)
        json_str(&x->w, NULL, x->names.a[i]);
    json_end_array(&x->w);
}

static void put_all(struct encoder *x)
{
    json_object(&x->w, NULL);
    put_words(x);
    put_kinds(x);
    put_relations(x);
    put_boxes(x);
    x->text_from = x->w.out->len;
    json_array(&x->w, "nodes");
    for (size_t i = 0; i < x->p.nodes.n; i++)
        put_node(x, i);
    json_end_array(&x->w);
    json_array(&x->w, "edges");
    for (size_t i = 0; i < x->p.edges.n; i++)
        put_edge(x, &x->p.edges.a[i]);
    json_end_array(&x->w);
    put_names(x);
    json_end_object(&x->w);
}

/* Without Graphviz there are columns, in which edges say what is in what. */
static void make_picture(struct picture *p, const struct graph *g, struct picture_opts opts, int how)
{
    struct buf none = {0};
    struct err e = {0};

    opts.flat = how != PICTURE_NESTED;
    picture_init(p, g, &opts);
    if (picture_draw(p, (enum picture_layout)how, NULL, &none, &e)) {
        picture_release(p);
        opts.flat = 1;
        picture_init(p, g, &opts);
        picture_note(p, "placed in columns: %s", e.msg);
        picture_columns(p);
    }
    buf_release(&none);
}

void topology_data_encode(const struct graph *g, const struct topology_data_opts *o, struct buf *out)
{
    int how = picture_layout_find(o->layout ? o->layout : "default");
    size_t max = o->max_nodes && o->max_nodes < MAX_NODES ? o->max_nodes : MAX_NODES;
    struct picture_opts opts = {.title = o->title, .equals = o->max_nodes != 0, .max_nodes = max};
    struct encoder x = {.g = g, .w = {.out = out}, .members_left = MAX_MEMBERS};

    make_picture(&x.p, g, opts, how < 0 ? PICTURE_NESTED : how);
    find_start(&x);
    collect_members(&x);
    put_all(&x);
    for (size_t i = 0; i < x.p.nodes.n; i++)
        vec_release(&x.members[i]);
    free(x.members);
    free(x.ns);
    vec_release(&x.names);
    picture_release(&x.p);
}
