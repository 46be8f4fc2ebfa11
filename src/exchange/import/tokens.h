/* SPDX-License-Identifier: Apache-2.0 */
/* A table of short texts for readers of large files: finding the text's end, hashing and comparing go by
 * words. */
#ifndef WPROF_EXCHANGE_TOKENS_H
#define WPROF_EXCHANGE_TOKENS_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

enum { TOKENS_PAD = 8 }; /* bytes behind a text that must be readable */

struct token_slot {
    uint32_t hash, len;
    uint32_t text;  /* its first word in `words` */
    uint32_t value; /* 0: free */
};

struct tokens {
    struct token_slot *slots;
    size_t n, cap;
    VEC(uint64_t) words; /* every text, padded with zeros */
};

void tokens_release(struct tokens *t);

/* The token at p[0..n) that ends at the first `;` or at n: its length, and its hash for tokens_get. */
size_t tokens_scan(const char *p, size_t n, uint64_t *hash);

/* The hash of p[0..n), whatever is in it. */
uint64_t tokens_hash(const char *p, size_t n);

/* The value of the token, to be set when it is 0: new. Valid until the next call. */
uint32_t *tokens_get(struct tokens *t, const char *p, size_t len, uint64_t hash);

#endif
