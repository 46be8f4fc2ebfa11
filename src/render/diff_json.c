/* SPDX-License-Identifier: Apache-2.0 */
#include "render/diff.h"

#include "base/json.h"

static const char *const units[] = {"share", "ns", "bytes", "count"};

static void put_value(struct json_writer *w, const struct comparison_value *v)
{
    json_f64(w, "base", v->base);
    json_f64(w, "new", v->new);
    json_f64(w, "change", v->change);
    json_f64(w, "low", v->low);
    json_f64(w, "high", v->high);
    json_f64(w, "p", v->p);
    json_f64(w, "q", v->q);
    json_bool(w, "significant", v->significant);
}

static void put_side(struct json_writer *w, const struct comparison_side *s)
{
    json_object(w, s->label);
    json_array(w, "sessions");
    for (size_t i = 0; i < s->runs.n; i++)
        json_str(w, NULL, s->runs.a[i]);
    json_end_array(w);
    json_u64(w, "weight", s->weight);
    json_f64(w, "per", s->per);
    json_end_object(w);
}

static void put_row(struct json_writer *w, const struct comparison_row *r)
{
    json_object(w, NULL);
    json_str(w, "name", r->name);
    json_str(w, "module", *r->module ? r->module : NULL);
    json_str(w, "was", r->was);
    json_str(w, "within", r->within);
    json_str(w, "kind", *r->kind ? r->kind : NULL);
    put_value(w, &r->value);
    json_f64(w, "cost", r->cost);
    json_u64(w, "base_weight", r->weight[COMPARISON_BASE]);
    json_u64(w, "new_weight", r->weight[COMPARISON_NEW]);
    if (r->times[COMPARISON_BASE] || r->times[COMPARISON_NEW]) {
        json_u64(w, "base_times", r->times[COMPARISON_BASE]);
        json_u64(w, "new_times", r->times[COMPARISON_NEW]);
    }
    json_end_object(w);
}

static void put_levels(struct json_writer *w, const struct comparison *c)
{
    for (size_t l = 0; l < COMPARISON_LEVELS; l++) {
        json_object(w, comparison_level_names((enum comparison_level)l));
        json_str(w, "value", units[c->level[l].unit]);
        json_str(w, "method", c->level[l].method);
        json_u64(w, "tests", c->level[l].tested);
        json_u64(w, "below_min_share", c->level[l].light);
        json_array(w, "rows");
        for (size_t i = 0; i < c->level[l].rows.n; i++)
            put_row(w, &c->level[l].rows.a[i]);
        json_end_array(w);
        json_end_object(w);
    }
}

static void put_figures(struct json_writer *w, const struct comparison *c)
{
    json_array(w, "figures");
    for (size_t i = 0; i < c->figures.n; i++) {
        const struct comparison_figure *f = &c->figures.a[i];

        json_object(w, NULL);
        json_str(w, "name", f->name);
        json_str(w, "unit", units[f->unit]);
        json_str(w, "method", f->method);
        json_bool(w, "gated", f->total);
        put_value(w, &f->value);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_steps(struct json_writer *w, const struct comparison *c)
{
    json_array(w, "steps");
    for (size_t i = 0; i < c->steps.n; i++) {
        const struct comparison_step *s = &c->steps.a[i];

        json_object(w, NULL);
        json_str(w, "figure", s->figure);
        json_str(w, "commit", s->commit);
        json_f64(w, "before", s->before);
        json_f64(w, "after", s->after);
        json_f64(w, "p", s->p);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_strings(struct json_writer *w, const char *key, char *const *a, size_t n)
{
    json_array(w, key);
    for (size_t i = 0; i < n; i++)
        json_str(w, NULL, a[i]);
    json_end_array(w);
}

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    static const char *const verdicts[] = {NULL, "pass", "fail", "no judgement"};
    struct json_writer w = {.out = out, .indent = 2};

    json_object(&w, NULL);
    json_str(&w, "format", "wprof-diff");
    json_u64(&w, "version", 1);
    put_side(&w, &c->side[COMPARISON_BASE]);
    put_side(&w, &c->side[COMPARISON_NEW]);
    json_str(&w, "metric", c->metric);
    json_str(&w, "unit", c->unit);
    json_str(&w, "per", c->per);
    json_str(&w, "of", c->what);
    json_str(&w, "method", c->method);
    json_str(&w, "certainty", c->certainty);
    json_f64(&w, "overdispersion", c->overdispersion);
    json_f64(&w, "alpha", c->alpha);
    json_f64(&w, "min_share", c->min_share);
    json_f64(&w, "fail_above", c->fail_above);
    json_str(&w, "verdict", verdicts[c->verdict]);
    json_str(&w, "because", c->because);
    put_figures(&w, c);
    put_steps(&w, c);
    put_levels(&w, c);
    put_strings(&w, "topology", c->topology.a, c->topology.n);
    put_strings(&w, "notes", c->notes.a, c->notes.n);
    json_end_object(&w);
    buf_addch(out, '\n');
    return 0;
}

const struct diff_renderer diff_json = {
    .name = "json",
    .summary = "everything, for programs",
    .wants_tree = 1,
    .render = render,
};
