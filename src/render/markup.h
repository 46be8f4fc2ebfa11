/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign text inside HTML and XML. The result is well-formed whatever the bytes were: markup is escaped,
 * control characters become their pictures (U+2400..), what is not UTF-8 or not allowed in XML becomes
 * U+FFFD, and so do the characters that would turn the direction of the text around them.
 */
#ifndef WPROF_RENDER_MARKUP_H
#define WPROF_RENDER_MARKUP_H

#include "base/buf.h"

void markup_text(struct buf *out, const char *s); /* s NULL: nothing */

/* At most `max` characters of s; where it is longer, the last of them is an ellipsis. Gives the count
 * written. */
size_t markup_cut(struct buf *out, const char *s, size_t max);

#endif
