/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_MIN = 20,
    PIPED_MAX = 60, /* columns that a text is padded to where nothing is cut; longer ones push their line to
                       the right */
};

static int is_unmeasured(const struct table_column *c, const union table_cell *v)
{
    switch (c->type) {
    case TABLE_COUNT:
    case TABLE_NS:
    case TABLE_BYTES:
        return v->count == TABLE_NONE;
    case TABLE_REAL:
        return isnan(v->share);
    case TABLE_FIGURE:
        return !v->text;
    default:
        return 0;
    }
}

void text_cell(const struct table_column *c, const union table_cell *v, struct buf *out)
{
    char text[64];

    if (is_unmeasured(c, v)) {
        buf_addstr(out, "-");
        return;
    }
    switch (c->type) {
    case TABLE_TEXT:
    case TABLE_FIGURE:
        if (v->text)
            text_clean(v->text, 0, out);
        break;
    case TABLE_COUNT:
        buf_addstr(out, units_count(text, sizeof(text), v->count));
        break;
    case TABLE_ID:
        buf_addf(out, "%llu", (unsigned long long)v->count);
        break;
    case TABLE_SHARE:
        buf_addstr(out, isnan(v->share) ? "-" : units_share(text, sizeof(text), v->share));
        break;
    case TABLE_BYTES:
        buf_addstr(out, units_size(text, sizeof(text), v->count));
        break;
    case TABLE_REAL:
        buf_addf(out, "%.2f", v->share);
        break;
    case TABLE_NS:
        buf_addstr(out, v->count ? units_duration(text, sizeof(text), v->count) : "-");
        break;
    }
}

/* Columns shown, counted in characters, not bytes. */
static size_t shown_width(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void pad(struct buf *out, size_t n)
{
    for (; n; n--)
        buf_addch(out, ' ');
}

static void measure(const struct table *t, size_t *width)
{
    struct buf b = {0};

    for (size_t c = 0; c < t->ncolumns; c++)
        width[c] = t->columns[c].title ? shown_width(t->columns[c].title) : 0;
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t c = i % t->ncolumns, n;

        if (!t->columns[c].title)
            continue;
        buf_clear(&b);
        text_cell(&t->columns[c], &t->cells.a[i], &b);
        n = shown_width(buf_str(&b));
        width[c] = n > width[c] ? n : width[c];
    }
    buf_release(&b);
}

/* The widest text column gives way when a line would not fit. */
static void fit(const struct table *t, size_t *width, size_t screen)
{
    size_t sum = 2, widest = 0, excess;

    for (size_t c = 0; c < t->ncolumns; c++) {
        if (!t->columns[c].title)
            continue;
        sum += width[c] + 2;
        if (t->columns[c].type == TABLE_TEXT && width[c] > width[widest])
            widest = c;
    }
    for (size_t c = 0; !screen && c < t->ncolumns; c++)
        if (t->columns[c].type == TABLE_TEXT && width[c] > PIPED_MAX)
            width[c] = PIPED_MAX;
    if (!screen || sum <= screen || t->columns[widest].type != TABLE_TEXT)
        return;
    excess = sum - screen;
    width[widest] = width[widest] > excess + NAME_MIN ? width[widest] - excess : NAME_MIN;
}

static void put_cell(const char *s, size_t width, int cut, int left, int last, struct buf *out)
{
    struct buf b = {0};
    size_t n;

    text_clean(s, cut ? width : 0, &b);
    n = shown_width(buf_str(&b));
    width = n > width ? n : width;
    if (!left)
        pad(out, width - n);
    buf_add(out, buf_str(&b), b.len);
    if (left && !last)
        pad(out, width - n);
    buf_release(&b);
}

static void put_line(const struct table *t, const size_t *width, int cut, const union table_cell *row,
                     struct buf *out)
{
    size_t last = 0;

    for (size_t c = 0; c < t->ncolumns; c++)
        if (t->columns[c].title && width[c])
            last = c;
    for (size_t c = 0; c <= last; c++) {
        struct buf b = {0};

        if (!t->columns[c].title || !width[c])
            continue;
        if (row)
            text_cell(&t->columns[c], &row[c], &b);
        else
            buf_addstr(&b, t->columns[c].title);
        buf_addstr(out, "  ");
        put_cell(buf_str(&b), width[c], cut, t->columns[c].type == TABLE_TEXT, c == last, out);
        buf_release(&b);
    }
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
    buf_addch(out, '\n');
}

void text_table(const struct table *t, const char *heading, const struct text_style *style, struct buf *out)
{
    size_t *width = mem_calloc(t->ncolumns, sizeof(*width));
    char count[32];

    measure(t, width);
    fit(t, width, style->width);
    if (heading)
        buf_addf(out, "%s%s%s\n", style->color ? "\033[1m" : "", heading, style->color ? "\033[0m" : "");
    if (!t->cells.n) {
        buf_addstr(out, "  none\n");
    } else {
        if (style->color)
            buf_addstr(out, "\033[2m");
        put_line(t, width, style->width > 0, NULL, out);
        if (style->color)
            buf_addstr(out, "\033[0m");
        for (size_t i = 0; i < table_rows(t); i++)
            put_line(t, width, style->width > 0, &t->cells.a[i * t->ncolumns], out);
    }
    if (t->left_out)
        buf_addf(out, "  ... %s more (--top 0 shows all)\n", units_count(count, sizeof(count), t->left_out));
    free(width);
}

void text_table_row_json(const struct table *t, size_t row, struct json_writer *w)
{
    for (size_t i = 0; i < t->ncolumns; i++) {
        const struct table_column *c = &t->columns[i];
        const union table_cell *v = &t->cells.a[row * t->ncolumns + i];

        if (table_is_text(c->type))
            json_str(w, c->key, v->text);
        else if (is_unmeasured(c, v))
            json_null(w, c->key);
        else if (c->type == TABLE_SHARE || c->type == TABLE_REAL)
            json_f64(w, c->key, v->share);
        else
            json_u64(w, c->key, v->count);
    }
}

void text_table_json(const struct table *t, const char *key, struct json_writer *w)
{
    json_array(w, key);
    for (size_t i = 0; i < table_rows(t); i++) {
        json_object(w, NULL);
        text_table_row_json(t, i, w);
        json_end_object(w);
    }
    json_end_array(w);
}
