/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include <string.h>

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

enum { WORD_MAX = 64 };

size_t opt_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *prev = rows[1], *cur = rows[2];

    if (na > WORD_MAX || nb > WORD_MAX)
        return (size_t)-1;
    for (size_t j = 0; j <= nb; j++)
        prev[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *oldest = before;

        cur[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            cur[j] = min3(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cur[j] = min3(cur[j], before[j - 2] + 1, cur[j]);
        }
        before = prev;
        prev = cur;
        cur = oldest;
    }
    return prev[nb];
}

const char *opt_nearest(const char *word, const char *const *candidates, size_t n)
{
    size_t best = strlen(word) / 3 + 1; /* found ones lie strictly below */
    const char *near = NULL;

    if (best < 2)
        best = 2;
    for (size_t i = 0; i < n; i++) {
        size_t d = opt_distance(word, candidates[i]);

        if (d < best) {
            best = d;
            near = candidates[i];
        }
    }
    return near;
}
