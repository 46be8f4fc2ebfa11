/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_pairs.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* By so many collectives at most one trace begins before another, where their clocks differ, too. */
enum { SHIFT_MAX = 8 };

/* The parts of one name, of the first rank and of another, by their ends. */
struct both {
    const struct gpu_part *a, *b;
    size_t na, nb;
};

struct search {
    const struct gpu_part *parts;
    size_t n;
    uint32_t ranks, rank; /* rank: the one that is compared with the first */
    uint32_t *match;      /* by part of the first rank: the rank's + 1; 0: none */
    VEC(int64_t) apart;
};

static int in_order(const void *pa, const void *pb)
{
    const struct gpu_part *a = pa, *b = pb;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static int by_value(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* The next name's parts from *at on. 0: there are no more. */
static int next_name(const struct search *s, size_t *at, struct both *x)
{
    const struct gpu_part *p = s->parts + *at, *end = s->parts + s->n;
    uint32_t name;

    *x = (struct both){.a = p};
    if (p == end)
        return 0;
    for (name = p->name; p < end && p->name == name; p++) {
        x->na += p->rank == 0;
        if (p->rank == s->rank && !x->nb++)
            x->b = p;
    }
    *at = (size_t)(p - s->parts);
    return 1;
}

static uint64_t distance(int64_t x, int64_t y)
{
    return x < y ? (uint64_t)(y - x) : (uint64_t)(x - y);
}

/* Each end with the nearest one of the other rank, in order. How many there are; match NULL: only that. */
static size_t pair(const struct search *s, int64_t offset, uint32_t *match)
{
    size_t at = 0, pairs = 0;
    struct both x;

    while (next_name(s, &at, &x)) {
        for (size_t i = 0, k = 0; i < x.na && k < x.nb;) {
            int64_t end = x.a[i].end + offset;
            uint64_t d = distance(end, x.b[k].end);

            if (k + 1 < x.nb && distance(end, x.b[k + 1].end) < d) {
                k++;
            } else if (i + 1 < x.na && distance(x.a[i + 1].end + offset, x.b[k].end) < d) {
                i++;
            } else {
                if (d < GPU_PAIRS_SLACK_NS) {
                    pairs++;
                    if (match)
                        match[x.a + i - s->parts] = (uint32_t)(x.b + k - s->parts) + 1;
                }
                i++;
                k++;
            }
        }
    }
    return pairs;
}

/* The median of what the ends are apart when the rank's lie `shift` further. -1: there are none. */
static int median_apart(struct search *s, long shift, int64_t *out)
{
    size_t at = 0;
    struct both x;

    vec_clear(&s->apart);
    while (next_name(s, &at, &x)) {
        size_t i = shift < 0 ? (size_t)-shift : 0, k = shift > 0 ? (size_t)shift : 0;

        for (; i < x.na && k < x.nb; i++, k++)
            *vec_push(&s->apart) = x.b[k].end - x.a[i].end;
    }
    if (!s->apart.n)
        return -1;
    qsort(s->apart.a, s->apart.n, sizeof(*s->apart.a), by_value);
    *out = s->apart.a[s->apart.n / 2];
    return 0;
}

static void match_rank(struct search *s)
{
    size_t most = pair(s, 0, NULL), n;
    int64_t best = 0, offset;

    for (long shift = 0; shift <= SHIFT_MAX; shift++) {
        for (long sign = -1; sign <= 1; sign += 2) {
            if (median_apart(s, sign * shift, &offset))
                continue;
            n = pair(s, offset, NULL);
            best = n > most ? offset : best;
            most = n > most ? n : most;
        }
    }
    pair(s, best, s->match);
}

/* rows: of each part of the first rank in turn, what the other ranks have of it. */
static void take_matches(const struct search *s, uint32_t *rows)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->parts[i].rank)
            continue;
        rows[0] = (uint32_t)i + 1;
        rows[s->rank] = s->match[i];
        rows += s->ranks;
    }
}

static void take_whole(struct gpu_pairs *p, const uint32_t *row, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++)
        if (!row[r])
            return;
    for (uint32_t r = 0; r < ranks; r++)
        *vec_push(&p->of) = row[r] - 1;
}

void gpu_pairs_find(struct gpu_pairs *p, struct gpu_part *a, size_t n, uint32_t ranks)
{
    struct search s = {.parts = a, .n = n, .ranks = ranks};
    size_t first = 0;
    uint32_t *rows;

    *p = (struct gpu_pairs){0};
    if (!n || ranks < 2)
        return;
    qsort(a, n, sizeof(*a), in_order);
    for (size_t i = 0; i < n; i++)
        first += a[i].rank == 0;
    rows = mem_calloc(first * ranks + 1, sizeof(*rows));
    s.match = mem_alloc(n * sizeof(*s.match));
    for (s.rank = 1; s.rank < ranks; s.rank++) {
        memset(s.match, 0, n * sizeof(*s.match));
        match_rank(&s);
        take_matches(&s, rows);
    }
    for (size_t i = 0; i < first; i++)
        take_whole(p, rows + i * ranks, ranks);
    free(rows);
    free(s.match);
    vec_release(&s.apart);
}
