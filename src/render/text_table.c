/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "render/text.h"
#include "render/text_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* ---- rows ---- */

/* What is still to come of a cell. */
struct pieces {
    struct buf text;
    const char *at;
};

static int breaks_behind(char c)
{
    return c && strchr(" ;,:/", c) != NULL;
}

/* Bytes of s on a line of `width` columns (0: all of them): up to where a word ends, if one does so late in
 * the line. */
static size_t piece(const char *s, size_t width)
{
    size_t n = 0, columns = 0, good = 0;

    if (!width || text_width(s) <= width)
        return strlen(s);
    for (; s[n]; n++) {
        if (((unsigned char)s[n] & 0xc0) != 0x80 && columns++ == width)
            break;
        if (breaks_behind(s[n]) && !(s[n] == ':' && s[n + 1] == ':') && columns >= width - width / 3)
            good = n + 1;
    }
    return s[n] == ' ' || !good ? n : good;
}

static void pad(struct buf *out, size_t n)
{
    for (; n; n--)
        buf_addch(out, ' ');
}

static void put_piece(struct pieces *p, const struct table_column *c, size_t width, int cut, struct buf *out)
{
    size_t n = piece(p->at, cut ? width : 0), shown;
    char *text = mem_strndup(p->at, n);

    shown = text_width(text);
    if (c->type != TABLE_TEXT && shown < width)
        pad(out, width - shown);
    buf_addstr(out, text);
    if (c->type == TABLE_TEXT && shown < width)
        pad(out, width - shown);
    p->at += n;
    p->at += strspn(p->at, " ");
    free(text);
}

/* One line of a row; whether more are to follow. */
static int put_line(const struct text_columns *f, const struct table *t, struct pieces *p, struct buf *out)
{
    int more = 0;

    for (size_t c = 0; c < t->ncolumns; c++) {
        if (!f->width[c])
            continue;
        buf_addstr(out, "  ");
        put_piece(&p[c], &t->columns[c], f->width[c], f->cut, out);
        more |= *p[c].at != 0;
    }
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
    buf_addch(out, '\n');
    return more;
}

/* NULL: the columns' titles. */
static void put_row(const struct text_columns *f, const struct table *t, const union table_cell *row,
                    struct buf *out)
{
    struct pieces *p = mem_calloc(t->ncolumns, sizeof(*p));

    for (size_t c = 0; c < t->ncolumns; c++) {
        struct buf whole = {0};

        if (row)
            text_cell(&t->columns[c], &row[c], &whole);
        else
            buf_addstr(&whole, t->columns[c].title ? t->columns[c].title : "");
        text_clean(buf_str(&whole), f->cut ? TEXT_LINES * f->width[c] : 0, &p[c].text);
        p[c].at = buf_str(&p[c].text);
        buf_release(&whole);
    }
    while (put_line(f, t, p, out))
        ;
    for (size_t c = 0; c < t->ncolumns; c++)
        buf_release(&p[c].text);
    free(p);
}

static void put_rows(const struct table *t, const struct text_style *style, struct buf *out)
{
    struct text_columns f = {0};
    char *without;

    text_columns(&f, t, style->width);
    buf_addstr(out, style->color ? "\033[2m" : "");
    put_row(&f, t, NULL, out);
    buf_addstr(out, style->color ? "\033[0m" : "");
    for (size_t i = 0; i < table_rows(t); i++)
        put_row(&f, t, &t->cells.a[i * t->ncolumns], out);
    without = text_columns_without(&f, t);
    if (without) {
        buf_addstr(out, "  ");
        text_wrap(out, without, style->width, 2, 2);
    }
    free(without);
    text_columns_release(&f);
}

void text_table(const struct table *t, const char *heading, const struct text_style *style, struct buf *out)
{
    char count[32];

    if (heading) {
        buf_addstr(out, style->color ? "\033[1m" : "");
        text_wrap(out, heading, style->width, 0, 0);
        if (style->color) { /* ends where the line does */
            out->len--;
            buf_addstr(out, "\033[0m\n");
        }
    }
    if (t->cells.n)
        put_rows(t, style, out);
    else
        buf_addstr(out, "  none\n");
    if (t->left_out)
        buf_addf(out, "  ... %s more (--top 0 shows all)\n", units_count(count, sizeof(count), t->left_out));
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
