/* SPDX-License-Identifier: Apache-2.0 */
#include "render/picture.h"

#include "base/units.h"
#include "render/picture_build.h"
#include "render/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of text at 10 points, in points: what common sans-serif fonts need at most. */
#define CHAR_WIDTH  6.1
#define LINE_HEIGHT 13.0
#define MAX_COLUMNS 28

void picture_note(struct picture *p, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    *vec_push(&p->notes) = buf_detach(&b);
}

/* ---- labels ---- */

/* East Asian characters take two columns: nearly all from U+3000 on. */
static size_t columns(const char *s, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((uint8_t)s[i] & 0xc0) != 0x80 ? (uint8_t)s[i] >= 0xe3 ? 2 : 1 : 0;
    return count;
}

static void set_size(struct picture_node *n)
{
    size_t widest = 4, lines = 1;
    const char *line = n->label;

    for (const char *end; (end = strchr(line, '\n')); line = end + 1, lines++)
        if (columns(line, (size_t)(end - line)) > widest)
            widest = columns(line, (size_t)(end - line));
    if (columns(line, strlen(line)) > widest)
        widest = columns(line, strlen(line));
    n->at.w = ceil((double)widest * CHAR_WIDTH + 16);
    n->at.h = (double)lines * LINE_HEIGHT + 9;
}

/* "Numa numa0": what kind it is stands above, where the line would be long. */
static void add_single(const struct graph_node *n, struct buf *out)
{
    const struct graph_kind_info *k = graph_kind(n->kind);
    size_t abbr = strlen(k->abbr);
    struct buf label = {0};
    const char *rest;

    graph_node_label(n, &label);
    rest = buf_str(&label);
    if (!strncmp(rest, k->abbr, abbr) && rest[abbr] == ' ') {
        rest += abbr + 1;
        if (n->kind == GRAPH_OTHER || strncasecmp(rest, k->abbr, abbr) != 0)
            buf_addf(out, "%s%c", k->abbr, strlen(rest) + abbr > MAX_COLUMNS / 2 ? '\n' : ' ');
    }
    text_clean(rest, MAX_COLUMNS, out);
    buf_release(&label);
}

/* "worker-* ×12": what the names of those it stands for have in common. */
static void add_many(const struct graph_node *n, uint32_t count, uint32_t common, struct buf *out)
{
    struct buf name = {0};
    char number[32];

    crowd_name(n, &name);
    if (!common) {
        buf_clear(&name);
        buf_addstr(&name, graph_kind(n->kind)->abbr);
    } else if (common < name.len) {
        name.len = common;
        buf_addch(&name, '*');
    }
    text_clean(buf_str(&name), MAX_COLUMNS - 6, out);
    buf_addf(out, " ×%s", units_count(number, sizeof(number), count));
    buf_release(&name);
}

/* Which of a job's processes it is. */
static void add_rank(const struct graph_node *n, struct buf *out)
{
    int64_t rank = graph_attr_int(&n->attrs, "rank", -1), of = graph_attr_int(&n->attrs, "world_size", 0);

    if (n->kind != GRAPH_PROCESS || rank < 0)
        return;
    buf_addf(out, "\nrank %lld", (long long)rank);
    if (of > 0)
        buf_addf(out, " of %lld", (long long)of);
}

/* Of node i, for which `inside` of its threads are not shown. */
static char *make_label(const struct picture_build *b, uint32_t i, uint32_t inside)
{
    char number[32];
    struct buf out = {0};

    if (b->same[i] > 1) {
        add_many(b->g->nodes.a[i], b->same[i], b->common[i], &out);
    } else {
        add_single(b->g->nodes.a[i], &out);
        add_rank(b->g->nodes.a[i], &out);
    }
    if (inside)
        buf_addf(&out, "\n+ %s thread%s", units_count(number, sizeof(number), inside), inside > 1 ? "s" : "");
    return buf_detach(&out);
}

/* ---- boxes ---- */

static uint32_t add_box(struct picture_build *b, const struct graph_node *of, char *label, uint32_t parent)
{
    *vec_push(&b->p->boxes) =
        (struct picture_box){.of = of, .kind = of ? of->kind : GRAPH_HOST, .label = label, .parent = parent};
    return (uint32_t)b->p->boxes.n - 1;
}

/* The box of the machine whose namespace that is; PICTURE_NONE where there is nothing to tell of it. */
static uint32_t machine_box(struct picture_build *b, const char *ns)
{
    const char *name = !strcmp(ns, GRAPH_LOCAL) ? b->g->host : ns;
    struct buf label = {0};

    if (!*name)
        return PICTURE_NONE;
    text_clean(name, 60, &label);
    for (uint32_t i = 0; i < b->p->boxes.n; i++)
        if (!b->p->boxes.a[i].of && !strcmp(b->p->boxes.a[i].label, buf_str(&label))) {
            buf_release(&label);
            return i;
        }
    return add_box(b, NULL, buf_detach(&label), PICTURE_NONE);
}

static uint32_t box_around(struct picture_build *b, uint32_t i);

/* The inside of node i. */
static uint32_t box_of(struct picture_build *b, uint32_t i)
{
    const struct graph_node *n = b->g->nodes.a[i];

    if (b->box_of[i] == PICTURE_NONE) {
        uint32_t parent = box_around(b, i);
        char *label = n->kind == GRAPH_PROCESS ? mem_strdup("") : make_label(b, i, 0);

        for (char *c = label; (c = strchr(c, '\n'));)
            *c = ' ';
        b->box_of[i] = add_box(b, n, label, parent);
    }
    return b->box_of[i];
}

static uint32_t box_around(struct picture_build *b, uint32_t i)
{
    const struct graph_node *n = b->g->nodes.a[i];

    if (b->crowd.parent[i] != CROWD_NONE)
        return box_of(b, b->crowd.rep[b->crowd.parent[i]]);
    return n->kind == GRAPH_HOST ? PICTURE_NONE : machine_box(b, n->ns);
}

static int is_shown(const struct picture_build *b, uint32_t i)
{
    return b->crowd.rep[i] == i;
}

/* Peers elsewhere are in no box: sockets that nobody here has, and that no namespace here does, as those of
 * processes that may not be looked at. */
static int is_here(const struct graph_node *n)
{
    return *n->instance || !strcmp(graph_attr_str(&n->attrs, "state", ""), "listen");
}

static uint8_t *find_peers(const struct picture_build *b)
{
    uint8_t *held = mem_calloc(b->g->nodes.n, 1);

    for (size_t i = 0; i < b->g->edges.n; i++) {
        const struct graph_edge *e = b->g->edges.a[i];

        if (e->kind == GRAPH_EDGE_BELONG)
            held[e->a->index] = 1;
        else if (e->kind != GRAPH_EDGE_CONNECT)
            held[e->b->index] = 1;
    }
    for (size_t i = 0; i < b->g->nodes.n; i++)
        held[i] = b->g->nodes.a[i]->kind == GRAPH_SOCKET && !held[i] && !is_here(b->g->nodes.a[i]);
    return held;
}

/* ---- nodes ---- */

/* Whether any edge of a place's node says more than what is in it. */
static uint8_t *find_talking(const struct picture_build *b)
{
    uint8_t *talks = mem_calloc(b->g->nodes.n, 1);

    for (size_t i = 0; i < b->g->edges.n; i++) {
        const struct graph_edge *e = b->g->edges.a[i];
        uint32_t x = b->crowd.rep[e->a->index], y = b->crowd.rep[e->b->index];

        if (x != y && !crowd_is_nesting(&b->crowd, e))
            talks[x] = talks[y] = 1;
    }
    return talks;
}

static void seen(const struct graph_node *n, struct picture_node *shown)
{
    if (n->first_ns && (!shown->first_ns || n->first_ns < shown->first_ns))
        shown->first_ns = n->first_ns;
    if (n->last_ns > shown->last_ns)
        shown->last_ns = n->last_ns;
}

static void add_node(struct picture_build *b, const struct graph_node *n, uint32_t box)
{
    struct buf id = {0};

    text_clean(graph_order_id(&b->order, n), 0, &id);
    b->node_of[n->index] = (uint32_t)b->p->nodes.n;
    *vec_push(&b->p->nodes) = (struct picture_node){.of = n, .id = buf_detach(&id), .box = box};
}

/* When they were seen, and their labels. */
static void finish_nodes(struct picture_build *b)
{
    uint32_t *inside = mem_calloc(b->p->nodes.n, sizeof(*inside));

    for (uint32_t i = 0; i < b->g->nodes.n; i++) {
        uint32_t at = b->node_of[b->crowd.rep[i]];
        struct picture_node *shown;

        if (at == PICTURE_NONE)
            continue;
        shown = &b->p->nodes.a[at];
        seen(b->g->nodes.a[i], shown);
        inside[at] += b->g->nodes.a[i]->kind != shown->of->kind;
    }
    for (size_t i = 0; i < b->p->nodes.n; i++) {
        struct picture_node *n = &b->p->nodes.a[i];

        n->count = b->same[n->of->index];
        n->label = make_label(b, n->of->index, inside[i]);
        set_size(n);
    }
    free(inside);
}

static void build_nodes(struct picture_build *b)
{
    uint8_t *peer = find_peers(b), *talks = find_talking(b);

    for (size_t i = 0; i < b->order.nodes.n; i++) { /* boxes first: who has one is in it */
        uint32_t n = b->order.nodes.a[i]->index;

        if (is_shown(b, n) && b->crowd.parent[n] != CROWD_NONE)
            box_of(b, b->crowd.rep[b->crowd.parent[n]]);
    }
    for (size_t i = 0; i < b->order.nodes.n; i++) {
        const struct graph_node *n = b->order.nodes.a[i];
        uint32_t own = b->box_of[n->index];

        if (!is_shown(b, n->index))
            continue;
        if (own != PICTURE_NONE && !b->flat && n->kind != GRAPH_PROCESS && !talks[n->index])
            continue; /* its box says it all */
        add_node(b, n, own != PICTURE_NONE ? own : peer[n->index] ? PICTURE_NONE : box_around(b, n->index));
    }
    finish_nodes(b);
    free(peer);
    free(talks);
}

/* ---- what was folded ---- */

static void note_folds(struct picture_build *b)
{
    static const char *const what[CROWD_STEPS] = {
        [CROWD_EQUAL] = "of one name with the same neighbours",
        [CROWD_THREADS] = "threads into their processes",
        [CROWD_NAMES] = "of one name in one place",
        [CROWD_PLACES] = "containers and the like in one place",
        [CROWD_KINDS] = "of one kind in one place",
        [CROWD_ALL] = "of one kind",
    };
    char all[32], shown[32];
    struct buf out = {0};

    for (int i = 0; i < CROWD_STEPS; i++)
        if (b->crowd.folded[i])
            buf_addf(&out, "%s%s %s", out.len ? ", " : "", units_count(all, sizeof(all), b->crowd.folded[i]),
                     what[i]);
    if (out.len)
        picture_note(b->p, "%s nodes folded into %s: %s", units_count(all, sizeof(all), b->g->nodes.n),
                     units_count(shown, sizeof(shown), b->crowd.shown), buf_str(&out));
    buf_release(&out);
}

static uint32_t *all_none(size_t n)
{
    uint32_t *a = mem_calloc(n, sizeof(*a));

    memset(a, 0xff, n * sizeof(*a)); /* PICTURE_NONE */
    return a;
}

/* How many bytes of whole characters two names have in common at their start. */
static uint32_t common_start(const char *a, const char *b, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && a[i] && a[i] == b[i])
        i++;
    if (a[i] == b[i])
        return i;
    while (i && ((uint8_t)a[i] & 0xc0) == 0x80)
        i--;
    return i;
}

static void count_same(struct picture_build *b)
{
    b->same = mem_calloc(b->g->nodes.n, sizeof(*b->same));
    b->common = all_none(b->g->nodes.n);
    for (size_t i = 0; i < b->g->nodes.n; i++) {
        uint32_t rep = b->crowd.rep[i];
        struct buf name = {0}, first = {0};

        if (b->g->nodes.a[i]->kind != b->g->nodes.a[rep]->kind)
            continue;
        b->same[rep]++;
        crowd_name(b->g->nodes.a[i], &name);
        crowd_name(b->g->nodes.a[rep], &first);
        if (b->common[rep] > first.len)
            b->common[rep] = (uint32_t)first.len;
        b->common[rep] = common_start(buf_str(&name), buf_str(&first), b->common[rep]);
        buf_release(&name);
        buf_release(&first);
    }
}

/* Nodes and edges with at most max nodes; gives how many edges are too many. */
static size_t build(struct picture_build *b, size_t max)
{
    size_t too_many;

    crowd_init(&b->crowd, b->g, &b->order, max);
    if (b->equals && max)
        crowd_fold_equals(&b->crowd);
    b->box_of = all_none(b->g->nodes.n);
    b->node_of = all_none(b->g->nodes.n);
    count_same(b);
    build_nodes(b);
    too_many = picture_build_edges(b);
    return max ? too_many : 0;
}

static void build_release(struct picture_build *b)
{
    free(b->same);
    free(b->common);
    free(b->box_of);
    free(b->node_of);
    crowd_release(&b->crowd);
}

static void tell_shown(struct picture_build *b)
{
    b->p->shown_by = mem_alloc(b->g->nodes.n * sizeof(*b->p->shown_by));
    for (size_t i = 0; i < b->g->nodes.n; i++)
        b->p->shown_by[i] = b->node_of[b->crowd.rep[i]];
}

void picture_init(struct picture *p, const struct graph *g, const struct picture_opts *opts)
{
    struct picture_build b = {.p = p, .g = g, .flat = opts->flat, .equals = opts->equals};
    struct buf title = {0};
    size_t too_many;

    *p = (struct picture){.of_nodes = g->nodes.n, .of_edges = g->edges.n};
    graph_order_init(&b.order, g);
    too_many = build(&b, opts->max_nodes);
    note_folds(&b);
    picture_finish_edges(&b, too_many);
    tell_shown(&b);
    text_clean(opts->title ? opts->title : "topology", 120, &title);
    p->title = buf_detach(&title);
    build_release(&b);
    graph_order_release(&b.order);
}

static void clear(struct picture *p)
{
    for (size_t i = 0; i < p->boxes.n; i++)
        free(p->boxes.a[i].label);
    for (size_t i = 0; i < p->nodes.n; i++) {
        free(p->nodes.a[i].id);
        free(p->nodes.a[i].label);
    }
    for (size_t i = 0; i < p->edges.n; i++)
        free(p->edges.a[i].label);
    for (size_t i = 0; i < p->notes.n; i++)
        free(p->notes.a[i]);
    vec_clear(&p->boxes);
    vec_clear(&p->nodes);
    vec_clear(&p->edges);
    vec_clear(&p->notes);
}

void picture_release(struct picture *p)
{
    clear(p);
    free(p->title);
    free(p->shown_by);
    vec_release(&p->boxes);
    vec_release(&p->nodes);
    vec_release(&p->edges);
    vec_release(&p->notes);
}

/* ---- what renderers share ---- */

int picture_layout_find(const char *name)
{
    static const char *const names[] = {"default", "constraint", "gephi"};

    for (int i = 0; i < (int)ARRAY_SIZE(names); i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

const char *picture_color(const struct picture_node *n)
{
    return graph_kind(n->of->kind)->color;
}

int picture_has_kind(const struct picture *p, enum graph_kind k)
{
    for (size_t i = 0; i < p->nodes.n; i++)
        if (p->nodes.a[i].of->kind == k)
            return 1;
    return 0;
}

int picture_has_relation(const struct picture *p, enum graph_relation r)
{
    for (size_t i = 0; i < p->edges.n; i++)
        if (p->edges.a[i].kind == r)
            return 1;
    return 0;
}
