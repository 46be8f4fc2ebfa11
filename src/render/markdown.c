/* SPDX-License-Identifier: Apache-2.0 */
#include "render/markdown.h"

#include <cmark.h>
#include <stdlib.h>
#include <string.h>

/* The number of the block that a node stands for; -1: it is what it is. */
static long block_of(cmark_node *node)
{
    const char *info =
        cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK ? cmark_node_get_fence_info(node) : "";
    size_t n = strlen(MARKDOWN_BLOCK);
    char *end;
    long i;

    if (strncmp(info, MARKDOWN_BLOCK " ", n + 1))
        return -1;
    i = strtol(info + n + 1, &end, 10);
    return end == info + n + 1 || *end ? -1 : i;
}

/* 0 where there is no such block. */
static int put_block(cmark_node *node, const char *html)
{
    cmark_node *block = cmark_node_new(CMARK_NODE_CUSTOM_BLOCK);
    int ok = block && cmark_node_set_on_enter(block, html) && cmark_node_replace(node, block);

    cmark_node_free(ok ? node : block);
    return ok;
}

static int put_blocks(cmark_node *doc, char *const *blocks, size_t n, struct err *e)
{
    cmark_node *next;

    for (cmark_node *node = cmark_node_first_child(doc); node; node = next) {
        long i = block_of(node);

        next = cmark_node_next(node);
        if (i < 0)
            continue;
        if ((size_t)i >= n)
            return err_set(e, "block %ld of %zu is asked for", i, n);
        if (!put_block(node, blocks[i]))
            return err_set(e, "cmark cannot put block %ld into its place", i);
    }
    return 0;
}

int markdown_html(const char *text, size_t n, char *const *blocks, size_t nblocks, struct buf *out,
                  struct err *e)
{
    cmark_node *doc = cmark_parse_document(text, n, CMARK_OPT_DEFAULT);
    char *html;
    int rc;

    if (!doc)
        return err_set(e, "cmark cannot read the text");
    rc = put_blocks(doc, blocks, nblocks, e);
    html = rc ? NULL : cmark_render_html(doc, CMARK_OPT_DEFAULT);
    if (html)
        buf_addstr(out, html);
    else if (!rc)
        rc = err_set(e, "cmark cannot write the text as HTML");
    free(html);
    cmark_node_free(doc);
    return rc;
}
