/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_period.h"

enum {
    LOOKED_AT = 16384, /* names, from the middle: the beginning warms up */
    TIMES = 3,         /* that a period must fit into them */
    PERIODS = 4096,    /* from the first one on, between which pauses are looked at */
    MULTIPLE = 64,     /* of the shortest period, at most */
};

#define ALIKE  0.8  /* of the names, at least */
#define NEARLY 0.02 /* a shorter period that is as good as the best to this */

#define MOSTLY 0.8 /* of all pauses, and of those at that place: the host asks for more there, each time */

static const struct gpu_stream *fullest(const struct gpu_trace *t)
{
    const struct gpu_stream *most = NULL;

    for (size_t i = 0; i < t->streams.n; i++)
        if (!most || t->streams.a[i].n > most->n)
            most = &t->streams.a[i];
    return most;
}

static uint32_t name_at(const struct gpu_trace *t, const struct gpu_stream *x, size_t i)
{
    return gpu_work_of(t, gpu_event(t, &t->ran.a[x->first + i]))->name;
}

/* The share of names that come again `lag` later. */
static double alike(const uint32_t *names, size_t n, size_t lag)
{
    size_t same = 0;

    for (size_t i = 0; i + lag < n; i++)
        same += names[i] == names[i + lag];
    return (double)same / (double)(n - lag);
}

static size_t find_lag(const uint32_t *names, size_t n)
{
    double *scores = mem_alloc((n / TIMES + 1) * sizeof(*scores)), best = 0;
    size_t lag = 1;

    for (size_t k = 1; k <= n / TIMES; k++) {
        scores[k] = alike(names, n, k);
        best = scores[k] > best ? scores[k] : best;
    }
    while (lag <= n / TIMES && scores[lag] < best - NEARLY)
        lag++;
    free(scores);
    return best >= ALIKE && lag > 1 ? lag : 0;
}

static uint64_t pause_before(const struct gpu_trace *t, const struct gpu_stream *x, size_t i)
{
    const struct event *a = gpu_event(t, &t->ran.a[x->first + i - 1]),
                       *b = gpu_event(t, &t->ran.a[x->first + i]);

    return b->ts > a->ts + a->dur ? b->ts - a->ts - a->dur : 0;
}

/* Where in the order the pause before is the longest, of all periods. */
static size_t find_first(const struct gpu_trace *t, const struct gpu_stream *x, size_t lag)
{
    uint64_t *pause = mem_calloc(lag, sizeof(*pause));
    size_t first = 0;

    for (size_t i = 1; i < x->n; i++)
        pause[i % lag] += pause_before(t, x, i);
    for (size_t i = 1; i < lag; i++)
        first = pause[i] > pause[first] ? i : first;
    free(pause);
    return first;
}

/* Whether the pauses are before each m-th period from the r-th on, and hardly elsewhere. */
static int pauses_at(const uint64_t *pause, size_t n, uint64_t all, size_t m, size_t r)
{
    size_t members = 0, long_ones = 0;
    uint64_t sum = 0;

    for (size_t j = r; j < n; j += m) {
        members++;
        long_ones += pause[j] > all / n;
        sum += pause[j];
    }
    return (double)sum >= MOSTLY * (double)all && (double)long_ones >= MOSTLY * (double)members;
}

/* A step may be several of the shortest periods, layers that are alike or batches of one launch: how many,
 * and which of them is its first (*r). */
static size_t find_multiple(const struct gpu_trace *t, const struct gpu_stream *x, size_t first, size_t lag,
                            size_t *r)
{
    size_t n = (x->n - first) / lag, found = 1;
    uint64_t *pause, all = 0;

    n = n > PERIODS ? PERIODS : n;
    pause = mem_calloc(n + 1, sizeof(*pause));
    for (size_t j = 0; j < n; j++)
        all += pause[j] = first + j * lag ? pause_before(t, x, first + j * lag) : 0;
    *r = 0;
    for (size_t m = 2; all && found == 1 && m <= MULTIPLE && m <= n / TIMES; m++)
        for (size_t i = 0; i < m && found == 1; i++)
            if (pauses_at(pause, n, all, m, i)) {
                found = m;
                *r = i;
            }
    free(pause);
    return found;
}

size_t gpu_period_find(struct gpu_ranges *periods, const struct gpu_trace *t)
{
    const struct gpu_stream *x = fullest(t);
    size_t n = x ? x->n : 0, from = n > LOOKED_AT ? (n - LOOKED_AT) / 2 : 0, lag, first, multiple, r;
    uint32_t *names;

    n = n > LOOKED_AT ? LOOKED_AT : n;
    names = mem_alloc(n * sizeof(*names));
    for (size_t i = 0; i < n; i++)
        names[i] = name_at(t, x, from + i);
    lag = n >= (size_t)TIMES * 2 ? find_lag(names, n) : 0;
    free(names);
    if (!lag)
        return 0;
    first = find_first(t, x, lag);
    multiple = find_multiple(t, x, first, lag, &r);
    first += r * lag;
    lag *= multiple;
    for (size_t i = first; i + lag < x->n; i += lag)
        *vec_push(&periods->list) = (struct gpu_range){gpu_event(t, &t->ran.a[x->first + i])->ts,
                                                       gpu_event(t, &t->ran.a[x->first + i + lag])->ts};
    return lag;
}
