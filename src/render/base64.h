/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WPROF_RENDER_BASE64_H
#define WPROF_RENDER_BASE64_H

#include "base/buf.h"

/* Appends p[0..n) in base 64 (RFC 4648, section 4), padded, in one line. */
void base64_add(struct buf *out, const void *p, size_t n);

#endif
