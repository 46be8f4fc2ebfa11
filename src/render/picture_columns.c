/* SPDX-License-Identifier: Apache-2.0 */
/* The layout "constraint": columns of hardware, memory, processes with their threads beside them, channels.
 */
#include "render/picture.h"

#include <stdlib.h>

#define GAP_X    70.0
#define GAP_Y    18.0 /* a figure fits in */
#define MARGIN   20.0
#define MAX_HIGH 1500.0 /* a column that is longer goes on beside itself */

enum column { HARDWARE, MEMORY, PROCESSES, CHANNELS, COLUMNS };

struct item {
    uint32_t node;
    long rank;    /* of a process in its job; LONG_MAX: none */
    double order; /* within equal ranks */
};

struct items {
    VEC(struct item) list;
};

struct columns {
    struct picture *p;
    struct items of[COLUMNS];
    uint32_t *next;  /* of a process: its first thread; of a thread: the next; PICTURE_NONE: no more */
    double x, right; /* of the column at hand: its left, and its right so far */
    double y, bottom;
};

static enum column column_of(const struct graph_node *n)
{
    switch (graph_kind(n->kind)->class) {
    case GRAPH_CLASS_HARDWARE:
    case GRAPH_CLASS_ACCELERATOR:
        return HARDWARE;
    case GRAPH_CLASS_MEMORY:
        return MEMORY;
    case GRAPH_CLASS_PLACE:
    case GRAPH_CLASS_COMPUTE:
        return PROCESSES;
    default:
        return CHANNELS;
    }
}

/* Threads that lie in their process's box go beside it. Gives 1 where node i is one. */
static int goes_beside(struct columns *c, const uint32_t *process_of_box, uint32_t i)
{
    const struct picture_node *n = &c->p->nodes.a[i];
    uint32_t owner = n->box == PICTURE_NONE ? PICTURE_NONE : process_of_box[n->box];
    uint32_t *at;

    if (n->of->kind != GRAPH_THREAD || owner == PICTURE_NONE)
        return 0;
    for (at = &c->next[owner]; *at != PICTURE_NONE;)
        at = &c->next[*at];
    *at = i;
    return 1;
}

static void sort_into_columns(struct columns *c)
{
    uint32_t *process_of_box = mem_calloc(c->p->boxes.n, sizeof(*process_of_box));

    for (size_t i = 0; i < c->p->boxes.n; i++)
        process_of_box[i] = PICTURE_NONE;
    for (uint32_t i = 0; i < c->p->nodes.n; i++) {
        const struct picture_node *n = &c->p->nodes.a[i];

        c->next[i] = PICTURE_NONE;
        if (n->of->kind == GRAPH_PROCESS && n->box != PICTURE_NONE && c->p->boxes.a[n->box].of == n->of)
            process_of_box[n->box] = i;
    }
    for (uint32_t i = 0; i < c->p->nodes.n; i++) {
        const struct graph_node *n = c->p->nodes.a[i].of;

        if (!goes_beside(c, process_of_box, i))
            *vec_push(&c->of[column_of(n)].list) =
                (struct item){i, (long)graph_attr_int(&n->attrs, "rank", INT32_MAX), i};
    }
    free(process_of_box);
}

static int item_cmp(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Puts a node at x, y. */
static void put(struct columns *c, uint32_t i, double x, double y)
{
    struct picture_area *at = &c->p->nodes.a[i].at;

    at->x = x + at->w / 2;
    at->y = y + at->h / 2;
    if (x + at->w > c->right)
        c->right = x + at->w;
    if (y + at->h > c->bottom)
        c->bottom = y + at->h;
}

/* A process and, right of it, its threads below each other; gives how high that is. */
static double put_with_threads(struct columns *c, uint32_t i)
{
    const struct picture_area *at = &c->p->nodes.a[i].at;
    double y = c->y;

    put(c, i, c->x, c->y);
    for (uint32_t t = c->next[i]; t != PICTURE_NONE; t = c->next[t]) {
        put(c, t, c->x + at->w + GAP_X / 2, y);
        y += c->p->nodes.a[t].at.h + GAP_Y;
    }
    return y - c->y > at->h + GAP_Y ? y - c->y : at->h + GAP_Y;
}

static void put_column(struct columns *c, struct items *items)
{
    if (!items->list.n)
        return;
    qsort(items->list.a, items->list.n, sizeof(*items->list.a), item_cmp);
    c->y = MARGIN;
    c->right = c->x;
    for (size_t i = 0; i < items->list.n; i++) {
        if (c->y > MAX_HIGH) {
            c->x = c->right + GAP_X / 2;
            c->y = MARGIN;
        }
        c->y += put_with_threads(c, items->list.a[i].node);
    }
    c->x = c->right + GAP_X;
}

/* Channels stand where those are that use them, on the whole. */
static void order_channels(struct columns *c)
{
    const struct picture *p = c->p;
    double *sum = mem_calloc(p->nodes.n, sizeof(*sum));
    uint32_t *count = mem_calloc(p->nodes.n, sizeof(*count));

    for (size_t i = 0; i < p->edges.n; i++) {
        const struct picture_edge *e = &p->edges.a[i];

        sum[e->a] += p->nodes.a[e->b].at.y;
        sum[e->b] += p->nodes.a[e->a].at.y;
        count[e->a]++;
        count[e->b]++;
    }
    for (size_t i = 0; i < c->of[CHANNELS].list.n; i++) {
        struct item *at = &c->of[CHANNELS].list.a[i];

        at->order = count[at->node] ? sum[at->node] / count[at->node] : 0;
    }
    free(sum);
    free(count);
}

void picture_columns(struct picture *p)
{
    struct columns c = {.p = p, .x = MARGIN};

    c.next = mem_calloc(p->nodes.n, sizeof(*c.next));
    sort_into_columns(&c);
    for (int i = 0; i < COLUMNS; i++) {
        if (i == CHANNELS)
            order_channels(&c);
        put_column(&c, &c.of[i]);
        vec_release(&c.of[i].list);
    }
    free(c.next);
    p->width = c.x - GAP_X + MARGIN;
    p->height = c.bottom + MARGIN;
    p->placed = 1;
    p->with_boxes = 0;
}
