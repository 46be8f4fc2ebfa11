/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stats_spread.h"

#include "analyze/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FACTORS = STATS_SPREAD_FACTORS,
    OWN = STATS_SPREAD_OWN,
    WIDTHS = STATS_SPREAD_WIDTHS,
    CELLS = STATS_SPREAD_CELLS
};

#define LEAST_OWN   0.001 /* coefficients of variation from 0.1 % ... */
#define STEP_OWN    1.3   /* ... in such steps to 32 %; none comes before them */
#define USUAL_OWN   0.007
#define USUAL_WIDTH 1.2
/* The rows' spread is told from the same few runs as the row is tested by, and may have another form: p is
 * multiplied by 1 + OWN_USE / the square of the degrees of freedom, measured on spreads of another form
 * (compare_rates). */
#define OWN_USE    8.0
#define NEGLIGIBLE 1e-10

static const double factors[FACTORS] = {0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1,
                                        1.2,  1.5,  2,   3,   5,    8,   15,  30};

/* Standard deviations of the logarithm, and what they weigh before anything is seen. */
static const struct width {
    double width, weight;
} widths[WIDTHS] = {{0.3, 0.3}, {0.6, 0.3}, {1.0, 0.2}, {1.6, 0.2}};

/* Independent samples are what is expected. */
static double factor_before(size_t k)
{
    return factors[k] == 1 ? 0.8 : 0.2 / (FACTORS - 1);
}

static double variation(size_t j)
{
    return j ? LEAST_OWN * pow(STEP_OWN, (double)j - 1) : 0;
}

/* Most programs vary by about a percent. */
static double middle_before(size_t j)
{
    double far = j ? log(variation(j) / USUAL_OWN) / USUAL_WIDTH : 0;

    return exp(-0.5 * far * far);
}

/* The logarithm of how likely the distances are; their variance has lost what the means of the sides took. */
static double likelihood(const struct stats_spread *s, const struct stats_spread_row *row, double k, double c)
{
    double first = k * row->samples[0] + c * row->square, product = 1, squares = 0;

    for (size_t r = 0; r < s->runs; r++) {
        double v = k * row->samples[r] + c * row->square;

        if (!(v > 0))
            return -INFINITY;
        product *= v / first; /* of runs alike: near 1 */
        squares += row->distance[r] * row->distance[r] / v;
    }
    return -0.5 * (log(first) * (double)(s->runs - 2) +
                   log(product) * (double)(s->runs - 2) / (double)s->runs + squares);
}

/* of[k * OWN + j], by the greatest of them. */
static void likelihoods(const struct stats_spread *s, const struct stats_spread_row *row, double *of)
{
    double most = -INFINITY;

    for (size_t k = 0; k < FACTORS; k++)
        for (size_t j = 0; j < OWN; j++) {
            double c = variation(j), l = likelihood(s, row, factors[k], c * c);

            of[k * OWN + j] = l;
            most = fmax(most, l);
        }
    for (size_t i = 0; i < CELLS; i++)
        of[i] = isinf(most) ? 1 : exp(of[i] - most);
}

/* How the coefficients are spread over the rows, for each middle and width: of[(middle * WIDTHS + width) *
 * OWN + j]. With no middle none varies. */
static void spreads(double *of)
{
    for (size_t m = 0; m < OWN; m++)
        for (size_t w = 0; w < WIDTHS; w++) {
            double *p = of + (m * WIDTHS + w) * OWN, sum = 0;

            for (size_t j = 0; j < OWN; j++) {
                double far =
                    widths[w].width > 0 ? ((double)j - (double)m) * log(STEP_OWN) / widths[w].width : 0;

                if (!m || !(widths[w].width > 0))
                    p[j] = j == m;
                else
                    p[j] = j ? exp(-0.5 * far * far) : 0;
                sum += p[j];
            }
            for (size_t j = 0; j < OWN; j++)
                p[j] /= sum;
        }
}

/* Of the row's likelihoods for one k, those that a spread leaves. */
static double under(const double *spread, const double *of)
{
    double sum = 0;

    for (size_t j = 0; j < OWN; j++)
        sum += spread[j] * of[j];
    return fmax(sum, 1e-300);
}

void stats_spread_fit(struct stats_spread *s, const struct stats_spread_row *rows, size_t n,
                      const size_t sides[2])
{
    double *of = mem_alloc(CELLS * sizeof(*of)), *spread = mem_alloc(OWN * WIDTHS * OWN * sizeof(*spread));
    double most = -INFINITY, sum = 0, *likely = &s->likely[0][0];

    *s = (struct stats_spread){.runs = sides[0] + sides[1], .sides = {sides[0], sides[1]}};
    spreads(spread);
    for (size_t i = 0; i < CELLS * WIDTHS; i++)
        likely[i] = log(factor_before(i / WIDTHS / OWN) * middle_before(i / WIDTHS % OWN) *
                        widths[i % WIDTHS].weight);
    for (size_t r = 0; r < n; r++) {
        likelihoods(s, &rows[r], of);
        for (size_t i = 0; i < CELLS * WIDTHS; i++)
            likely[i] += log(under(spread + i % (OWN * WIDTHS) * OWN, of + i / WIDTHS / OWN * OWN));
    }
    for (size_t i = 0; i < CELLS * WIDTHS; i++)
        most = fmax(most, likely[i]);
    for (size_t i = 0; i < CELLS * WIDTHS; i++)
        sum += likely[i] = exp(likely[i] - most);
    for (size_t i = 0; i < CELLS * WIDTHS; i++)
        likely[i] /= sum;
    free(of);
    free(spread);
}

/* ---- one row ---- */

/* What its error may be, and how likely that is. */
struct mixture {
    double weight[CELLS], error[CELLS];
    size_t n;
};

static double error_of(const struct stats_spread *s, const struct stats_spread_row *row, double k, double c)
{
    double var = 0;

    for (size_t r = 0; r < s->runs; r++) {
        double n = (double)s->sides[r >= s->sides[0]];

        var += (k * row->samples[r] + c * row->square) / (n * n);
    }
    return sqrt(var);
}

/* What is left of k and c for the row. */
static void weigh(double *weight, const struct stats_spread *s, const struct stats_spread_row *row)
{
    double of[CELLS], *spread = mem_alloc(OWN * WIDTHS * OWN * sizeof(*spread));
    const double *likely = &s->likely[0][0];

    spreads(spread);
    likelihoods(s, row, of);
    memset(weight, 0, CELLS * sizeof(*weight));
    for (size_t i = 0; i < CELLS * WIDTHS; i++) {
        const double *p = spread + i % (OWN * WIDTHS) * OWN;
        size_t k = i / WIDTHS / OWN;
        double all;

        if (likely[i] < NEGLIGIBLE)
            continue;
        all = under(p, of + k * OWN);
        for (size_t j = 0; j < OWN; j++)
            weight[k * OWN + j] += likely[i] * p[j] * of[k * OWN + j] / all;
    }
    free(spread);
}

static void mix(struct mixture *m, const struct stats_spread *s, const struct stats_spread_row *row)
{
    double weight[CELLS];

    m->n = 0;
    weigh(weight, s, row);
    for (size_t i = 0; i < CELLS; i++) {
        double c = variation(i % OWN), error = error_of(s, row, factors[i / OWN], c * c);

        if (weight[i] < NEGLIGIBLE || !(error > 0))
            continue;
        m->weight[m->n] = weight[i];
        m->error[m->n++] = error;
    }
}

static double tails(const struct mixture *m, double change)
{
    double p = 0;

    for (size_t i = 0; i < m->n; i++)
        p += m->weight[i] * erfc(fabs(change) / m->error[i] * M_SQRT1_2);
    return p;
}

/* The change that leaves so much in both tails. */
static double reach_of(const struct mixture *m, double alpha)
{
    double low = 0, high = 0;

    for (size_t i = 0; i < m->n; i++)
        high = fmax(high, m->error[i]);
    high *= stats_t_quantile(alpha, INFINITY);
    for (int i = 0; i < 50 && high - low > 1e-4 * high; i++) {
        double middle = (low + high) / 2;

        *(tails(m, middle) > alpha ? &low : &high) = middle;
    }
    return high;
}

struct stats_difference stats_spread_test(const struct stats_spread *s, const struct stats_spread_row *row,
                                          double change, double alpha)
{
    struct stats_difference d = {.change = change, .low = change, .high = change, .p = 1};
    struct mixture m;
    double reach;

    mix(&m, s, row);
    if (!m.n)
        return d;
    reach = reach_of(&m, alpha);
    d.low = change - reach;
    d.high = change + reach;
    d.p = fmin(tails(&m, change) * (1 + OWN_USE / pow((double)s->runs - 2, 2)), 1);
    return d;
}

/* ---- for people ---- */

double stats_spread_factor(const struct stats_spread *s)
{
    const double *likely = &s->likely[0][0];
    double sum = 0;
    size_t i = 0;

    while (i + 1 < CELLS * WIDTHS && (sum += likely[i]) < 0.5)
        i++;
    return factors[i / WIDTHS / OWN];
}

double stats_spread_own(const struct stats_spread *s)
{
    double sum = 0;
    size_t j = 0;

    for (;; j++) {
        for (size_t k = 0; k < FACTORS; k++)
            for (size_t w = 0; w < WIDTHS; w++)
                sum += s->likely[k * OWN + j][w];
        if (sum >= 0.5 || j + 1 == OWN)
            return variation(j);
    }
}
