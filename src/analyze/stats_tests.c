/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stats_tests.h"

#include "analyze/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_WAYS = 200000,
    RESAMPLES = 1000,
    MOST_RUNS = 60, /* a side: the number of ways is counted in a double */
};

/* ---- two groups ---- */

struct stats_difference stats_difference(double change, double error, double df, double alpha)
{
    struct stats_difference d = {.change = change, .low = change, .high = change, .p = 1};
    double reach;

    if (!(error > 0) || !(df > 0))
        return d;
    reach = stats_t_quantile(alpha, df) * error;
    d.low = change - reach;
    d.high = change + reach;
    d.p = stats_t_tails(change / error, df);
    return d;
}

struct stats_difference stats_two_sided(const double *a, size_t na, const double *b, size_t nb, double alpha)
{
    double ma = stats_mean(a, na), mb = stats_mean(b, nb), df = (double)na + (double)nb - 2;
    double squares = stats_squares(a, na, ma) + stats_squares(b, nb, mb);
    double error = df > 0 ? sqrt(squares / df * (1 / (double)na + 1 / (double)nb)) : 0;
    struct stats_difference d = stats_difference(mb - ma, error, df, alpha);

    if (df > 0 && error <= 1e-12 * (fabs(ma) + fabs(mb))) {
        d.low = d.high = d.change;
        d.p = fabs(d.change) > 1e-12 * (fabs(ma) + fabs(mb))
                  ? fmin(1, 2 / stats_choose((unsigned)(na + nb), (unsigned)na))
                  : 1;
    }
    return d;
}

struct ways {
    const double *all;
    size_t n, na;
    double sum, observed; /* of all; how far the sum of the first side is from its share of it */
    uint64_t count, as_far;
};

static void count_way(struct ways *w, double sum)
{
    double far = fabs(sum - w->sum * (double)w->na / (double)w->n);

    w->count++;
    w->as_far += far >= w->observed * (1 - 1e-12);
}

/* All choices of na of the n. */
static void all_ways(struct ways *w)
{
    size_t *at = mem_alloc((w->na + 1) * sizeof(*at));

    for (size_t i = 0; i < w->na; i++)
        at[i] = i;
    for (;;) {
        double sum = 0;
        size_t i = w->na;

        for (size_t k = 0; k < w->na; k++)
            sum += w->all[at[k]];
        count_way(w, sum);
        while (i && at[i - 1] == w->n - w->na + i - 1)
            i--;
        if (!i)
            break;
        at[i - 1]++;
        for (size_t k = i; k < w->na; k++)
            at[k] = at[k - 1] + 1;
    }
    free(at);
}

static void some_ways(struct ways *w)
{
    struct stats_random r = {1};
    double *deck = mem_dup(w->all, w->n * sizeof(*deck));

    w->count = w->as_far = 1; /* as it is */
    for (int i = 1; i < MOST_WAYS; i++) {
        double sum = 0;

        for (size_t k = 0; k < w->na; k++) {
            size_t j = k + stats_random_below(&r, w->n - k);
            double x = deck[j];

            deck[j] = deck[k];
            deck[k] = x;
            sum += x;
        }
        count_way(w, sum);
    }
    free(deck);
}

double stats_permutation(const double *a, size_t na, const double *b, size_t nb)
{
    struct ways w = {.n = na + nb, .na = na};
    double *all, sum = 0;

    if (!na || !nb || na > MOST_RUNS || nb > MOST_RUNS)
        return 1;
    all = mem_alloc(w.n * sizeof(*all));
    memcpy(all, a, na * sizeof(*a));
    memcpy(all + na, b, nb * sizeof(*b));
    for (size_t i = 0; i < w.n; i++) {
        w.sum += all[i];
        sum += i < na ? all[i] : 0;
    }
    w.all = all;
    w.observed = fabs(sum - w.sum * (double)na / (double)w.n);
    if (stats_choose((unsigned)w.n, (unsigned)na) <= MOST_WAYS)
        all_ways(&w);
    else
        some_ways(&w);
    free(all);
    return (double)w.as_far / (double)w.count;
}

int stats_can_permute(size_t na, size_t nb, size_t tests, double alpha)
{
    if (na > MOST_RUNS || nb > MOST_RUNS)
        return 0;
    return fmin(stats_choose((unsigned)(na + nb), (unsigned)na), MOST_WAYS) >= 2 * (double)tests / alpha;
}

/* ---- many tests ---- */

struct ranked {
    double p;
    size_t at;
};

static int by_p(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;

    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

void stats_discoveries(const double *p, const double *weight, double *q, size_t n)
{
    struct ranked *r = mem_calloc(n + 1, sizeof(*r));
    double least = 1, mean = weight ? stats_mean(weight, n) : 1;

    for (size_t i = 0; i < n; i++)
        r[i] = (struct ranked){weight && mean > 0 ? p[i] * mean / fmax(weight[i], 1e-9 * mean) : p[i], i};
    qsort(r, n, sizeof(*r), by_p);
    for (size_t i = n; i-- > 0;) {
        least = fmin(least, r[i].p * (double)n / (double)(i + 1));
        q[r[i].at] = least;
    }
    free(r);
}

/* ---- one run ---- */

void stats_block_errors(const double *value, const double *weight, size_t rows, size_t nblocks, double *error)
{
    struct stats_random r = {1};
    double *times = mem_alloc((nblocks + 1) * sizeof(*times));
    double *sum = mem_calloc(rows + 1, sizeof(*sum)), *squares = mem_calloc(rows + 1, sizeof(*squares));

    for (int k = 0; k < RESAMPLES; k++) {
        double all = 0;

        memset(times, 0, nblocks * sizeof(*times));
        for (size_t i = 0; i < nblocks; i++)
            times[stats_random_below(&r, nblocks)]++;
        for (size_t i = 0; i < nblocks; i++)
            all += times[i] * (weight ? weight[i] : 1);
        for (size_t row = 0; row < rows; row++) {
            const double *v = value + row * nblocks;
            double x = 0;

            for (size_t i = 0; i < nblocks; i++)
                x += times[i] * v[i];
            x = all > 0 ? x / all : 0;
            sum[row] += x;
            squares[row] += x * x;
        }
    }
    for (size_t row = 0; row < rows; row++) {
        double mean = sum[row] / RESAMPLES, var = (squares[row] / RESAMPLES - mean * mean);

        var *= RESAMPLES / (RESAMPLES - 1.0);
        /* The blocks' own mean is nearer to them than the true one. */
        error[row] = var > 0 && nblocks > 1 ? sqrt(var * (double)nblocks / ((double)nblocks - 1)) : 0;
    }
    free(times);
    free(sum);
    free(squares);
}
