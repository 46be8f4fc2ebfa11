/* SPDX-License-Identifier: Apache-2.0 */
#include "render/markdown.h"

int markdown_html(const char *text, size_t n, char *const *blocks, size_t nblocks, struct buf *out,
                  struct err *e)
{
    return err_set(e, "this wprof is built without cmark, which makes the page of the report: --format md "
                      "has the same text");
}
