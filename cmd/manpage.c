/* SPDX-License-Identifier: Apache-2.0 */
#include "manpage.h"

#include "base/self.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 80, INDENT = 4 };

static char *try_page(int installed, const char *dir, const char *name)
{
    for (int section = 1; section <= 8; section++) {
        struct buf path = {0};
        const char *prefix = strcmp(name, "wprof") && strncmp(name, "wprof-", 6) ? "wprof-" : "";

        buf_addf(&path, "%s/", dir);
        buf_addf(&path, installed ? "../share/man/man%d/" : "man/", section);
        buf_addf(&path, "%s%s.%d", prefix, name, section);
        if (!access(path.data, R_OK))
            return buf_detach(&path);
        buf_release(&path);
    }
    return NULL;
}

char *manpage_find(const char *name)
{
    struct err e = {0};
    char *dir = self_program(&e), *slash = dir ? strrchr(dir, '/') : NULL, *page = NULL;

    if (slash && !strchr(name, '/')) {
        *slash = '\0';
        page = try_page(0, dir, name);
        page = page ? page : try_page(1, dir, name);
    }
    free(dir);
    return page;
}

struct filler {
    struct buf *out;
    struct buf word;
    size_t column, indent;
    int bullet;   /* the next line begins with one */
    int verbatim; /* between nf and fi */
    int heading;  /* the next line is one */
    int gap;      /* a blank line goes before what follows */
    int fresh;    /* a heading stands above: no blank line */
};

static size_t shown(const struct buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += ((unsigned char)b->data[i] & 0xc0) != 0x80;
    return n;
}

static void spaces(struct buf *out, size_t n)
{
    for (; n; n--)
        buf_addch(out, ' ');
}

static void end_line(struct filler *f)
{
    if (f->column)
        buf_addch(f->out, '\n');
    f->column = 0;
}

static void begin_line(struct filler *f)
{
    if (f->gap && f->out->len)
        buf_addch(f->out, '\n');
    f->gap = f->fresh = 0;
    spaces(f->out, f->bullet ? f->indent - 2 : f->indent);
    if (f->bullet)
        buf_addstr(f->out, "- ");
    f->bullet = 0;
    f->column = f->indent;
}

static void put_word(struct filler *f)
{
    size_t n = shown(&f->word);

    if (!n)
        return;
    if (f->column && f->column + 1 + n > WIDTH)
        end_line(f);
    if (!f->column) {
        begin_line(f);
    } else {
        buf_addch(f->out, ' ');
        f->column++;
    }
    buf_add(f->out, f->word.data, f->word.len);
    f->column += n;
    buf_clear(&f->word);
}

/* "\[bu]": the characters that cmark names (groff_char(7)). */
static const char *named(const char *s, size_t n)
{
    static const struct {
        const char *name, *text;
    } all[] = {{"bu", "*"},  {"dq", "\""}, {"aq", "'"}, {"cq", "'"}, {"oq", "'"}, {"lq", "\""},
               {"rq", "\""}, {"em", "--"}, {"en", "-"}, {"ti", "~"}, {"ha", "^"}, {"rs", "\\"}};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (strlen(all[i].name) == n && !strncmp(all[i].name, s, n))
            return all[i].text;
    return "?";
}

/* What an escape at s (behind the backslash) stands for goes to out; how long it is. */
static size_t escape(const char *s, size_t n, struct buf *out)
{
    const char *open = n && *s == 'f' ? s + 1 : s, *close;

    if (open < s + n && *open == '[' && (close = memchr(open, ']', n - (size_t)(open - s)))) {
        if (open == s)
            buf_addstr(out, named(s + 1, (size_t)(close - s) - 1));
        return (size_t)(close - s) + 1;
    }
    if (n && *s == 'e')
        buf_addch(out, '\\');
    else if (n && *s != '&')
        buf_addch(out, *s);
    return n ? 1 : 0;
}

static void plain(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        if (s[i] == '\\')
            i += 1 + escape(s + i + 1, n - i - 1, out);
        else
            buf_addch(out, s[i++]);
    }
}

static void text_line(struct filler *f, const char *s, size_t n)
{
    struct buf line = {0};

    plain(s, n, &line);
    if (f->verbatim && !line.len) {
        f->gap = 1;
    } else if (f->verbatim) {
        begin_line(f);
        buf_add(f->out, line.data, line.len);
        end_line(f);
    } else {
        for (size_t i = 0; i < line.len; i++) {
            if (line.data[i] == ' ')
                put_word(f);
            else
                buf_addch(&f->word, line.data[i]);
        }
        put_word(f);
    }
    if (f->heading) {
        end_line(f);
        f->fresh = 1;
    }
    f->heading = 0;
    buf_release(&line);
}

static int is(const char *s, size_t n, const char *request)
{
    size_t len = strlen(request);

    return n >= len && !strncmp(s, request, len) && (n == len || s[len] == ' ');
}

static void request(struct filler *f, const char *s, size_t n)
{
    end_line(f);
    if (is(s, n, ".SH") || is(s, n, ".SS")) {
        f->heading = f->gap = 1;
        f->indent = is(s, n, ".SS") ? 2 : 0;
        if (n > 4)
            text_line(f, s + 4, n - 4);
        return;
    }
    f->gap |= is(s, n, ".PP") && !f->fresh;
    f->indent = is(s, n, ".IP") ? INDENT + 2 : is(s, n, ".PP") || f->indent < INDENT ? INDENT : f->indent;
    f->bullet = is(s, n, ".IP");
    if (is(s, n, ".nf") || is(s, n, ".fi"))
        f->verbatim = is(s, n, ".nf");
}

void manpage_text(const char *roff, struct buf *out)
{
    struct filler f = {.out = out, .indent = INDENT};

    while (*roff) {
        size_t n = strcspn(roff, "\n");

        if (*roff == '.' && !is(roff, n, ".TH"))
            request(&f, roff, n);
        else if (*roff != '.')
            text_line(&f, roff, n);
        if (!f.heading && f.indent < INDENT && !f.column)
            f.indent = INDENT;
        roff += n + (roff[n] == '\n');
    }
    end_line(&f);
    buf_release(&f.word);
}
