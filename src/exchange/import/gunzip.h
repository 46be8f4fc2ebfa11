/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952), several members too, from a descriptor. */
#ifndef WPROF_EXCHANGE_GUNZIP_H
#define WPROF_EXCHANGE_GUNZIP_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct gunzip;

int gunzip_is(const void *p, size_t n); /* whether p[0..n) begins like gzip */

/* What fd gives follows p[0..n), which was read from it already and is copied. fd stays the caller's. */
struct gunzip *gunzip_new(int fd, const void *p, size_t n);
void gunzip_free(struct gunzip *g);

/* Up to n bytes to `to`: how many, 0 at the end, -1 with `e`. Damage is an end: see gunzip_damage(). */
ssize_t gunzip_read(struct gunzip *g, void *to, size_t n, struct err *e);

/* The other way round: appends p[0..n) as one member, always the same bytes. */
void gunzip_reverse(const void *p, size_t n, struct buf *out);

const char *gunzip_damage(const struct gunzip *g); /* what was wrong; NULL: nothing */

#endif
