/* SPDX-License-Identifier: Apache-2.0 */
#include "render/text_columns.h"

#include "render/text.h"

#include <stdlib.h>

enum {
    GAP = 2,          /* before each column */
    NAME_MIN = 20,    /* texts aren't made narrower */
    NAME_WANTED = 32, /* and get so much before spare columns get any */
    PIPED_MAX = 60,   /* columns that a text is padded to where nothing is cut; longer ones push their line to
                         the right */
};

static void measure(struct text_columns *f, const struct table *t)
{
    struct buf b = {0};

    for (size_t i = 0; i < t->cells.n; i++) {
        size_t c = i % t->ncolumns, n;

        if (!t->columns[c].title)
            continue;
        buf_clear(&b);
        text_cell(&t->columns[c], &t->cells.a[i], &b);
        n = text_width(buf_str(&b));
        f->width[c] = n > f->width[c] ? n : f->width[c];
    }
    for (size_t c = 0; c < t->ncolumns; c++) {
        size_t n = t->columns[c].title ? text_width(t->columns[c].title) : 0;

        if (table_is_empty(t, c))
            f->width[c] = 0;
        else if (n > f->width[c])
            f->width[c] = n;
    }
    buf_release(&b);
}

/* Columns of a line whose texts have `most` at the most. */
static size_t line_width(const struct text_columns *f, const struct table *t, size_t most)
{
    size_t sum = 0;

    for (size_t c = 0; c < t->ncolumns; c++)
        if (f->width[c])
            sum += GAP + (t->columns[c].type == TABLE_TEXT && f->width[c] > most ? most : f->width[c]);
    return sum;
}

static void drop_spare(struct text_columns *f, const struct table *t, size_t screen)
{
    while (line_width(f, t, NAME_WANTED) > screen) {
        size_t at = t->ncolumns;

        for (size_t c = 0; c < t->ncolumns; c++)
            if (f->width[c] && t->columns[c].spare &&
                (at == t->ncolumns || t->columns[c].spare > t->columns[at].spare))
                at = c;
        if (at == t->ncolumns)
            return;
        f->width[at] = 0;
        f->dropped[at] = 1;
    }
}

void text_columns(struct text_columns *f, const struct table *t, size_t screen)
{
    size_t most = PIPED_MAX;

    f->width = mem_calloc(t->ncolumns, sizeof(*f->width));
    f->dropped = mem_calloc(t->ncolumns, sizeof(*f->dropped));
    f->cut = screen > 0;
    measure(f, t);
    if (screen) {
        drop_spare(f, t, screen);
        for (most = screen; most > NAME_MIN && line_width(f, t, most) > screen;)
            most--;
    }
    for (size_t c = 0; c < t->ncolumns; c++)
        if (t->columns[c].type == TABLE_TEXT && f->width[c] > most)
            f->width[c] = most;
}

void text_columns_release(struct text_columns *f)
{
    free(f->width);
    free(f->dropped);
    *f = (struct text_columns){0};
}

char *text_columns_without(const struct text_columns *f, const struct table *t)
{
    struct buf b = {0};

    for (size_t c = 0; c < t->ncolumns; c++)
        if (f->dropped[c] && *t->columns[c].title)
            buf_addf(&b, "%s%s", b.len ? ", " : "left out to fit the terminal: ", t->columns[c].title);
    return b.len ? buf_detach(&b) : NULL;
}
