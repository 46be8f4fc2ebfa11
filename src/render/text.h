/* SPDX-License-Identifier: Apache-2.0 */
/* Views as text for a terminal or a file. */
#ifndef WPROF_RENDER_TEXT_H
#define WPROF_RENDER_TEXT_H

#include "base/buf.h"
#include "base/json.h"
#include "model/profile.h"
#include "model/quality.h"
#include "model/session.h"
#include "model/table.h"

struct text_style {
    int color;    /* SGR sequences */
    size_t width; /* columns of the terminal: what is longer is broken or cut; 0: never */
    size_t rows;  /* lines of the terminal, for what is to fit; 0: any number */
};

/* Foreign text, safe for a terminal: control bytes become '?'. At most `width` columns (0: all of it). */
void text_clean(const char *s, size_t width, struct buf *out);

/* Columns that a text takes, counted in characters. */
size_t text_width(const char *s);

/* Foreign text, made safe, and a line's end: words on lines of at most `width` columns (0: on one), each line
 * but the first behind `indent` blanks; `at`: columns of the first that are taken already. */
void text_wrap(struct buf *out, const char *s, size_t width, size_t indent, size_t at);

/* A heading (NULL: none), then the rows, columns aligned. On a terminal that is too narrow spare columns are
 * left out and texts go on below themselves; what was left out is said at the end. */
void text_table(const struct table *t, const char *heading, const struct text_style *style, struct buf *out);

/* One cell as tables show it: "12.3 %", "1.5 s", "-" where nothing was measured; foreign text made safe. */
void text_cell(const struct table_column *c, const union table_cell *v, struct buf *out);

/* An array of objects, one a row, under `key`. */
void text_table_json(const struct table *t, const char *key, struct json_writer *w);
/* One row, as members of the open object. */
void text_table_row_json(const struct table *t, size_t row, struct json_writer *w);

/* The call tree, heaviest first; what lies below min_share (0..1) of the whole is summed up in a line of its
 * own. */
void text_tree(const struct profile *p, size_t metric, double min_share, const struct text_style *style,
               struct buf *out);

/* What ran, and how well it was measured. */
void text_session(const struct session *s, const struct quality *q, const struct text_style *style,
                  struct buf *out);

#endif
