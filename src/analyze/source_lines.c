/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/source_lines.h"

#include "analyze/tops.h"
#include "base/io.h"
#include "model/source_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TEXT = 4 << 20, MAX_FILE = 8 << 20, MAX_LINE = 240 };

static const struct table_column columns[] = {
    {"self_share", "self", TABLE_SHARE},
    {"self", "", TABLE_COUNT},
    {"total_share", "total", TABLE_SHARE},
    {"total", "", TABLE_COUNT},
    {"function", "function", TABLE_TEXT},
    {"file", "file", TABLE_TEXT},
    {"line", "line", TABLE_ID},
    {"text", "what it says", TABLE_TEXT},
};

enum { SELF_SHARE, SELF, TOTAL_SHARE, TOTAL, FUNCTION, FILE_, LINE, TEXT };

/* ---- recording ---- */

struct place {
    uint32_t file, line;
};

static int by_place(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Source text alone: a name that a program made up leads nowhere else. */
static int read_source(const char *path, struct buf *out)
{
    size_t n = strlen(path);
    struct stat st;
    int fd, rc = -1;

    if (*path != '/' || n < 3 || strcmp(path + n - 3, ".py"))
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= MAX_FILE)
        rc = io_read_fd(fd, out, NULL);
    close(fd);
    return rc;
}

/* Line by line through the text; `want` rises. Gives the bytes that were added. */
static size_t add_lines(struct source_text *t, const char *path, const char *text, const struct place *want,
                        size_t n)
{
    uint32_t line = 1;
    size_t bytes = 0;

    for (size_t i = 0; i < n && *text;) {
        size_t len = strcspn(text, "\n"), skip = strspn(text, " \t");

        if (line == want[i].line) {
            size_t keep = skip < len ? len - skip : 0;

            while (keep && strchr(" \t\r", text[skip + keep - 1]))
                keep--;
            keep = keep < MAX_LINE ? keep : MAX_LINE;
            source_text_add(t, path, line, text + (skip < len ? skip : 0), keep);
            bytes += keep;
            i++;
        }
        text += len;
        text += *text == '\n';
        line++;
    }
    return bytes;
}

static size_t add_file(struct source_text *t, const struct store *s, const struct place *a, size_t n)
{
    const char *path = strtab_get(&s->strings, a->file);
    struct buf text = {0};
    size_t bytes = 0;

    if (!read_source(path, &text))
        bytes = add_lines(t, path, buf_str(&text), a, n);
    buf_release(&text);
    return bytes;
}

size_t source_lines_read(const struct store *s, struct buf *out)
{
    VEC(struct place) places = {0};
    struct source_text t = {0};
    size_t bytes = 0, added;

    for (size_t i = 0; i < s->frames.list.n; i++) {
        const struct frame *f = &s->frames.list.a[i];

        if (f->kind == FRAME_PYTHON && f->file && f->line)
            *vec_push(&places) = (struct place){f->file, f->line};
    }
    if (places.n)
        qsort(places.a, places.n, sizeof(*places.a), by_place);
    for (size_t i = 0, end, n; i < places.n && bytes < MAX_TEXT; i = end) {
        for (end = i, n = i; end < places.n && places.a[end].file == places.a[i].file; end++)
            if (end == i || places.a[end].line != places.a[n - 1].line)
                places.a[n++] = places.a[end];
        bytes += add_file(&t, s, &places.a[i], n - i);
    }
    source_text_write(&t, out);
    added = t.lines.n;
    source_text_release(&t);
    vec_release(&places);
    return added;
}

/* ---- reading ---- */

/* The columns of tops_functions() by their keys. */
static const union table_cell *cell(const struct table *t, size_t row, const char *key)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!strcmp(t->columns[i].key, key))
            return &t->cells.a[row * t->ncolumns + i];
    return NULL;
}

void source_lines_table(struct table *t, const struct session *s, const struct profile *p, size_t limit)
{
    struct source_text source = {0};
    struct table all;
    uint64_t others;

    table_init(t, columns, ARRAY_SIZE(columns));
    if (session_files(s)) /* without it, or where it is damaged, lines have no text */
        source_text_read(&source, session_files(s), &others);
    tops_functions(&all, p, 0, TOPS_LINE, 0, 0);
    for (size_t i = 0; i < table_rows(&all); i++) {
        const char *kind = cell(&all, i, "kind")->text, *file = cell(&all, i, "file")->text;
        uint64_t line = cell(&all, i, "line")->count;
        union table_cell *c;

        if (!kind || strcmp(kind, "python") || !line)
            continue;
        if (limit && table_rows(t) >= limit) {
            t->left_out++;
            continue;
        }
        c = table_add(t);
        c[SELF_SHARE].share = cell(&all, i, "self_share")->share;
        c[SELF].count = cell(&all, i, "self")->count;
        c[TOTAL_SHARE].share = cell(&all, i, "total_share")->share;
        c[TOTAL].count = cell(&all, i, "total")->count;
        c[FUNCTION].text = mem_strdup(cell(&all, i, "function")->text);
        c[FILE_].text = mem_strdup(file);
        c[LINE].count = line;
        c[TEXT].text =
            mem_strdup(file && line <= UINT32_MAX ? source_text_get(&source, file, (uint32_t)line) : NULL);
    }
    table_release(&all);
    source_text_release(&source);
}
