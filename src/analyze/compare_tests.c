/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows are heavy enough to be tested, how much they vary, and how sure a change is. */
#include "analyze/compare_job.h"

#include "analyze/stats.h"
#include "analyze/stats_spread.h"
#include "analyze/stats_tests.h"
#include "base/hash.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tester {
    struct compare *c;
    const struct compare_rows *rows;
    struct compare_tested *t;
    VEC(uint32_t) list;  /* rows that are heavy enough, of those with the same counts in all runs one */
    VEC(uint8_t) wanted; /* of each of these: it is a test */
    uint32_t *like;      /* row -> the place in the list of the one that stands for it */
    int counts_samples;  /* not ns: what is counted varies as samples do */
    int is_share;
};

int compare_wanted(const struct compare *c, const char *name)
{
    char *pattern;
    int rc;

    if (!c->o.only)
        return 1;
    pattern = mem_printf("*%s*", c->o.only);
    rc = fnmatch(pattern, name, 0);
    free(pattern);
    return !rc;
}

static double value_of(const struct tester *x, size_t row, size_t r)
{
    const struct compare_divisor *w = &x->rows->whole[r];

    return w->per > 0 ? (double)x->rows->counts[row * x->rows->runs + r] * w->scale / w->per : 0;
}

static double side_mean(const struct tester *x, size_t row, int side)
{
    double sum = 0;

    for (size_t r = 0; r < x->rows->runs; r++)
        if (x->c->runs.a[r].side == side)
            sum += value_of(x, row, r);
    return sum / (double)x->c->n[side];
}

static void measure_shares(struct tester *x)
{
    const struct compare *c = x->c;

    for (size_t row = 0; row < x->rows->n; row++)
        for (size_t r = 0; r < x->rows->runs; r++) {
            int side = c->runs.a[r].side;
            uint64_t sum = x->rows->whole[r].sum;

            if (sum)
                x->t->share[2 * row + (size_t)side] +=
                    (double)x->rows->counts[row * x->rows->runs + r] / (double)sum / (double)c->n[side];
        }
}

static int same_counts(const struct tester *x, uint32_t a, uint32_t b)
{
    return !memcmp(x->rows->counts + a * x->rows->runs, x->rows->counts + b * x->rows->runs,
                   x->rows->runs * sizeof(*x->rows->counts));
}

/* A caller and what alone it calls have the same counts: they are one test, not two. Rows of other names than
 * --only wants are no tests, but tell how much rows vary. */
static void choose_rows(struct tester *x)
{
    struct map seen = {0};
    struct comparison *out = x->c->out;

    for (uint32_t row = 0; row < x->rows->n; row++) {
        double share = fmax(x->t->share[2 * row], x->t->share[2 * row + 1]);
        uint64_t *at;

        if (!(share > 0) || share < x->c->o.min_share) {
            out->level[x->rows->level].light += x->t->tested[row] && share > 0;
            x->t->tested[row] = 0;
            continue;
        }
        at = map_put(&seen, hash_bytes(x->rows->counts + row * x->rows->runs,
                                       x->rows->runs * sizeof(*x->rows->counts)));
        if (!*at || !same_counts(x, x->list.a[*at - 1], row)) {
            *vec_push(&x->list) = row;
            *vec_push(&x->wanted) = 0;
            *at = x->list.n;
        }
        x->like[row] = (uint32_t)*at - 1;
        x->wanted.a[x->like[row]] |= x->t->tested[row];
    }
    map_release(&seen);
}

/* Instructions that callgrind counted, times between a call and its return: no samples, on a side or both. */
static int is_measured(const struct tester *x)
{
    for (size_t r = 0; r < x->rows->runs; r++)
        if (!(x->c->runs.a[r].weight > 0))
            return 1;
    return 0;
}

/* ---- several runs a side ---- */

/* Of a row in one run: the variance of so many independent samples, and the square of its value that a
 * coefficient of variation would be multiplied with. A share of nearly all varies as what is not in it does.
 */
static void expected(const struct tester *x, size_t row, size_t r, double *samples, double *square)
{
    const struct compare_divisor *w = &x->rows->whole[r];
    double mean = 0, rest;

    for (size_t i = 0; i < x->rows->runs; i++)
        mean += value_of(x, row, i) / (double)x->rows->runs;
    rest = x->rows->unit == COMPARISON_SHARE ? fmax(1 - mean, 0) : 1;
    *samples = x->rows->samples && w->per > 0 ? mean * rest * w->scale * w->weight / w->per : 0;
    *square = mean * mean * rest * rest;
}

/* Rows as stats_spread.h has them, with the arrays that they point into. */
struct spread_rows {
    struct stats_spread_row *list;
    double *numbers;
};

static void spread_rows_init(struct spread_rows *s, const struct tester *x)
{
    size_t n = x->list.n, runs = x->rows->runs;

    s->list = mem_calloc(n + 1, sizeof(*s->list));
    s->numbers = mem_calloc(2 * n * runs + 1, sizeof(*s->numbers));
    for (size_t i = 0; i < n; i++) {
        uint32_t row = x->list.a[i];
        double mean[2] = {side_mean(x, row, 0), side_mean(x, row, 1)};
        double *distance = s->numbers + 2 * i * runs, *samples = distance + runs;

        s->list[i] = (struct stats_spread_row){.distance = distance, .samples = samples};
        for (size_t r = 0; r < runs; r++) {
            distance[r] = value_of(x, row, r) - mean[x->c->runs.a[r].side];
            expected(x, row, r, &samples[r], &s->list[i].square);
        }
    }
}

static void spread_rows_release(struct spread_rows *s)
{
    free(s->list);
    free(s->numbers);
}

static int by_size(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return a < b ? -1 : a > b;
}

static double median(double *v, size_t n)
{
    if (!n)
        return NAN;
    qsort(v, n, sizeof(*v), by_size);
    return v[n / 2];
}

/* How many times as much as independent samples a row varies. */
static double overdispersion(const struct tester *x, const struct spread_rows *rows)
{
    size_t n = x->list.n, known = 0;
    double *ratio = mem_calloc(n + 1, sizeof(*ratio)), m;

    for (size_t i = 0; i < n; i++) {
        double squares = 0, least = 0;

        for (size_t r = 0; r < x->rows->runs; r++) {
            double d = rows->list[i].distance[r];

            squares += d * d / x->c->freedom;
            least += rows->list[i].samples[r] / (double)x->rows->runs;
        }
        if (least > 0)
            ratio[known++] = squares / least;
    }
    m = median(ratio, known);
    free(ratio);
    return m;
}

static void describe_named(struct tester *x, const struct stats_spread *s)
{
    x->c->out->level[x->rows->level].method =
        mem_printf("by how runs differ, told from all of them together (half of them by more than %.2g %%)",
                   100 * stats_spread_own(s));
}

static void describe_runs(struct tester *x, const struct spread_rows *rows, const struct stats_spread *s)
{
    struct comparison *out = x->c->out;

    out->overdispersion = overdispersion(x, rows);
    free(out->method);
    if (x->rows->samples && !is_measured(x))
        out->method = mem_printf("by how runs differ, told from all rows together (%.2g times as much as "
                                 "independent samples do, and half of the rows by more than %.2g %% besides)",
                                 stats_spread_factor(s), 100 * stats_spread_own(s));
    else
        out->method =
            mem_printf("by how runs differ, told from all rows together (half of them by more than %.2g %%)",
                       100 * stats_spread_own(s));
}

static void test_runs(struct tester *x)
{
    struct spread_rows rows;
    struct stats_spread spread;

    spread_rows_init(&rows, x);
    stats_spread_fit(&spread, rows.list, x->list.n, x->c->n);
    for (size_t i = 0; i < x->list.n; i++) {
        struct comparison_value *v = &x->t->values[x->list.a[i]];
        struct stats_difference d = stats_spread_test(&spread, &rows.list[i], v->change, x->c->o.alpha);

        v->low = d.low;
        v->high = d.high;
        v->p = d.p;
    }
    if (x->rows->level == COMPARISON_FUNCTIONS)
        describe_runs(x, &rows, &spread);
    if (x->rows->level >= COMPARISON_KERNELS && x->list.n)
        describe_named(x, &spread);
    spread_rows_release(&rows);
}

/* ---- one run a side ---- */

/* Of samples that are independent of each other. */
static double sampling_error(const struct tester *x, size_t row, size_t r)
{
    double samples, square;

    expected(x, row, r, &samples, &square);
    return sqrt(samples);
}

/* A run a side, in so many blocks. */
struct single {
    double *error[COMPARISON_SIDES]; /* by row; 0: not known */
    size_t blocks[COMPARISON_SIDES];
    double spread; /* the median variance by that of independent samples; NAN: not known */
    int by_name;   /* what is tested has slices of its own */
};

static void single_errors(struct single *s, const struct tester *x)
{
    size_t n = x->list.n, known = 0;
    double *ratio = mem_calloc(2 * n + 1, sizeof(*ratio));

    for (size_t r = 0; r < COMPARISON_SIDES; r++) {
        s->error[r] = mem_calloc(x->rows->n + 1, sizeof(**s->error));
        s->blocks[r] = compare_block_errors(x->c, &x->c->runs.a[r], x->rows, x->list.a, n, s->error[r]);
        for (size_t i = 0; i < n; i++) {
            double least = sampling_error(x, x->list.a[i], r), e = s->error[r][x->list.a[i]];

            if (e > 0 && least > 0)
                ratio[known++] = e * e / (least * least);
        }
    }
    s->spread = median(ratio, known);
    s->by_name = x->rows->name[0] != NULL;
    free(ratio);
}

static void describe_single(struct tester *x, const struct single *s)
{
    struct comparison *out = x->c->out;

    out->overdispersion = x->rows->samples ? s->spread : NAN;
    free(out->method);
    if (is_measured(x)) {
        out->method = mem_strdup("nothing: of one run a side whose costs were measured, not sampled, nothing "
                                 "tells how much they vary");
        return;
    }
    out->method = mem_strdup(!isnan(s->spread) ? "one run a side: resampled in blocks of time, so how runs "
                                                 "differ from each other is not in it"
                                               : "one run a side without times: as if samples were "
                                                 "independent; how runs differ is not in it");
}

/* Degrees of freedom of a difference of two means, by Welch and Satterthwaite: slices may be few. */
static double single_freedom(const struct single *s, const double *var)
{
    double sum = 0;

    if (!s->by_name)
        return 30;
    for (int r = 0; r < COMPARISON_SIDES; r++)
        sum += s->blocks[r] > 1 ? var[r] * var[r] / ((double)s->blocks[r] - 1) : 0;
    return sum > 0 ? (var[0] + var[1]) * (var[0] + var[1]) / sum : 0;
}

static void single_test(struct tester *x, const struct single *s, uint32_t row)
{
    struct comparison_value *v = &x->t->values[row];
    double var[COMPARISON_SIDES];
    struct stats_difference d;

    for (size_t r = 0; r < COMPARISON_SIDES; r++) {
        double least = sampling_error(x, row, r), e = s->error[r][row];

        if (!(e > 0) && s->spread > 1)
            e = least * sqrt(s->spread);
        var[r] = fmax(e, least) * fmax(e, least);
    }
    if (!(var[0] + var[1] > 0) && (v->change != 0 || is_measured(x))) /* nothing tells how much it varies */
        return;
    d = stats_difference(v->change, sqrt(var[0] + var[1]), single_freedom(s, var), x->c->o.alpha);
    v->low = d.low;
    v->high = d.high;
    v->p = d.p;
}

/* Says why, once. */
static void nothing_tested(struct tester *x, const char *why)
{
    char **method = &x->c->out->level[x->rows->level].method;

    if (x->list.n && !*method)
        *method = mem_strdup(why);
}

static void test_single(struct tester *x)
{
    struct single s;
    size_t tested = 0;

    single_errors(&s, x);
    if (x->rows->level == COMPARISON_FUNCTIONS)
        describe_single(x, &s);
    else if (isnan(s.spread))
        s.spread = x->c->out->overdispersion;
    if (s.by_name && x->rows->n)
        x->c->out->level[x->rows->level].method =
            compare_slices_words(x->rows->slices[0], x->rows->slices[1]);
    for (size_t i = 0; i < x->list.n; i++)
        if (!s.by_name || (s.blocks[0] && s.blocks[1]))
            single_test(x, &s, x->list.a[i]);
    for (size_t i = 0; i < x->list.n; i++)
        tested += !isnan(x->t->values[x->list.a[i]].p);
    if (!tested)
        nothing_tested(x, "nothing: of one run a side nothing tells how much these vary");
    free(s.error[0]);
    free(s.error[1]);
}

/* ---- */

static void set_values(struct tester *x)
{
    for (size_t row = 0; row < x->rows->n; row++) {
        struct comparison_value *v = &x->t->values[row];

        v->base = side_mean(x, row, COMPARISON_BASE);
        v->new = side_mean(x, row, COMPARISON_NEW);
        v->change = v->new - v->base;
        v->low = v->high = v->p = v->q = NAN;
    }
}

static int is_test(const struct tester *x, size_t i)
{
    return x->wanted.a[i] && !isnan(x->t->values[x->list.a[i]].p);
}

/* No share changes by more than all. */
static void clip_intervals(struct tester *x)
{
    for (size_t i = 0; i < x->list.n && x->rows->unit == COMPARISON_SHARE; i++) {
        struct comparison_value *v = &x->t->values[x->list.a[i]];

        v->low = v->low < -1 ? -1 : v->low;
        v->high = v->high > 1 ? 1 : v->high;
    }
}

/* A side on which nothing was counted tells nothing of how its rows would vary. */
static int side_is_empty(const struct tester *x)
{
    uint64_t sum[COMPARISON_SIDES] = {0};

    for (size_t r = 0; r < x->rows->runs; r++)
        sum[x->c->runs.a[r].side] += x->rows->whole[r].sum;
    return !sum[COMPARISON_BASE] || !sum[COMPARISON_NEW];
}

/* How far the row could change: a share of all can't, one of next to nothing hardly. */
static double room(const struct tester *x, uint32_t row)
{
    double share = (x->t->share[2 * row] + x->t->share[2 * row + 1]) / 2;

    return x->rows->unit == COMPARISON_SHARE ? share * (1 - share) : share;
}

/* What takes much matters most, and is what samples suffice for: of the false alarms that may be, each row
 * has the square of its part. */
static void find_discoveries(struct tester *x)
{
    double *p = mem_calloc(x->list.n + 1, sizeof(*p)), *weight = mem_calloc(x->list.n + 1, sizeof(*weight));
    size_t n = 0;

    for (size_t i = 0; i < x->list.n; i++) {
        uint32_t row = x->list.a[i];

        if (!is_test(x, i))
            continue;
        p[n] = x->t->values[row].p;
        weight[n++] = pow(room(x, row), 2);
    }
    stats_discoveries(p, weight, p, n);
    x->c->out->level[x->rows->level].tested = n;
    n = 0;
    for (size_t i = 0; i < x->list.n; i++) {
        struct comparison_value *v = &x->t->values[x->list.a[i]];

        if (!is_test(x, i))
            continue;
        v->q = p[n++];
        v->significant = v->q <= x->c->o.alpha;
    }
    for (size_t row = 0; row < x->rows->n; row++)
        if (x->t->tested[row])
            x->t->values[row] = x->t->values[x->list.a[x->like[row]]];
    free(weight);
    free(p);
}

void compare_test(struct compare *c, const struct compare_rows *rows, struct compare_tested *t)
{
    struct tester x = {.c = c, .rows = rows, .t = t};

    x.like = mem_calloc(rows->n + 1, sizeof(*x.like));
    measure_shares(&x);
    set_values(&x);
    choose_rows(&x);
    if (side_is_empty(&x))
        nothing_tested(&x, "nothing: one side has none of them");
    else if (c->freedom > 0)
        test_runs(&x);
    else
        test_single(&x);
    clip_intervals(&x);
    find_discoveries(&x);
    vec_release(&x.list);
    vec_release(&x.wanted);
    free(x.like);
}
