/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/lines.h"

void mcp_lines_release(struct mcp_lines *l)
{
    buf_release(&l->text);
}

/* What was given out makes room for what comes. */
static void forget(struct mcp_lines *l)
{
    if (!l->at)
        return;
    memmove(l->text.data, l->text.data + l->at, l->text.len - l->at);
    l->text.len -= l->at;
    l->text.data[l->text.len] = '\0';
    l->seen -= l->at;
    l->at = 0;
}

void mcp_lines_add(struct mcp_lines *l, const char *p, size_t n)
{
    forget(l);
    if (l->over) {
        const char *end = memchr(p, '\n', n);

        if (!end)
            return;
        n -= (size_t)(end - p); /* its end stays, and tells that it is over */
        p = end;
    }
    buf_add(&l->text, p, n);
}

static void take(struct mcp_lines *l, size_t end, const char **line, size_t *n)
{
    *line = l->text.data + l->at;
    *n = end - l->at;
    if (*n && (*line)[*n - 1] == '\r')
        --*n;
}

enum mcp_line mcp_lines_next(struct mcp_lines *l, int eof, const char **line, size_t *n)
{
    const char *end =
        l->text.len > l->seen ? memchr(l->text.data + l->seen, '\n', l->text.len - l->seen) : NULL;
    size_t at = end ? (size_t)(end - l->text.data) : l->text.len, len = at - l->at;
    int whole = end || (eof && (len || l->over)), over = l->over || len > l->max;

    if (!whole) {
        l->seen = l->text.len;
        if (over) {
            l->over = 1;
            buf_clear(&l->text);
            l->at = l->seen = 0;
        }
        return MCP_LINE_NONE;
    }
    take(l, at, line, n);
    l->at = l->seen = at + (end ? 1 : 0);
    l->over = 0;
    return over ? MCP_LINE_TOO_LONG : MCP_LINE;
}
