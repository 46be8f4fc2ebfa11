/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-16 as UTF-8, piece by piece: what Windows' shells write where output goes to a file. */
#ifndef WPROF_EXCHANGE_UTF16_H
#define WPROF_EXCHANGE_UTF16_H

#include "base/buf.h"

struct utf16 {
    int big;       /* the high byte first */
    uint32_t high; /* the first half of a pair, without its second; 0: none */
    int odd;       /* a byte without its second, -1: none */
};

/* Whether the text begins with a byte order mark of UTF-16, of 2 bytes; then *u is ready for what follows. */
int utf16_begins(struct utf16 *u, const void *p, size_t n);

/* Appends p[0..n) to `out`. A surrogate without its other half becomes U+FFFD. */
void utf16_add(struct utf16 *u, const void *p, size_t n, struct buf *out);

void utf16_end(struct utf16 *u, struct buf *out); /* halves that are left */

#endif
