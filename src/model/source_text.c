/* SPDX-License-Identifier: Apache-2.0 */
#include "model/source_text.h"

#include "base/io.h"
#include "base/json.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 256 << 20 }; /* bytes: a recording has up to 4 MB, a merged one those of its recordings */

void source_text_release(struct source_text *t)
{
    strtab_release(&t->strings);
    vec_release(&t->lines);
    map_release(&t->places);
}

static uint64_t place(uint32_t file, uint32_t line)
{
    return (uint64_t)file << 32 | line;
}

int source_text_add(struct source_text *t, const char *file, uint32_t line, const char *text, size_t n)
{
    struct source_line new = {strtab_add(&t->strings, file), strtab_addn(&t->strings, text, n), line};
    uint64_t *at = map_put(&t->places, place(new.file, line));

    if (*at)
        return t->lines.a[*at - 1].text != new.text;
    *vec_push(&t->lines) = new;
    *at = t->lines.n;
    return 0;
}

const char *source_text_get(const struct source_text *t, const char *file, uint32_t line)
{
    uint32_t id = strtab_find(&t->strings, file);
    const uint64_t *at = id ? map_get(&t->places, place(id, line)) : NULL;

    return at ? strtab_get(&t->strings, t->lines.a[*at - 1].text) : NULL;
}

/* ---- the file ---- */

static uint64_t take_file(struct source_text *t, const struct json_value *f)
{
    const struct json_value *lines = json_get(f, "lines");
    const char *path = json_get_str(f, "path", "");
    uint64_t others = 0;

    for (const struct json_value *x = lines ? lines->child : NULL; x; x = x->next) {
        const struct json_value *number = x->type == JSON_ARRAY && x->len == 2 ? x->child : NULL;

        if (number && number->is_integer && number->integer > 0 && number->integer <= UINT32_MAX &&
            number->next->type == JSON_STRING)
            others +=
                source_text_add(t, path, (uint32_t)number->integer, number->next->str, number->next->len);
    }
    return others;
}

static int take(struct source_text *t, const struct buf *text, uint64_t *others)
{
    struct json_doc *doc = json_parse(buf_str(text), text->len, NULL);
    const struct json_value *files = doc ? json_get(json_root(doc), "files") : NULL;

    for (const struct json_value *f = files ? files->child : NULL; f; f = f->next)
        *others += take_file(t, f);
    json_free(doc);
    return files ? 1 : -1;
}

int source_text_read(struct source_text *t, const char *dir, uint64_t *others)
{
    char *path = mem_printf("%s/" SOURCE_TEXT, dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), rc = 0;
    struct buf text = {0};
    struct stat st;

    *others = 0;
    free(path);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX || io_read_fd(fd, &text, NULL))
        rc = -1;
    close(fd);
    if (!rc)
        rc = take(t, &text, others);
    buf_release(&text);
    return rc;
}

static int by_place(const void *pa, const void *pb)
{
    const struct source_line *a = pa, *b = pb;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static void write_lines(const struct source_text *t, const struct source_line *a, size_t n,
                        struct json_writer *w)
{
    json_object(w, NULL);
    json_str(w, "path", strtab_get(&t->strings, a->file));
    json_array(w, "lines");
    for (size_t i = 0; i < n; i++) {
        json_array(w, NULL);
        json_u64(w, NULL, a[i].line);
        json_str(w, NULL, strtab_get(&t->strings, a[i].text));
        json_end_array(w);
    }
    json_end_array(w);
    json_end_object(w);
}

void source_text_write(const struct source_text *t, struct buf *out)
{
    struct json_writer w = {.out = out};
    size_t n = t->lines.n;
    struct source_line *a = mem_alloc(n * sizeof(*a) + 1);

    if (n) {
        memcpy(a, t->lines.a, n * sizeof(*a));
        qsort(a, n, sizeof(*a), by_place);
    }
    json_object(&w, NULL);
    json_str(&w, "format", "wprof-source");
    json_u64(&w, "version", 1);
    json_array(&w, "files");
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && a[end].file == a[i].file; end++)
            ;
        write_lines(t, a + i, end - i, &w);
    }
    json_end_array(&w);
    json_end_object(&w);
    free(a);
}
