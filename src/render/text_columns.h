/* SPDX-License-Identifier: Apache-2.0 */
/* How wide the columns of a table are. */
#ifndef WPROF_RENDER_TEXT_COLUMNS_H
#define WPROF_RENDER_TEXT_COLUMNS_H

#include "model/table.h"

/* A text that is longer than its column goes on below, and is cut where it is longer than these lines. */
enum { TEXT_LINES = 2 };

struct text_columns {
    size_t *width; /* of each column; 0: it isn't shown */
    int *dropped;  /* since the terminal is too narrow */
    int cut;       /* nothing is wider than its column */
};

/* screen: columns of the terminal; 0: as many as it takes. */
void text_columns(struct text_columns *f, const struct table *t, size_t screen);
void text_columns_release(struct text_columns *f);

/* Names those that a wider terminal would show; NULL: there are none. Owned by the caller. */
char *text_columns_without(const struct text_columns *f, const struct table *t);

#endif
