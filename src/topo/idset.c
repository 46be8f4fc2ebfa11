/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/idset.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 64 };

void idset_release(struct idset *s)
{
    vec_release(&s->words);
}

void idset_add(struct idset *s, unsigned id)
{
    while (s->words.n <= id / BITS)
        *vec_push(&s->words) = 0;
    s->words.a[id / BITS] |= UINT64_C(1) << id % BITS;
}

int idset_has(const struct idset *s, unsigned id)
{
    return id / BITS < s->words.n && s->words.a[id / BITS] >> id % BITS & 1;
}

int64_t idset_next(const struct idset *s, int64_t id)
{
    size_t word = (size_t)(id + 1) / BITS;
    uint64_t bits;

    if (word >= s->words.n)
        return -1;
    bits = s->words.a[word] & ~UINT64_C(0) << (id + 1) % BITS;
    while (!bits)
        if (++word >= s->words.n)
            return -1;
        else
            bits = s->words.a[word];
    return (int64_t)(word * BITS) + __builtin_ctzll(bits);
}

int64_t idset_first(const struct idset *s)
{
    return idset_next(s, -1);
}

size_t idset_count(const struct idset *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->words.n; i++)
        n += (size_t)__builtin_popcountll(s->words.a[i]);
    return n;
}

static uint64_t word_of(const struct idset *s, size_t i)
{
    return i < s->words.n ? s->words.a[i] : 0;
}

int idset_meets(const struct idset *a, const struct idset *b)
{
    for (size_t i = 0; i < a->words.n; i++)
        if (a->words.a[i] & word_of(b, i))
            return 1;
    return 0;
}

int idset_within(const struct idset *a, const struct idset *b)
{
    for (size_t i = 0; i < a->words.n; i++)
        if (a->words.a[i] & ~word_of(b, i))
            return 0;
    return 1;
}

int idset_equal(const struct idset *a, const struct idset *b)
{
    return idset_within(a, b) && idset_within(b, a);
}

void idset_unite(struct idset *a, const struct idset *b)
{
    while (a->words.n < b->words.n)
        *vec_push(&a->words) = 0;
    for (size_t i = 0; i < b->words.n; i++)
        a->words.a[i] |= b->words.a[i];
}

void idset_intersect(struct idset *a, const struct idset *b)
{
    for (size_t i = 0; i < a->words.n; i++)
        a->words.a[i] &= word_of(b, i);
}

/* A number at *p, which is then moved behind it; -1: none, or too great. */
static int64_t number(const char **p)
{
    char *end;
    unsigned long v;

    if (!isdigit((unsigned char)**p))
        return -1;
    v = strtoul(*p, &end, 10);
    *p = end;
    return v < IDSET_MAX ? (int64_t)v : -1;
}

static const char *skip_space(const char *p)
{
    return p + strspn(p, " \t\n");
}

int idset_parse_list(struct idset *s, const char *text)
{
    const char *p = skip_space(text);

    while (*p) {
        int64_t from = number(&p), to = from;

        if (from >= 0 && *p == '-') {
            p++;
            to = number(&p);
        }
        if (from < 0 || to < from)
            return -1;
        for (int64_t i = from; i <= to; i++)
            idset_add(s, (unsigned)i);
        p = skip_space(p);
        if (*p && *p != ',')
            return -1;
        p = *p ? skip_space(p + 1) : p;
    }
    return 0;
}

/* Groups of at most eight digits, the most significant first: 32 bits each. Some who copy such files write
 * "0x" before them. */
int idset_parse_mask(struct idset *s, const char *text)
{
    const char *p = skip_space(text);
    size_t groups = *p ? 1 : 0;

    for (const char *c = p; *c; c++)
        groups += *c == ',';
    if (groups > IDSET_MAX / 32)
        return -1;
    for (; groups--; p = *p == ',' ? p + 1 : p) {
        size_t digits;
        unsigned long bits;

        p += !strncmp(p, "0x", 2) ? 2 : 0;
        digits = strspn(p, "0123456789abcdefABCDEF");
        bits = strtoul(p, NULL, 16);

        if (!digits || digits > 8 || (groups && p[digits] != ','))
            return -1;
        for (unsigned i = 0; i < 32; i++)
            if (bits >> i & 1)
                idset_add(s, (unsigned)groups * 32 + i);
        p += digits;
    }
    return *skip_space(p) ? -1 : 0;
}

void idset_text(const struct idset *s, struct buf *out)
{
    const char *comma = "";

    for (int64_t from = idset_first(s), to; from >= 0; from = idset_next(s, to)) {
        to = from;
        while (to + 1 < IDSET_MAX && idset_has(s, (unsigned)to + 1))
            to++;
        buf_addf(out, "%s%lld", comma, (long long)from);
        if (to > from)
            buf_addf(out, "-%lld", (long long)to);
        comma = ",";
    }
}
