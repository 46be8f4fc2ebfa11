/* SPDX-License-Identifier: Apache-2.0 */
#include "render/diff_words.h"

#include "base/units.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHARS = 120 };

char *diff_value(char *out, size_t n, enum comparison_unit unit, double v, int is_change)
{
    const char *sign = v < 0 ? "-" : is_change && v > 0 ? "+" : "";
    double size = fabs(v);
    char text[48];

    if (isnan(v))
        snprintf(out, n, "-");
    else if (unit == COMPARISON_SHARE)
        snprintf(out, n, size * 100 < 10 ? "%s%.2f %%" : "%s%.1f %%", sign, size * 100);
    else if (unit == COMPARISON_NS)
        snprintf(out, n, "%s%s", sign, units_duration(text, sizeof(text), (uint64_t)(size + 0.5)));
    else if (unit == COMPARISON_BYTES)
        snprintf(out, n, "%s%s", sign, units_size(text, sizeof(text), (uint64_t)(size + 0.5)));
    else if (size < 100 && size != floor(size))
        snprintf(out, n, "%s%.3g", sign, size);
    else
        snprintf(out, n, "%s%s", sign, units_count(text, sizeof(text), (uint64_t)(size + 0.5)));
    return out;
}

char *diff_relative(char *out, size_t n, const struct comparison_value *v)
{
    if (!(v->base > 0))
        snprintf(out, n, "%s", v->new > 0 ? "new" : "-");
    else if (!(v->new > 0))
        snprintf(out, n, "gone");
    else if (v->new >= 10 * v->base)
        snprintf(out, n, "x %.3g", v->new / v->base);
    else
        snprintf(out, n, "%+.1f %%", 100 * v->change / v->base);
    return out;
}

/* ---- sentences ---- */

/* What of a side is compared: its samples; of a trace without any, what it tells of accelerators. */
static char *weight_words(const struct comparison *c, int side, enum comparison_level by)
{
    uint64_t weight = c->side[side].weight;
    char count[48];

    if (by >= COMPARISON_KERNELS)
        return mem_printf("%s of %s", units_duration(count, sizeof(count), c->level[by].weight[side]),
                          comparison_level_names(by));
    if (!strcmp(c->unit, "ns"))
        return mem_printf("%s of %s", units_duration(count, sizeof(count), weight), c->metric);
    return mem_printf("%s %s", units_count(count, sizeof(count), weight), c->unit);
}

static char *side_words(const struct comparison *c, int which, enum comparison_level by)
{
    const struct comparison_side *side = &c->side[which];
    char *weight = weight_words(c, which, by),
         *text =
             mem_printf("%s: %zu run%s (%s%s), %s", side->label, side->runs.n, side->runs.n == 1 ? "" : "s",
                        side->runs.a[0], side->runs.n > 1 ? " ..." : "", weight);

    free(weight);
    return text;
}

static char *per_words(const struct comparison *c, enum comparison_level by)
{
    const char *of = comparison_level_name(by), *what = by == COMPARISON_STACKS ? "self" : c->what;
    const char *whole = strcmp(c->unit, "ns") ? c->unit : "time", *metric = c->metric;
    const char *unit = strcmp(c->per, "second") ? "" : " s";

    if (by >= COMPARISON_KERNELS) {
        what = whole = "time";
        metric = by == COMPARISON_KERNELS ? "on devices" : "on the host";
    }
    if (c->level[by].unit == COMPARISON_SHARE)
        return mem_printf(
            "compared: the %s of each %s as a share of its side's %s (%s); changes in percentage points",
            what, of, whole, metric);
    return mem_printf(
        "compared: the %s of each %s per %s (%s): %.4g%s on the base side, %.4g%s on the new one", what, of,
        c->per, metric, c->side[0].per, unit, c->side[1].per, unit);
}

/* Kernels and operators beside the level that was asked for; what has been said of another isn't again. */
static void named_words(struct diff_words *w, const struct comparison *c, enum comparison_level by,
                        const char *said)
{
    for (int l = COMPARISON_KERNELS; l < COMPARISON_LEVELS; l++) {
        const char *method = c->level[l].method;

        if (l == (int)by || !method || !c->level[l].rows.n)
            continue;
        *vec_push(&w->list) = mem_printf(
            "%s, tested: %s; %llu of them", comparison_level_names((enum comparison_level)l),
            said && !strcmp(method, said) ? "likewise" : method, (unsigned long long)c->level[l].tested);
        said = method;
    }
}

void diff_words(struct diff_words *w, const struct comparison *c, enum comparison_level by)
{
    const char *method = c->level[by].method ? c->level[by].method : c->method;
    char *text;

    *vec_push(&w->list) = side_words(c, COMPARISON_BASE, by);
    *vec_push(&w->list) = side_words(c, COMPARISON_NEW, by);
    *vec_push(&w->list) = per_words(c, by);
    *vec_push(&w->list) = mem_printf(
        "tested: %s; %llu %s of %.3g %% or more; significant where the false discovery rate q <= %.3g; "
        "intervals at %.4g %%",
        method ? method : "nothing", (unsigned long long)c->level[by].tested,
        c->level[by].tested == 1 ? comparison_level_name(by) : comparison_level_names(by), 100 * c->min_share,
        c->alpha, 100 * (1 - c->alpha));
    named_words(w, c, by, method);
    text = isnan(c->overdispersion)
               ? mem_printf("certainty: %s", c->certainty)
               : mem_printf("certainty: %s; the median variance is %.2g times that of independent samples",
                            c->certainty, c->overdispersion);
    *vec_push(&w->list) = text;
    for (size_t i = 0; i < c->notes.n; i++)
        *vec_push(&w->list) = mem_printf("note: %s", c->notes.a[i]);
}

void diff_words_release(struct diff_words *w)
{
    for (size_t i = 0; i < w->list.n; i++)
        free(w->list.a[i]);
    vec_release(&w->list);
}

char *diff_verdict(const struct comparison *c)
{
    static const char *const names[] = {"", "pass", "FAIL", "can't judge"};

    if (c->verdict == COMPARISON_NO_GATE)
        return NULL;
    return mem_printf("%s: %s", names[c->verdict], c->because);
}

char *diff_step(const struct comparison_step *s)
{
    return mem_printf("step: %s %s by %.1f %% with %s (p %.2g)", s->figure,
                      s->after > s->before ? "grew" : "fell",
                      s->before > 0 ? 100 * fabs(s->after / s->before - 1) : 100.0, s->commit, s->p);
}

/* ---- tables ---- */

static const struct table_column columns[] = {
    {"change", "change", TABLE_FIGURE},
    {"interval", "interval", TABLE_FIGURE, 4},
    {"base", "base", TABLE_FIGURE},
    {"new", "new", TABLE_FIGURE},
    {"relative", "by base", TABLE_FIGURE, 1},
    {"q", "q", TABLE_FIGURE},
    {"mark", "", TABLE_TEXT},
    {"kind", "kind", TABLE_TEXT, 3},
    {"name", "name", TABLE_TEXT},
    {"module", "in", TABLE_TEXT, 2},
};

static const struct table_column figure_columns[] = {
    {"change", "change", TABLE_FIGURE},
    {"interval", "interval", TABLE_FIGURE, 2},
    {"base", "base", TABLE_FIGURE},
    {"new", "new", TABLE_FIGURE},
    {"relative", "by base", TABLE_FIGURE, 1},
    {"q", "q", TABLE_FIGURE},
    {"mark", "", TABLE_TEXT},
    {"name", "of a run", TABLE_TEXT},
    {"method", "tested by", TABLE_TEXT, 3},
};

enum { CHANGE, INTERVAL, BASE, NEW, RELATIVE, Q, MARK, KIND, NAME, MODULE };
enum { F_NAME = KIND, F_METHOD };

static void fill_value(union table_cell *cell, enum comparison_unit unit, const struct comparison_value *v)
{
    char text[64], low[64];

    cell[CHANGE].text = mem_strdup(diff_value(text, sizeof(text), unit, v->change, 1));
    if (!isnan(v->low))
        cell[INTERVAL].text = mem_printf("%s .. %s", diff_value(low, sizeof(low), unit, v->low, 1),
                                         diff_value(text, sizeof(text), unit, v->high, 1));
    cell[BASE].text = mem_strdup(diff_value(text, sizeof(text), unit, v->base, 0));
    cell[NEW].text = mem_strdup(diff_value(text, sizeof(text), unit, v->new, 0));
    cell[RELATIVE].text = mem_strdup(diff_relative(text, sizeof(text), v));
    if (!isnan(v->q))
        cell[Q].text = v->q < 1e-4 ? mem_strdup("< 0.0001") : mem_printf("%.2g", v->q);
    cell[MARK].text = v->significant ? mem_strdup(v->change > 0 ? "+" : "-") : NULL;
}

/* Templates have names of thousands of characters; JSON has all of them. */
static char *shown_name(const struct comparison_row *r, enum comparison_level level)
{
    struct buf name = {0};

    text_clean(r->name, MOST_CHARS, &name);
    if (r->was) {
        buf_addstr(&name, " (was: ");
        text_clean(r->was, MOST_CHARS, &name);
        buf_addch(&name, ')');
    }
    if (r->within) {
        buf_addstr(&name, level == COMPARISON_KERNELS ? " (instead of others, in " : " (was in ");
        text_clean(r->within, MOST_CHARS, &name);
        buf_addch(&name, ')');
    }
    return buf_detach(&name);
}

void diff_table(struct table *t, const struct comparison *c, enum comparison_level level, size_t limit)
{
    table_init(t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < c->level[level].rows.n; i++) {
        const struct comparison_row *r = &c->level[level].rows.a[i];
        union table_cell *cell;

        if (limit && i >= limit) {
            t->left_out++;
            continue;
        }
        cell = table_add(t);
        fill_value(cell, c->level[level].unit, &r->value);
        cell[KIND].text = *r->kind ? mem_strdup(r->kind) : NULL;
        cell[NAME].text = shown_name(r, level);
        cell[MODULE].text = *r->module ? mem_strdup(r->module) : NULL;
    }
}

/* How all figures were tested; NULL: not all in one way. */
static const char *tested_all(const struct comparison *c)
{
    for (size_t i = 1; i < c->figures.n; i++)
        if (strcmp(c->figures.a[i].method, c->figures.a[0].method) != 0)
            return NULL;
    return c->figures.n ? c->figures.a[0].method : NULL;
}

const char *diff_figures_table(struct table *t, const struct comparison *c)
{
    const char *all = tested_all(c);

    table_init(t, figure_columns, ARRAY_SIZE(figure_columns));
    for (size_t i = 0; i < c->figures.n; i++) {
        const struct comparison_figure *f = &c->figures.a[i];
        union table_cell *cell = table_add(t);

        fill_value(cell, f->unit, &f->value);
        cell[F_NAME].text = mem_strdup(f->name);
        cell[F_METHOD].text = all ? NULL : mem_strdup(f->method);
    }
    return all;
}

int diff_shows(const struct comparison *c, enum comparison_level level, enum comparison_level by)
{
    return level == by || (level >= COMPARISON_KERNELS && c->level[level].rows.n);
}

char *diff_heading(char *out, size_t n, const struct comparison *c, enum comparison_level level)
{
    static const char *const names[] = {"Functions by",
                                        "Stacks by self",
                                        "Modules by",
                                        "Processes by total",
                                        "Kernels by time on devices",
                                        "Operators by time on the host"};
    int chosen = level == COMPARISON_FUNCTIONS || level == COMPARISON_MODULES;

    snprintf(out, n,
             c->level[level].unit == COMPARISON_SHARE ? "%s%s%s, changes in percentage points%.0s"
                                                      : "%s%s%s, per %s",
             names[level], chosen ? " " : "", chosen ? c->what : "", c->per);
    return out;
}
