/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/tokens.h"

#include "base/hash.h"

#include <string.h>

#define EACH_BYTE(b) (0x0101010101010101u * (b))

static uint64_t load(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* The lowest k < 8 bytes of w. */
static uint64_t low(uint64_t w, size_t k)
{
    return w & ((1ull << (8 * k)) - 1);
}

void tokens_release(struct tokens *t)
{
    free(t->slots);
    vec_release(&t->words);
    *t = (struct tokens){0};
}

size_t tokens_scan(const char *p, size_t n, uint64_t *hash)
{
    uint64_t h = 0;

    for (size_t i = 0;; i += 8) {
        uint64_t w = load(p + i), x = w ^ EACH_BYTE(';');
        /* The lowest set bit is at the lowest byte of x that is zero (Mycroft's test: higher ones may be
         * wrong). */
        uint64_t zero = (x - EACH_BYTE(0x01)) & ~x & EACH_BYTE(0x80);
        size_t k;

        if (n - i < 8)
            zero |= 0x80ull << (8 * (n - i));
        if (!zero) {
            h = hash_mix(h, w);
            continue;
        }
        k = (size_t)__builtin_ctzll(zero) / 8;
        *hash = hash_mix(h ^ (i + k), low(w, k));
        return i + k;
    }
}

uint64_t tokens_hash(const char *p, size_t n)
{
    uint64_t h = n;

    for (; n >= 8; n -= 8, p += 8)
        h = hash_mix(h, load(p));
    return hash_mix(h, low(load(p), n));
}

static int same(const struct tokens *t, const struct token_slot *s, const char *p, size_t len)
{
    const uint64_t *w = len ? t->words.a + s->text : NULL;

    for (; len >= 8; len -= 8, p += 8)
        if (*w++ != load(p))
            return 0;
    return !len || *w == low(load(p), len);
}

static void grow(struct tokens *t)
{
    struct token_slot *old = t->slots;
    size_t cap = t->cap;

    t->cap = cap ? cap * 2 : 4096;
    t->slots = mem_calloc(t->cap, sizeof(*t->slots));
    for (size_t i = 0; i < cap; i++) {
        size_t at = old[i].hash & (t->cap - 1);

        if (!old[i].value)
            continue;
        while (t->slots[at].value)
            at = (at + 1) & (t->cap - 1);
        t->slots[at] = old[i];
    }
    free(old);
}

uint32_t *tokens_get(struct tokens *t, const char *p, size_t len, uint64_t hash)
{
    struct token_slot *s;

    if (t->n * 2 >= t->cap)
        grow(t);
    for (size_t at = hash & (t->cap - 1);; at = (at + 1) & (t->cap - 1)) {
        s = &t->slots[at];
        if (!s->value)
            break;
        if (s->hash == (uint32_t)hash && s->len == len && same(t, s, p, len))
            return &s->value;
    }
    *s = (struct token_slot){(uint32_t)hash, (uint32_t)len, (uint32_t)t->words.n, 0};
    t->n++;
    for (; len >= 8; len -= 8, p += 8)
        *vec_push(&t->words) = load(p);
    if (len)
        *vec_push(&t->words) = low(load(p), len);
    return &s->value;
}
