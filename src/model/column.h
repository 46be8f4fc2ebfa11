/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of whole numbers, the coding of everything in a wlog payload but string bytes. A column is a coding
 * byte and what follows from it; its length is known from the block. Laid down in wprof-session(5).
 */
#ifndef WPROF_MODEL_COLUMN_H
#define WPROF_MODEL_COLUMN_H

#include "model/wlog.h"

#include <stdint.h>

enum column_coding {
    COLUMN_CONST,        /* varint: every element */
    COLUMN_VARINT,       /* n varints */
    COLUMN_DELTA,        /* n zigzag varints: difference from the element before, the first from 0 */
    COLUMN_PLANES,       /* u8 width; the lowest bytes of all n, then the next ... : width * n bytes */
    COLUMN_DELTA_PLANES, /* the same of the zigzag differences */
    COLUMN_CODINGS,
};

struct zpacker;

/* Puts v[0..n) at the end of the payload. A constant column is always coded as such. */
void column_put(struct wlog_payload *p, const uint64_t *v, size_t n, enum column_coding coding);

/* The same in the coding that zstd makes smallest, found by trying: for logs that are written once and kept.
 */
void column_put_best(struct wlog_payload *p, const uint64_t *v, size_t n, struct zpacker *trial);

/* v as its distance from `before`, small distances to either side as small numbers; modulo 2^64. */
static inline uint64_t column_zigzag(uint64_t v, uint64_t before)
{
    int64_t d = (int64_t)(v - before);

    return ((uint64_t)d << 1) ^ (uint64_t)(d >> 63);
}

static inline uint64_t column_unzigzag(uint64_t z, uint64_t before)
{
    return before + ((z >> 1) ^ -(z & 1));
}

/* Fills v[0..n). A bad column sets c->bad and zeroes v. */
void column_get(struct cursor *c, uint64_t *v, size_t n);

#endif
