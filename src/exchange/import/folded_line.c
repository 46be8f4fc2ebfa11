/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/folded_line.h"

#include <string.h>

enum { SHOWN = 60 /* bytes of a bad line that are quoted */ };

void folded_bad_line(struct import_stats *st, uint64_t number, const char *s, size_t n)
{
    while (n && (s[n - 1] == '\r' || s[n - 1] == ' '))
        n--;
    if (st->bad++)
        return;
    st->first_bad = number;
    buf_add(&st->bad_text, s, n < SHOWN ? n : SHOWN);
    if (n > SHOWN)
        buf_addstr(&st->bad_text, "...");
}

int folded_number(const char *s, size_t n, uint64_t *v, int *rounded)
{
    size_t i = 0;

    *v = 0;
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
        if (__builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, (uint64_t)(s[i] - '0'), v))
            return -1;
    if (!i)
        return -1;
    *rounded = i < n;
    if (i == n)
        return 0;
    if (s[i++] != '.')
        return -1;
    *v += i < n && s[i] >= '5' && s[i] <= '9';
    for (; i < n; i++)
        if (s[i] < '0' || s[i] > '9')
            return -1;
    return 0;
}

int folded_line_split(struct folded_line *l, const char *s, size_t n)
{
    const char *space;

    while (n && (s[n - 1] == '\r' || s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    if (!n)
        return 0;
    space = memrchr(s, ' ', n);
    if (!space || folded_number(space + 1, n - (size_t)(space + 1 - s), &l->value, &l->rounded))
        return -1;
    l->stack = s;
    l->n = (size_t)(space - s);
    while (l->n && s[l->n - 1] == ' ')
        l->n--;
    return l->n ? 1 : -1;
}
