/* SPDX-License-Identifier: Apache-2.0 */
#include "render/picture_route.h"

#include "base/map.h"

#include <math.h>
#include <stdlib.h>

#define BESIDE 9.0   /* points between two edges of the same nodes */
#define ROUND  120.0 /* points that an edge goes out of its way for a node */
#define MARGIN 3.0   /* points that it keeps away from one */
#define BEYOND 30.0  /* points that it may leave the area of all nodes by */

/* Looks of a point of an edge at a node: a second of a 2020s CPU. Beyond that, edges go straight. */
#define MOST_LOOKS 300e6

static const double bends[] = {0, 22, -22, 44, -44, 75, -75, 115, -115, 165, -165, 230, -230};
static const double probes[] = {0.12, 0.2, 0.28, 0.36, 0.44, 0.5, 0.56, 0.64, 0.72, 0.8, 0.88};

struct routing {
    const struct picture *p;
    const struct picture_area *at;
    double left, top, right, bottom; /* of all nodes */
    int around;
};

struct picture_point picture_arc_point(const struct picture_arc *arc, double t)
{
    const double s = 1 - t;

    return (struct picture_point){s * s * arc->x0 + 2 * s * t * arc->x1 + t * t * arc->x2,
                                  s * s * arc->y0 + 2 * s * t * arc->y1 + t * t * arc->y2};
}

/* Between the middles of two nodes; its own middle is `bend` beside the straight line, on the same side
 * whichever way it goes. */
static struct picture_arc make_arc(const struct routing *r, uint32_t a, uint32_t b, double bend)
{
    const struct picture_area *x = &r->at[a], *y = &r->at[b];
    const double dx = y->x - x->x, dy = y->y - x->y, length = fmax(hypot(dx, dy), 1);
    const double side = a < b ? 2 * bend : -2 * bend;

    return (struct picture_arc){
        x->x, x->y, (x->x + y->x) / 2 - dy / length * side, (x->y + y->y) / 2 + dx / length * side,
        y->x, y->y};
}

static int is_inside(const struct picture_area *n, struct picture_point at, double margin)
{
    return fabs(at.x - n->x) < n->w / 2 + margin && fabs(at.y - n->y) < n->h / 2 + margin;
}

static size_t count_hits(const struct routing *r, const struct picture_arc *arc, uint32_t a, uint32_t b)
{
    size_t hits = 0;

    for (uint32_t i = 0; i < r->p->nodes.n; i++) {
        if (i == a || i == b)
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(probes); k++)
            if (is_inside(&r->at[i], picture_arc_point(arc, probes[k]), MARGIN)) {
                hits++;
                break;
            }
    }
    return hits;
}

static void find_hull(struct routing *r)
{
    r->left = r->top = INFINITY;
    r->right = r->bottom = -INFINITY;
    for (size_t i = 0; i < r->p->nodes.n; i++) {
        r->left = fmin(r->left, r->at[i].x - r->at[i].w / 2);
        r->right = fmax(r->right, r->at[i].x + r->at[i].w / 2);
        r->top = fmin(r->top, r->at[i].y - r->at[i].h / 2);
        r->bottom = fmax(r->bottom, r->at[i].y + r->at[i].h / 2);
    }
}

/* It leaves the picture, or the box around all. */
static int is_outside(const struct routing *r, const struct picture_arc *arc)
{
    const struct picture_point m = picture_arc_point(arc, 0.5);

    return m.x < r->left - BEYOND || m.x > r->right + BEYOND || m.y < r->top - BEYOND ||
           m.y > r->bottom + BEYOND;
}

/* Nodes below each other have the length of their lines in each other's way. */
static double most_bend(const struct routing *r, uint32_t a, uint32_t b)
{
    const struct picture_area *x = &r->at[a], *y = &r->at[b];
    const double length = hypot(y->x - x->x, y->y - x->y);

    return fmax(length * 0.6, fabs(y->x - x->x) < fmax(x->w, y->w) / 2 ? fmax(x->w, y->w) : 30);
}

/* Around what lies in between, unless that is a long way round. */
static double best_bend(const struct routing *r, uint32_t a, uint32_t b)
{
    double best = 0, least = INFINITY;

    for (size_t i = 0; i < ARRAY_SIZE(bends) && least > fabs(bends[i]); i++) {
        const struct picture_arc arc = make_arc(r, a, b, bends[i]);
        const double cost =
            (double)(count_hits(r, &arc, a, b) + is_outside(r, &arc)) * ROUND + fabs(bends[i]);

        if (fabs(bends[i]) > most_bend(r, a, b))
            break;
        if (cost < least) {
            best = bends[i];
            least = cost;
        }
    }
    return best;
}

/* Where the arc leaves a node, between a parameter inside of it and one outside. */
static double crossing(const struct picture_arc *arc, const struct picture_area *n, double inside,
                       double outside)
{
    for (int i = 0; i < 18; i++) {
        const double middle = (inside + outside) / 2;

        if (is_inside(n, picture_arc_point(arc, middle), 1))
            inside = middle;
        else
            outside = middle;
    }
    return outside;
}

static struct picture_arc cut(const struct picture_arc *arc, double from, double to)
{
    const struct picture_point a = picture_arc_point(arc, from), b = picture_arc_point(arc, to);
    const double p0 = (1 - from) * (1 - to), p1 = from + to - 2 * from * to, p2 = from * to;

    return (struct picture_arc){
        a.x, a.y, p0 * arc->x0 + p1 * arc->x1 + p2 * arc->x2, p0 * arc->y0 + p1 * arc->y1 + p2 * arc->y2,
        b.x, b.y};
}

static uint64_t pair_of(const struct picture_edge *e)
{
    return e->a < e->b ? (uint64_t)e->a << 32 | e->b : (uint64_t)e->b << 32 | e->a;
}

/* Of each pair of nodes: how many edges it has, how many have got their way, and which bend that is. */
struct pair {
    double bend;
    uint32_t n, done;
};

struct pairs {
    struct map at; /* index + 1 */
    VEC(struct pair) list;
};

static struct pair *pair_at(struct pairs *x, const struct picture_edge *e)
{
    uint64_t *slot = map_put(&x->at, pair_of(e));

    if (!*slot) {
        *vec_push(&x->list) = (struct pair){0};
        *slot = x->list.n;
    }
    return &x->list.a[*slot - 1];
}

struct picture_arc *picture_route(const struct picture *p, const struct picture_area *at)
{
    struct picture_arc *arcs = mem_calloc(p->edges.n + 1, sizeof(*arcs));
    struct routing r = {.p = p,
                        .at = at,
                        .around = (double)p->nodes.n * (double)p->edges.n * ARRAY_SIZE(probes) < MOST_LOOKS};
    struct pairs pairs = {0};

    find_hull(&r);
    for (size_t i = 0; i < p->edges.n; i++)
        pair_at(&pairs, &p->edges.a[i])->n++;
    for (size_t i = 0; i < p->edges.n; i++) {
        const struct picture_edge *e = &p->edges.a[i];
        struct pair *k = pair_at(&pairs, e);
        struct picture_arc arc;

        if (!k->done && r.around)
            k->bend = best_bend(&r, e->a, e->b);
        arc = make_arc(&r, e->a, e->b, k->bend + (k->done++ - (k->n - 1) / 2.0) * BESIDE);
        arcs[i] = cut(&arc, crossing(&arc, &at[e->a], 0, 0.5), crossing(&arc, &at[e->b], 1, 0.5));
    }
    map_release(&pairs.at);
    vec_release(&pairs.list);
    return arcs;
}

/* ---- labels ---- */

static double covered(const struct picture_area *x, const struct picture_area *y)
{
    const double w = (x->w + y->w) / 2 - fabs(x->x - y->x), h = (x->h + y->h) / 2 - fabs(x->y - y->y);

    return w > 0 && h > 0 ? w * h : 0;
}

/* Two labels cannot be read where they cover each other; a node still can. */
static double covers(const struct picture_labels *l, const struct picture_area *at)
{
    double sum = 0;

    for (size_t i = 0; i < l->taken.n; i++)
        sum += 3 * covered(at, &l->taken.a[i]);
    for (size_t i = 0; i < l->nnodes; i++)
        sum += covered(at, &l->nodes[i]);
    return sum;
}

double picture_labels_put(struct picture_labels *l, const struct picture_arc *arc, double w, double h)
{
    static const double places[] = {0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82};
    struct picture_area best = {0};
    double least = INFINITY, where = 0.5;

    for (size_t i = 0; i < ARRAY_SIZE(places) && least > 0; i++) {
        const struct picture_point p = picture_arc_point(arc, places[i]);
        const struct picture_area at = {p.x, p.y, w, h};
        const double cost = covers(l, &at);

        if (cost < least) {
            least = cost;
            best = at;
            where = places[i];
        }
    }
    *vec_push(&l->taken) = best;
    return where;
}

void picture_labels_release(struct picture_labels *l)
{
    vec_release(&l->taken);
}
