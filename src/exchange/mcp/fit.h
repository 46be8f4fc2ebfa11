/* SPDX-License-Identifier: Apache-2.0 */
/* Results made fit to be sent: bounded, and harmless where somebody prints them. */
#ifndef WPROF_EXCHANGE_MCP_FIT_H
#define WPROF_EXCHANGE_MCP_FIT_H

#include "base/json.h"

/*
 * Appends the object on one line, in at most `max` bytes. Where it is longer, arrays lose their ends, then
 * long strings their middles, equally everywhere, until it fits; its member "cut_to_fit" says of which and
 * how much. Characters that act on a terminal are escaped. -1 with `e`: it is no object, or even so too long.
 */
int mcp_fit(const struct json_value *v, size_t max, struct buf *out, struct err *e);

/* A JSON text's characters that act on a terminal become escapes, which mean the same. */
void mcp_quiet_json(const struct buf *json, struct buf *out);
/* Plain text: such characters and bytes that are not UTF-8 become '?', line ends stay. */
void mcp_quiet_text(const char *p, size_t n, struct buf *out);

#endif
