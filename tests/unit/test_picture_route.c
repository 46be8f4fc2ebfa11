/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of edges and places of labels: around nodes, side by side, and legible. */
#include "render/picture_route.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void add_node(struct picture *p, double x, double y)
{
    *vec_push(&p->nodes) = (struct picture_node){.at = {x, y, 100, 20}};
}

static void add_edge(struct picture *p, uint32_t a, uint32_t b)
{
    *vec_push(&p->edges) = (struct picture_edge){.a = a, .b = b};
}

static struct picture_arc *route(const struct picture *p, struct picture_area **at)
{
    *at = calloc(p->nodes.n, sizeof(**at));
    for (size_t i = 0; i < p->nodes.n; i++)
        (*at)[i] = p->nodes.a[i].at;
    return picture_route(p, *at);
}

static int crosses(const struct picture_arc *arc, const struct picture_area *n)
{
    for (double t = 0; t <= 1; t += 0.01) {
        const struct picture_point p = picture_arc_point(arc, t);

        if (fabs(p.x - n->x) < n->w / 2 && fabs(p.y - n->y) < n->h / 2)
            return 1;
    }
    return 0;
}

static void finish(struct picture *p, struct picture_area *at, struct picture_arc *arcs)
{
    free(at);
    free(arcs);
    vec_release(&p->nodes);
    vec_release(&p->edges);
}

static void around(double dx, double dy)
{
    struct picture p = {0};
    struct picture_area *at;
    struct picture_arc *arcs;

    for (int i = 0; i < 3; i++)
        add_node(&p, i * dx, i * dy);
    add_edge(&p, 0, 2);
    arcs = route(&p, &at);
    assert_false(crosses(&arcs[0], &at[1]));
    assert_true(fabs(arcs[0].x0 - at[0].x) <= 52 && fabs(arcs[0].y0 - at[0].y) <= 12); /* border to border */
    assert_true(fabs(arcs[0].x2 - at[2].x) <= 52 && fabs(arcs[0].y2 - at[2].y) <= 12);
    finish(&p, at, arcs);
}

static void test_around_what_is_between(void **state)
{
    (void)state;
    around(250, 0); /* in a row */
    around(0, 60);  /* in a column, as sockets are */
}

static void test_side_by_side(void **state)
{
    struct picture p = {0};
    struct picture_area *at;
    struct picture_arc *arcs;
    struct picture_point m[3];

    (void)state;
    add_node(&p, 0, 0);
    add_node(&p, 300, 0);
    add_edge(&p, 0, 1);
    add_edge(&p, 1, 0); /* the other way is another way, too */
    add_edge(&p, 0, 1);
    arcs = route(&p, &at);
    for (int i = 0; i < 3; i++)
        m[i] = picture_arc_point(&arcs[i], 0.5);
    for (int i = 1; i < 3; i++)
        assert_true(fabs(m[i].y - m[i - 1].y) > 8);
    finish(&p, at, arcs);
}

/* Five edges of two nodes, 9 points apart, with labels that are as wide as the way is long. */
static void test_labels_keep_apart(void **state)
{
    struct picture p = {0};
    struct picture_area *at;
    struct picture_arc *arcs;
    struct picture_labels labels = {0};

    (void)state;
    add_node(&p, 0, 0);
    add_node(&p, 300, 120); /* labels lie across, edges do not */
    for (int i = 0; i < 5; i++)
        add_edge(&p, 0, 1);
    arcs = route(&p, &at);
    labels = (struct picture_labels){.nodes = at, .nnodes = 2};
    for (int i = 0; i < 5; i++)
        picture_labels_put(&labels, &arcs[i], 90, 9);
    assert_int_equal(labels.taken.n, 5);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++) {
            const struct picture_area *x = &labels.taken.a[i], *y = &labels.taken.a[k];

            assert_true(fabs(x->x - y->x) >= 90 || fabs(x->y - y->y) >= 9);
        }
    picture_labels_release(&labels);
    finish(&p, at, arcs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_around_what_is_between),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_labels_keep_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
