/* SPDX-License-Identifier: Apache-2.0 */
/* Writing protocol buffers, as far as it takes: the wire format of protobuf.dev/programming-guides/encoding.
 */
#ifndef WPROF_BASE_PROTO_H
#define WPROF_BASE_PROTO_H

#include "base/buf.h"

void proto_u64(struct buf *b, unsigned field,
               uint64_t v); /* also enum, bool, and int64 that is not negative */
void proto_fixed64(struct buf *b, unsigned field, uint64_t v);
void proto_str(struct buf *b, unsigned field, const char *s); /* bytes that are not UTF-8 become U+FFFD */

/* A message inside: at = proto_begin(b, 11); ... proto_end(b, at). Its length is put in front when it is
 * known. */
size_t proto_begin(struct buf *b, unsigned field);
void proto_end(struct buf *b, size_t at);

#endif
