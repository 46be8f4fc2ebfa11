/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows are heavy enough to be tested, how much they vary, and how sure a change is. */
#include "analyze/compare_job.h"

#include "analyze/stats.h"
#include "analyze/stats_tests.h"
#include "base/hash.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20 };

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
    for (size_t i = 0; i < x->wanted.n; i++)
        out->level[x->rows->level].tested += x->wanted.a[i];
}

/* ---- several runs a side ---- */

/* Of a row in one run: the variance of so many independent samples, and the square of its value that a common
 * coefficient of variation would be multiplied with. A share of nearly all varies as what is not in it does.
 */
static void expected(const struct tester *x, size_t row, size_t r, double *samples, double *square)
{
    const struct compare_divisor *w = &x->rows->whole[r];
    double mean = 0, rest;

    for (size_t i = 0; i < x->rows->runs; i++)
        mean += value_of(x, row, i) / (double)x->rows->runs;
    rest = x->rows->unit == COMPARISON_SHARE ? fmax(1 - mean, 0) : 1;
    *samples = x->rows->samples && w->per > 0 ? mean * rest * w->scale / w->per : 0;
    *square = mean * mean * rest * rest;
}

/* Row by row, all runs: the squares around the means of the sides, by what was expected of each. */
static double dispersion(const struct tester *x, size_t row, double common, double *error)
{
    double mean[2] = {side_mean(x, row, 0), side_mean(x, row, 1)}, squares = 0, var = 0;

    for (size_t r = 0; r < x->rows->runs; r++) {
        int side = x->c->runs.a[r].side;
        double samples, square, v, d = value_of(x, row, r) - mean[side];

        expected(x, row, r, &samples, &square);
        v = samples + common * square;
        squares += v > 0 ? d * d / v : 0;
        var += v / ((double)x->c->n[side] * (double)x->c->n[side]);
    }
    *error = sqrt(var);
    return squares / x->c->freedom;
}

/* The square of the coefficient of variation that runs have beyond that of samples, common to all rows: by
 * weighted least squares of the variances found, in rounds as the weights need it. */
static double common_variation(const struct tester *x)
{
    double common = x->rows->samples ? 0 : 1e-4, total_samples, total_square;

    for (int round = 0; round < ROUNDS; round++) {
        double up = 0, down = 0;

        for (size_t i = 0; i < x->list.n; i++) {
            double mean[2] = {side_mean(x, x->list.a[i], 0), side_mean(x, x->list.a[i], 1)}, found = 0,
                   weight;

            total_samples = total_square = 0;
            for (size_t r = 0; r < x->rows->runs; r++) {
                double samples, square, d = value_of(x, x->list.a[i], r) - mean[x->c->runs.a[r].side];

                expected(x, x->list.a[i], r, &samples, &square);
                total_samples += samples / (double)x->rows->runs;
                total_square += square / (double)x->rows->runs;
                found += d * d / x->c->freedom;
            }
            weight = total_samples + common * total_square;
            weight = weight > 0 ? 1 / (weight * weight) : 0;
            up += weight * (found - total_samples) * total_square;
            down += weight * total_square * total_square;
        }
        common = down > 0 ? fmax(up / down, 0) : 0;
        if (!common && x->rows->samples)
            break;
    }
    return common;
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

static void test_runs(struct tester *x)
{
    size_t n = x->list.n;
    double common = common_variation(x), *phi = mem_calloc(n + 1, sizeof(*phi));
    double *error = mem_calloc(n + 1, sizeof(*error));
    struct stats_prior prior;

    for (size_t i = 0; i < n; i++)
        phi[i] = dispersion(x, x->list.a[i], common, &error[i]);
    prior = stats_prior_fit(phi, n, x->c->freedom);
    for (size_t i = 0; i < n; i++) {
        double df = x->c->freedom, drawn = stats_prior_draw(&prior, phi[i], &df);
        struct comparison_value *v = &x->t->values[x->list.a[i]];
        struct stats_difference d = stats_difference(v->change, error[i] * sqrt(drawn), df, x->c->o.alpha);

        v->low = d.low;
        v->high = d.high;
        v->p = d.p;
    }
    if (x->rows->level == COMPARISON_FUNCTIONS) {
        for (size_t i = 0; i < n; i++)
            phi[i] = dispersion(x, x->list.a[i], 0, &error[i]);
        x->c->out->overdispersion = x->rows->samples ? median(phi, n) : NAN;
        free(x->c->out->method);
        x->c->out->method = mem_printf("moderated t test over runs (common variation between runs %.2g %%, "
                                       "prior of %.3g degrees of freedom)",
                                       100 * sqrt(common), prior.df);
    }
    free(phi);
    free(error);
}

/* ---- one run a side ---- */

/* Of samples that are independent of each other. */
static double sampling_error(const struct tester *x, size_t row, size_t r)
{
    double samples, square;

    expected(x, row, r, &samples, &square);
    return sqrt(samples);
}

static void test_single(struct tester *x)
{
    size_t n = x->list.n, known = 0;
    double *error[2], *ratio = mem_calloc(2 * n + 1, sizeof(*ratio)), spread;

    for (size_t r = 0; r < 2; r++) {
        error[r] = mem_calloc(x->rows->n + 1, sizeof(**error));
        compare_block_errors(x->c, &x->c->runs.a[r], x->rows, x->list.a, n, error[r]);
        for (size_t i = 0; i < n; i++) {
            double least = sampling_error(x, x->list.a[i], r), e = error[r][x->list.a[i]];

            if (e > 0 && least > 0)
                ratio[known++] = e * e / (least * least);
        }
    }
    spread = median(ratio, known);
    if (x->rows->level == COMPARISON_FUNCTIONS) {
        x->c->out->overdispersion = x->rows->samples ? spread : NAN;
        free(x->c->out->method);
        x->c->out->method = mem_strdup(known ? "one run a side: resampled in blocks of time, so how runs "
                                               "differ from each other is not in it"
                                             : "one run a side without times: as if samples were "
                                               "independent; how runs differ is not in it");
    } else if (!known) {
        spread = x->c->out->overdispersion;
    }
    for (size_t i = 0; i < n; i++) {
        struct comparison_value *v = &x->t->values[x->list.a[i]];
        double var = 0;
        struct stats_difference d;

        for (size_t r = 0; r < 2; r++) {
            double least = sampling_error(x, x->list.a[i], r), e = error[r][x->list.a[i]];

            if (!(e > 0) && spread > 1)
                e = least * sqrt(spread);
            var += fmax(e, least) * fmax(e, least);
        }
        if (!(var > 0)) /* nothing tells how much it varies */
            continue;
        d = stats_difference(v->change, sqrt(var), 30, x->c->o.alpha);
        v->low = d.low;
        v->high = d.high;
        v->p = d.p;
    }
    free(error[0]);
    free(error[1]);
    free(ratio);
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

/* The heavier a row, the more of the false alarms that may be are its own: what takes much matters most. */
static void find_discoveries(struct tester *x)
{
    double *p = mem_calloc(x->list.n + 1, sizeof(*p)), *weight = mem_calloc(x->list.n + 1, sizeof(*weight));
    size_t n = 0;

    for (size_t i = 0; i < x->list.n; i++) {
        uint32_t row = x->list.a[i];

        if (!is_test(x, i))
            continue;
        p[n] = x->t->values[row].p;
        weight[n++] = x->t->share[2 * row] + x->t->share[2 * row + 1];
    }
    stats_discoveries(p, weight, p, n);
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
    if (c->freedom > 0)
        test_runs(&x);
    else
        test_single(&x);
    find_discoveries(&x);
    vec_release(&x.list);
    vec_release(&x.wanted);
    free(x.like);
}
