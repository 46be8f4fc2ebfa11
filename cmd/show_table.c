/* SPDX-License-Identifier: Apache-2.0 */
#include "show_table.h"

#include <stdlib.h>

void show_table_text(struct table *t, const char *heading, const struct text_style *style, struct buf *out)
{
    if (table_rows(t)) {
        if (out->len)
            buf_addch(out, '\n');
        text_table(t, heading, style, out);
    }
    table_release(t);
}

void show_table_json(struct table *t, const char *key, struct json_writer *w)
{
    char *left_out = mem_printf("%s_left_out", key);

    text_table_json(t, key, w);
    json_u64(w, left_out, t->left_out);
    table_release(t);
    free(left_out);
}
