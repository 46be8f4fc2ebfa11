/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of a stream, none longer than a bound: what is beyond is read over, not kept. */
#ifndef WPROF_EXCHANGE_MCP_LINES_H
#define WPROF_EXCHANGE_MCP_LINES_H

#include "base/buf.h"

struct mcp_lines {
    size_t max;
    struct buf text; /* the bytes of the lines that are not over, from `at` */
    size_t at, seen; /* seen: up to there is no line's end */
    int over;        /* the line has been too long, its end is still to come */
};

enum mcp_line { MCP_LINE_NONE, MCP_LINE, MCP_LINE_TOO_LONG };

void mcp_lines_release(struct mcp_lines *l);
void mcp_lines_add(struct mcp_lines *l, const char *p, size_t n);

/* The next one, without its end ("\n" or "\r\n"); valid until bytes are added. A line that is too long is
 * told once, when it is over. `eof`: the last one needs no end. */
enum mcp_line mcp_lines_next(struct mcp_lines *l, int eof, const char **line, size_t *n);

#endif
