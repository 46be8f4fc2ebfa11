/* SPDX-License-Identifier: Apache-2.0 */
#include "show_steps.h"

#include "analyze/steps.h"
#include "analyze/unit_periods.h"
#include "analyze/unit_tables.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

struct kind {
    const char *name;
    struct units u;
    struct units_choice choice;
    struct unit_slow slow;
    struct places places;
};

static void release(struct kind *k)
{
    places_release(&k->places);
    unit_slow_release(&k->slow);
    units_choice_release(&k->choice);
    units_release(&k->u);
}

/* What comes again and again is for steps that nobody marks. */
static int find(struct kind *k, const struct session *s, const char *kind, struct err *e)
{
    uint32_t period;

    *k = (struct kind){.name = kind};
    units_collect(&k->u, s);
    units_find_periods(&k->u, s);
    period = strtab_find(&k->u.strings, UNIT_PERIOD);
    if (!strcmp(kind, "step") && period && !strtab_find(&k->u.strings, "step"))
        k->name = UNIT_PERIOD;
    if (units_choose_kind(&k->choice, &k->u, k->name, e)) {
        release(k);
        return -1;
    }
    places_init(&k->places, &s->store);
    unit_slow_init(&k->slow, s, &k->u, &k->choice);
    return 0;
}

/* ---- text ---- */

static char *heading(const struct kind *k, int cut)
{
    static const char of_whom[] = "on CPU, off CPU, queued, GIL wait: of the thread that began it";
    const struct unit_figures *f = &k->slow.figures;
    const char *longest = cut ? "The longest of " : "";
    char mean[32], median[32], p95[32], p99[32], max[32];

    if (!f->n)
        return mem_printf("%s%s: %zu, none of them over at the end; %s", longest, k->name, k->choice.chosen.n,
                          of_whom);
    units_duration(mean, sizeof(mean), f->mean);
    units_duration(median, sizeof(median), f->median);
    units_duration(p95, sizeof(p95), f->p95);
    units_duration(p99, sizeof(p99), f->p99);
    units_duration(max, sizeof(max), f->max);
    return mem_printf("%s%s: %zu, median %s, mean %s, p95 %s, p99 %s, longest %s, %zu slow; %s", longest,
                      k->name, k->choice.chosen.n, median, mean, p95, p99, max, f->slow, of_whom);
}

static void show_slow(const struct kind *k, const struct text_style *style, struct buf *out)
{
    struct buf words = {0};
    struct table t;

    if (!k->slow.slow)
        return;
    unit_slow_words(&k->slow, &k->places, k->name, k->slow.order[0], &words);
    unit_causes_table(&t, &k->slow, &k->places);
    buf_addch(out, '\n');
    text_table(&t, buf_str(&words), style, out);
    table_release(&t);
    buf_release(&words);
}

int show_steps(const struct session *s, const char *kind, uint64_t top, const struct text_style *style,
               struct buf *out, struct err *e)
{
    struct kind k;
    struct table t;
    char *above;

    if (find(&k, s, kind, e))
        return -1;
    steps_table(&t, s, &k.u, &k.choice, top);
    above = heading(&k, t.left_out > 0);
    text_table(&t, above, style, out);
    show_slow(&k, style, out);
    free(above);
    table_release(&t);
    release(&k);
    return 0;
}

/* ---- JSON ---- */

static void table_out(struct table *t, const char *key, struct json_writer *w)
{
    text_table_json(t, key, w);
    table_release(t);
}

static void figures_json(const struct unit_figures *f, struct json_writer *w)
{
    json_object(w, "units_figures");
    json_u64(w, "count", f->n);
    json_u64(w, "open", f->open);
    json_u64(w, "slow", f->slow);
    json_u64(w, "mean_ns", f->mean);
    json_u64(w, "p50_ns", f->median);
    json_u64(w, "p95_ns", f->p95);
    json_u64(w, "p99_ns", f->p99);
    json_u64(w, "max_ns", f->max);
    json_end_object(w);
}

static void labels_json(const struct kind *k, const char *key, int side, struct json_writer *w)
{
    struct buf label = {0};

    json_array(w, key);
    for (size_t i = 0; i < k->slow.side[side].units.n; i++) {
        buf_clear(&label);
        units_label(&k->u, &k->u.list.a[k->slow.side[side].units.a[i]], &label);
        json_str(w, NULL, buf_str(&label));
    }
    json_end_array(w);
    buf_release(&label);
}

static void slow_json(const struct kind *k, const struct session *s, uint64_t top, struct json_writer *w)
{
    struct comparison c;
    struct buf words = {0};
    struct table t;

    if (!k->slow.slow) {
        json_null(w, "units_slow");
        return;
    }
    unit_slow_words(&k->slow, &k->places, k->name, k->slow.order[0], &words);
    json_object(w, "units_slow");
    json_str(w, "text", buf_str(&words));
    json_f64(w, "quantile", k->slow.quantile);
    json_u64(w, "slow_from_ns", k->slow.slow);
    json_u64(w, "typical_from_ns", k->slow.from);
    json_u64(w, "typical_to_ns", k->slow.to);
    labels_json(k, "slow", COMPARISON_NEW, w);
    labels_json(k, "typical", COMPARISON_BASE, w);
    unit_causes_table(&t, &k->slow, &k->places);
    table_out(&t, "causes", w);
    unit_slow_compare(&k->slow, s, k->name, &c);
    unit_stacks_table(&t, &c, top);
    table_out(&t, "stacks", w);
    comparison_release(&c);
    json_end_object(w);
    buf_release(&words);
}

int show_steps_json(const struct session *s, const char *kind, uint64_t top, struct json_writer *w,
                    struct err *e)
{
    struct kind k;
    struct table t;

    if (find(&k, s, kind, e))
        return -1;
    steps_table(&t, s, &k.u, &k.choice, top);
    text_table_json(&t, "units", w);
    json_u64(w, "units_left_out", t.left_out); /* by --top */
    json_u64(w, "units_median_ns", steps_median(&k.u, &k.choice));
    figures_json(&k.slow.figures, w);
    slow_json(&k, s, top, w);
    table_release(&t);
    release(&k);
    return 0;
}
