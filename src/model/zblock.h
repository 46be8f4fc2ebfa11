/* SPDX-License-Identifier: Apache-2.0 */
/* One block's bytes through zstd. The only place that knows the library. */
#ifndef WPROF_MODEL_ZBLOCK_H
#define WPROF_MODEL_ZBLOCK_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

struct zpacker; /* a compression context, kept because making one is costly */

struct zpacker *zpacker_new(int level);
void zpacker_free(struct zpacker *z);

/*
 * Appends one zstd frame of raw[0..n) to out. cuts: ascending offsets in raw at which the statistics change
 * (a column ends): zstd starts a new block there, so that every column gets an entropy code of its own. 0, or
 * -1 with `e`.
 */
int zpacker_pack(struct zpacker *z, const void *raw, size_t n, const size_t *cuts, size_t ncuts,
                 struct buf *out, struct err *e);

/* Exactly raw_n bytes into raw, or -1. */
int zblock_unpack(const void *p, size_t n, void *raw, size_t raw_n);

/* A stream that comes in pieces, as others write them. */
struct zstream;

struct zstream *zstream_new(void); /* NULL: no memory for it */
void zstream_free(struct zstream *z);

/* Appends what the next piece of it holds to out, at most `limit` bytes of it. 0, or -1 with `e`: it is
 * damaged, or holds more. */
int zstream_unpack(struct zstream *z, const void *p, size_t n, size_t limit, struct buf *out, struct err *e);

#endif
