/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WPROF_BASE_UTF8_H
#define WPROF_BASE_UTF8_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at p (1..4), 0 where there is none: overlong forms, surrogates, values above
 * U+10FFFF and cut-off sequences are none (Unicode 15, table 3-7). */
size_t utf8_len(const void *p, size_t n);

/* Writes c (a scalar value) to out and returns how many bytes that took. */
size_t utf8_put(char out[4], uint32_t c);

/* Whether all of a string is UTF-8. */
int utf8_is(const char *s);
/* Appends a string as UTF-8: bytes that are none become U+FFFD. */
void utf8_add(struct buf *out, const char *s);

/* Whether the character at p (of `len` bytes, from utf8_len) acts on a terminal instead of being shown:
 * control bytes, C1 controls, line separators, what has no width, what turns the direction of writing
 * (Unicode's Bidi_Control). */
int utf8_acts(const char *p, size_t len);

#endif
