/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/compare.h"

#include "analyze/compare_job.h"
#include "analyze/fold.h"
#include "analyze/units.h"
#include "model/graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct compare *compare_new(const struct compare_opts *o)
{
    struct compare *c = mem_calloc(1, sizeof(*c));

    c->o = *o;
    return c;
}

static void release_run(struct compare_run *r)
{
    free(r->label);
    free(r->program);
    free(r->key);
    profile_release(&r->p);
    vec_release(&r->measures);
    for (int l = 0; l < COMPARE_NAMED_LEVELS; l++) {
        vec_release(&r->named[l].list);
        compare_slices_free(r->named[l].slices);
    }
    vec_release(&r->askers);
    vec_release(&r->asked);
    vec_release(&r->parts);
    if (r->topology)
        graph_release(r->topology);
    free(r->topology);
    free(r->process);
    compare_release_seen(r);
}

void compare_free(struct compare *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->runs.n; i++)
        release_run(&c->runs.a[i]);
    vec_release(&c->runs);
    vec_release(&c->keys);
    strtab_release(&c->strings);
    index_release(&c->key_of);
    strtab_release(&c->modules);
    free(c);
}

/* ---- one run ---- */

static int count_units(double *n, const struct session *s, const char *kind, struct err *e)
{
    struct units u = {0};
    struct units_choice choice = {0};
    int rc;

    units_collect(&u, s);
    rc = units_choose_kind(&choice, &u, kind, e);
    *n = 0;
    for (size_t i = 0; !rc && i < choice.chosen.n; i++)
        *n += !u.list.a[choice.chosen.a[i]].open;
    if (!rc && !*n)
        rc = err_set(e, "no %s was over when the recording ended", kind);
    units_choice_release(&choice);
    units_release(&u);
    return rc;
}

/* What the run's weight is divided by. */
static int find_per(struct compare_run *r, const char *per, const struct session *s, struct err *e)
{
    char *end;

    if (!per || !strcmp(per, "sample")) {
        r->per = (double)r->sum;
        return 0;
    }
    if (!strcmp(per, "second")) {
        r->per = s->meta.duration_s;
        return r->per > 0 ? 0 : err_set(e, "--per second: the session says not how long it took");
    }
    errno = 0;
    r->per = strtod(per, &end);
    if (end > per && !*end)
        return r->per > 0 && isfinite(r->per) ? 0 : err_set(e, "--per %s: above 0 is wanted", per);
    return count_units(&r->per, s, per, e) ? err_wrap(e, "--per %s", per) : 0;
}

/* Samples of a clock stand for time; those of an event for events. */
static double sample_ns(const struct session *s)
{
    const char *event = s->meta.event;

    return event && strstr(event, "clock") && s->meta.frequency ? 1e9 / (double)s->meta.frequency : 0;
}

/* Of samples that were imported with a weight it is known how many they were. What was measured, as callgrind
 * counts, has none: it doesn't vary as samples do. */
static double sample_weight(const struct session *s, uint64_t sum)
{
    uint64_t n = store_counter(&s->store, "import.samples", 0);

    if (store_counter(&s->store, "import.measured", 0))
        return 0;
    return n && n < sum ? (double)sum / (double)n : 1;
}

/* mine: s itself, of which only the profile is wanted; NULL: it stays as it is. */
static int add(struct compare *c, int side, const struct session *s, struct session *mine, const char *label,
               struct err *e)
{
    /* The rest is made when all are there: sides may be large. */
    struct fold_opts fold = {.metric = c->o.metric,
                             .samples = c->o.single && !c->o.tree_alone && s->meta.duration_s > 0,
                             .self_alone = 1,
                             .spent = mine ? &mine->store.stacks : NULL};
    struct compare_run r = {.side = side};

    if (fold_profile(&r.p, s, &fold, e))
        return -1;
    r.sum = r.p.metrics.a[0].sum;
    r.ns = s->meta.duration_s > 0 ? (uint64_t)(s->meta.duration_s * 1e9) : 0;
    r.weight = sample_weight(s, r.sum);
    r.scale = strcmp(r.p.metrics.a[0].unit, "ns") ? sample_ns(s) : 1;
    if (find_per(&r, c->o.per, s, e)) {
        release_run(&r);
        return -1;
    }
    if (mine) {
        store_release(&mine->store);
        mine->store = (struct store){0};
    }
    strtab_settle(&r.p.strings);
    r.label = mem_strdup(label);
    compare_take_program(&r, s);
    compare_take_keys(c, &r);
    if (!c->o.tree_alone) {
        compare_take_figures(c, &r, s);
        compare_take_named(c, &r, s);
        compare_take_topology(&r, s);
        compare_take_seen(c, &r, s);
    }
    c->n[side]++;
    *vec_push(&c->runs) = r;
    return 0;
}

int compare_add(struct compare *c, int side, const struct session *s, const char *label, struct err *e)
{
    return add(c, side, s, NULL, label, e);
}

int compare_add_stacks(struct compare *c, int side, struct session *s, const char *label, struct err *e)
{
    return add(c, side, s, s, label, e);
}

/* ---- all of them ---- */

static void base_first(struct compare *c)
{
    struct compare_run *list = mem_alloc(c->runs.n * sizeof(*list));
    size_t n = 0;

    for (int side = 0; side < COMPARISON_SIDES; side++)
        for (size_t i = 0; i < c->runs.n; i++)
            if (c->runs.a[i].side == side)
                list[n++] = c->runs.a[i];
    memcpy(c->runs.a, list, n * sizeof(*list));
    free(list);
}

static int is_share(const struct compare *c)
{
    return !c->o.per || !strcmp(c->o.per, "sample");
}

/* All numbers of a row are of one unit: time where every run's are. */
static void choose_unit(struct compare *c)
{
    struct comparison *out = c->out;
    double first = c->runs.a[0].scale;
    int times = 1, same = 1;

    for (size_t i = 0; i < c->runs.n; i++) {
        times &= c->runs.a[i].scale > 0;
        same &= c->runs.a[i].scale == first;
    }
    c->same_clock = times && same;
    for (int l = 0; l < COMPARISON_LEVELS; l++)
        out->level[l].unit = is_share(c)                        ? COMPARISON_SHARE
                             : times || l >= COMPARISON_KERNELS ? COMPARISON_NS
                                                                : COMPARISON_COUNT;
    if (!is_share(c) && !times && !same)
        *vec_push(&out->notes) = mem_strdup(
            "some runs sampled a clock and others did not: their samples are compared as they are");
    for (size_t i = 0; i < c->runs.n; i++)
        if (is_share(c) || !times)
            c->runs.a[i].scale = 1;
}

static void describe_sides(struct compare *c)
{
    static const char *const labels[] = {"base", "new"};
    struct comparison *out = c->out;

    for (int side = 0; side < COMPARISON_SIDES; side++)
        out->side[side].label = labels[side];
    for (size_t i = 0; i < c->runs.n; i++) {
        struct comparison_side *side = &out->side[c->runs.a[i].side];

        *vec_push(&side->runs) = mem_strdup(c->runs.a[i].label);
        side->weight += c->runs.a[i].sum;
        side->per += c->runs.a[i].per;
    }
    for (int side = 0; side < COMPARISON_SIDES; side++)
        if (!out->side[side].weight && out->side[!side].weight)
            *vec_push(&out->notes) =
                mem_printf("the %s side has no %s of %s: what the other one has is neither new nor gone",
                           labels[side], out->unit, out->metric);
}

static void describe(struct compare *c)
{
    struct comparison *out = c->out;
    const struct profile_metric *m = &c->runs.a[0].p.metrics.a[0];
    size_t least = c->n[0] < c->n[1] ? c->n[0] : c->n[1];

    out->metric = mem_strdup(m->name);
    out->unit = mem_strdup(m->unit);
    out->per = mem_strdup(c->o.per ? c->o.per : "sample");
    out->what = c->o.self ? "self" : "total";
    out->alpha = c->o.alpha;
    out->min_share = c->o.min_share;
    out->fail_above = c->o.fail_above;
    out->certainty = least < 2 ? "low" : least < 3 ? "medium" : "high";
    out->overdispersion = NAN;
    describe_sides(c);
    compare_note_seen(c);
}

int compare_finish(struct compare *c, struct comparison *out, struct err *e)
{
    if (!c->n[COMPARISON_BASE] || !c->n[COMPARISON_NEW])
        return err_set(e, "the %s side has no run", c->n[COMPARISON_BASE] ? "new" : "base");
    c->out = out;
    c->freedom = (double)c->runs.n - 2;
    base_first(c);
    describe(c);
    choose_unit(c);
    compare_match_moved(c);
    if (!c->o.tree_alone)
        compare_make_rows(c);
    if (c->o.tree)
        compare_make_tree(c);
    if (!c->o.tree_alone) {
        compare_make_named(c);
        compare_make_figures(c);
        compare_make_topology(c);
    }
    compare_judge(c);
    return 0;
}
