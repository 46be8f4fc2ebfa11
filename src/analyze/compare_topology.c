/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and edges that every run of one side has, and none of the other. */
#include "analyze/compare_job.h"

#include "analyze/stats.h"
#include "analyze/topology.h"
#include "analyze/topology_diff.h"
#include "analyze/topology_recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void compare_take_topology(struct compare_run *run, const struct session *s)
{
    struct graph whole;
    const char *name;

    if (!topology_has(s))
        return;
    graph_init(&whole);
    if (!topology_read(s, &whole, NULL)) {
        run->topology = mem_calloc(1, sizeof(*run->topology));
        graph_init(run->topology);
        topology_recorded(s, &whole, run->topology);
        name = topology_recorded_name(s, &whole);
        run->process = name ? mem_strdup(name) : NULL;
    }
    graph_release(&whole);
}

/* Programs of several names are compared as one: so are their processes and threads. */
static void name_alike(struct compare_run *run, const char *instead)
{
    for (size_t i = 0; run->process && i < run->topology->nodes.n; i++) {
        struct graph_node *n = run->topology->nodes.a[i];
        const char *name = graph_attr_str(&n->attrs, "name", "");

        if ((n->kind == GRAPH_PROCESS || n->kind == GRAPH_THREAD) && !strcmp(name, run->process))
            graph_set_str(run->topology, &n->attrs, "name", instead);
    }
}

static void name_all_alike(struct compare *c)
{
    const char *last = c->runs.a[c->runs.n - 1].process;
    int same = 1;

    for (size_t i = 0; i < c->runs.n; i++)
        same &= !last || !c->runs.a[i].process || !strcmp(c->runs.a[i].process, last);
    for (size_t i = 0; !same && i < c->runs.n; i++)
        name_alike(&c->runs.a[i], "the program");
}

/* In how many of the pairs of a run of each side something is on one side alone. */
struct counts {
    struct strtab lines; /* "+ node ..." */
    VEC(size_t) times;   /* of line i + 1 */
    size_t pairs;
};

static void count(struct counts *x, char *line)
{
    uint32_t id = strtab_add(&x->lines, line);

    while (x->times.n < id)
        *vec_push(&x->times) = 0;
    x->times.a[id - 1]++;
    free(line);
}

/* What carries more or less differs in every two runs. */
static void count_pair(struct counts *x, const struct graph *base, const struct graph *new)
{
    static const char marks[] = {[TOPOLOGY_GONE] = '-', [TOPOLOGY_NEW] = '+'};
    struct topology_diff d = {0};

    topology_diff(&d, base, new, 1);
    for (size_t k = 0; k < ARRAY_SIZE(marks); k++)
        for (size_t i = 0; i < d.nodes[k].list.n; i++)
            count(x, mem_printf("%c node %s", marks[k], d.nodes[k].list.a[i].name));
    for (size_t k = 0; k < ARRAY_SIZE(marks); k++)
        for (size_t i = 0; i < d.edges[k].list.n; i++)
            count(x, mem_printf("%c edge %s", marks[k], d.edges[k].list.a[i].name));
    topology_diff_release(&d);
    x->pairs++;
}

/* What differs between all pairs is in every run of one side and in none of the other: by chance, were the
 * runs alike, in one of C(n, n_base) orders of them, and as often the other way round. */
static void note_chance(struct compare *c)
{
    double p = fmin(1, 2 / stats_choose((unsigned)c->runs.n, (unsigned)c->n[COMPARISON_BASE]));

    if (c->freedom > 0)
        *vec_push(&c->out->notes) = mem_printf(
            "topology: what every run of one side has and none of the other; of something that has "
            "nothing to do with the sides that is so with p %.2g",
            p);
}

void compare_make_topology(struct compare *c)
{
    struct counts x = {0};

    name_all_alike(c);
    for (size_t i = 0; i < c->runs.n; i++)
        for (size_t k = 0; k < c->runs.n; k++) {
            const struct compare_run *a = &c->runs.a[i], *b = &c->runs.a[k];

            if (a->side == COMPARISON_BASE && b->side == COMPARISON_NEW && a->topology && b->topology)
                count_pair(&x, a->topology, b->topology);
        }
    for (uint32_t id = 1; id <= x.times.n; id++)
        if (x.times.a[id - 1] == x.pairs)
            *vec_push(&c->out->topology) = mem_strdup(strtab_get(&x.lines, id));
    if (c->out->topology.n)
        note_chance(c);
    strtab_release(&x.lines);
    vec_release(&x.times);
}
