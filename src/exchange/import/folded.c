/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: "root;caller;leaf 12", a line a stack. Files of a gigabyte are normal, and neighbours in
 * them mostly share their beginning: only what differs from the line before is looked up.
 */
#include "exchange/import/folded_line.h"
#include "exchange/import/stack_lines.h"
#include "exchange/import/tokens.h"
#include "model/frame_text.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 4 << 20,
    LINE_MAX_BYTES = 64 << 20,
    BYTES_A_FRAME = 20, /* where nothing is shared */
};

struct folded {
    struct store *s;
    struct import_stats *st;
    struct tokens tokens; /* frames as they stand in the text -> frame id */
    struct stack_lines *lines;
    VEC(uint32_t) ends; /* of the line before: where each frame ends */
    const char *before; /* its text */
    size_t before_n;
    uint64_t line;
    uint64_t overflow; /* the line with which the sum went over 64 bits */
    int python;
};

/* ---- frames ---- */

static int ends_with(const char *s, size_t n, const char *end)
{
    size_t k = strlen(end);

    return n > k && !memcmp(s + n - k, end, k);
}

/* "forward (net.py:12)" or "forward (net.py)", as py-spy, austin's converters and wprof write them. */
static int python_place(const char *s, size_t n, struct frame *f, struct strtab *t)
{
    const char *open = n && s[n - 1] == ')' ? memrchr(s, '(', n) : NULL, *file, *end = s + n - 1, *colon;
    uint32_t line = 0;

    if (!open || open == s || open[-1] != ' ')
        return 0;
    file = open + 1;
    colon = memrchr(file, ':', (size_t)(end - file));
    if (colon && colon + 1 < end) {
        for (const char *p = colon + 1; p < end; p++) {
            if (*p < '0' || *p > '9' || line > 100000000)
                return 0;
            line = line * 10 + (uint32_t)(*p - '0');
        }
        end = colon;
    }
    if (!ends_with(file, (size_t)(end - file), ".py"))
        return 0;
    f->kind = FRAME_PYTHON;
    f->file = strtab_addn(t, file, (size_t)(end - file));
    f->line = line;
    return 1;
}

/* Strings hold no NUL: as other control bytes, it is shown as `_`. */
static uint32_t add_name(struct strtab *t, const char *s, size_t n)
{
    struct buf name = {0};
    uint32_t id;

    if (!memchr(s, '\0', n))
        return strtab_addn(t, s, n);
    buf_add(&name, s, n);
    for (size_t i = 0; i < n; i++)
        name.data[i] = name.data[i] ? name.data[i] : '_';
    id = strtab_addn(t, name.data, n);
    buf_release(&name);
    return id;
}

/* Bytes of the marks at a name's end, as it is written again: a byte that becomes `_` then stands for one. */
static size_t kernel_marks(const char *s, size_t n)
{
    size_t left = n;
    char *text;

    if (!ends_with(s, n, "[k]"))
        return 0;
    text = mem_strndup(s, n);
    frame_fold_text(text, n);
    while (ends_with(text, left, "_[k]"))
        left -= 4;
    free(text);
    return n - left;
}

/* The kind is guessed from how flame graph tools mark it: _[k] kernel, _[j] JIT; wprof and AIProf: CUDA:. */
static uint32_t make_frame(struct folded *x, const char *s, size_t n)
{
    struct frame f = {.kind = FRAME_NATIVE};

    if (kernel_marks(s, n)) {
        f.kind = FRAME_KERNEL;
        n -= kernel_marks(s, n);
    } else if (ends_with(s, n, "_[j]")) {
        f.kind = FRAME_JIT;
    } else if (n > 5 && !memcmp(s, "CUDA:", 5)) {
        f.kind = FRAME_GPU;
    } else if (python_place(s, n, &f, &x->s->strings)) {
        x->python = 1;
    } else if (n > 4 && memmem(s + 1, n - 1, ".py:", 4)) { /* AIProf's "train.py:step" */
        f.kind = FRAME_PYTHON;
        x->python = 1;
    }
    f.func = n ? add_name(&x->s->strings, s, n) : 0;
    if (!f.func)
        f.func = strtab_add(&x->s->strings, "?");
    return frames_add(&x->s->frames, &f);
}

/* ---- stacks ---- */

static size_t common_prefix(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t x, y;

        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            return i + (size_t)__builtin_ctzll(x ^ y) / 8; /* little-endian */
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

static void take_stack(struct folded *x, const char *s, size_t n, uint64_t value)
{
    size_t common = common_prefix(s, x->before, n < x->before_n ? n : x->before_n), at, k = x->ends.n;

    /* Frames of the line before that are whole in this one, too. */
    while (k && (x->ends.a[k - 1] > common || (x->ends.a[k - 1] < n && s[x->ends.a[k - 1]] != ';')))
        k--;
    at = k ? x->ends.a[k - 1] + 1 : 0;
    x->ends.n = k;
    stack_lines_begin(x->lines, k, value);
    while (at <= n) {
        uint64_t hash;
        size_t len = tokens_scan(s + at, n - at, &hash);
        uint32_t *frame = tokens_get(&x->tokens, s + at, len, hash);

        if (!*frame)
            *frame = make_frame(x, s + at, len);
        stack_lines_frame(x->lines, *frame);
        *vec_push(&x->ends) = (uint32_t)(at + len);
        at += len + 1;
    }
    x->before = s;
    x->before_n = n;
}

/* ---- lines ---- */

static void take_line(struct folded *x, const char *s, size_t n)
{
    struct folded_line l;
    int rc = folded_line_split(&l, s, n);

    x->line++;
    if (rc < 0)
        folded_bad_line(x->st, x->line, s, n);
    if (rc <= 0)
        return;
    if (__builtin_add_overflow(x->st->samples, l.value, &x->st->samples)) {
        x->overflow = x->line;
        return;
    }
    take_stack(x, l.stack, l.n, l.value);
    x->st->stacks++;
    x->st->rounded += (uint64_t)l.rounded;
}

/* The text not yet taken lies at buf[from..have); the line before it may be needed still, and moves along. */
struct window {
    char *buf;
    size_t cap, from, have;
};

static int refill(struct folded *x, struct window *w, struct input *in, struct err *e)
{
    size_t keep = x->before_n ? (size_t)(x->before - w->buf) : w->from;
    ssize_t n;

    if (keep)
        memmove(w->buf, w->buf + keep, w->have - keep);
    w->have -= keep;
    w->from -= keep;
    if (x->before_n)
        x->before = w->buf;
    if (w->cap - w->have < CHUNK) {
        w->cap = (w->have + CHUNK) * 2;
        w->buf = mem_realloc(w->buf, w->cap + TOKENS_PAD, 1);
        x->before = w->buf;
    }
    n = input_read(in, w->buf + w->have, w->cap - w->have, e);
    if (n < 0)
        return -1;
    w->have += (size_t)n;
    return n > 0;
}

static int take_all(struct folded *x, struct input *in, struct err *e)
{
    struct window w = {0};
    int more;

    x->before = "";
    while ((more = refill(x, &w, in, e)) > 0) {
        const char *eol;

        while (!x->overflow && (eol = memchr(w.buf + w.from, '\n', w.have - w.from))) {
            const char *line = w.buf + w.from;

            w.from = (size_t)(eol - w.buf) + 1;
            take_line(x, line, (size_t)(eol - line));
        }
        if (x->overflow)
            break;
        if (w.have - w.from > LINE_MAX_BYTES) {
            more = err_set(e, "line %llu is longer than 64 MiB: no folded stacks",
                           (unsigned long long)x->line + 1);
            break;
        }
    }
    if (!more && w.from < w.have)
        take_line(x, w.buf + w.from, w.have - w.from);
    if (x->overflow)
        more = err_set(e, "the counts up to line %llu add up to more than 64 bits can hold",
                       (unsigned long long)x->overflow);
    free(w.buf);
    return more;
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct folded x = {.s = s, .st = st};
    int rc;

    if (in->size)
        stacks_reserve(&s->stacks, (size_t)in->size / BYTES_A_FRAME);
    x.lines = stack_lines_new(s);
    rc = take_all(&x, in, e);
    stack_lines_finish(x.lines);
    tokens_release(&x.tokens);
    vec_release(&x.ends);
    if (rc)
        return -1;
    if (!st->stacks)
        return err_set(e, "no folded stack in it (a line is: root;caller;leaf 12)");
    if (x.python)
        meta_add_language(m, "python");
    return 0;
}

/* Any text: what it lacks, run() says. */
/* Any text could be meant: it is where most of its lines are stacks. Without a second frame only what has no
 * blanks is one: a list of settings has lines that end in a number, too. */
static int probe(const char *head, size_t n)
{
    const char *p = head, *end = head + n, *eol;
    char first = import_first(head);
    size_t stacks = 0, others = 0;

    if (first == '{' || first == '[' || memchr(head, '\0', n))
        return 0;
    for (; p < end; p = eol + 1) {
        struct folded_line l;
        int rc;

        eol = memchr(p, '\n', (size_t)(end - p));
        if (!eol && n >= INPUT_HEAD) /* it goes on behind the head */
            break;
        eol = eol ? eol : end;
        rc = folded_line_split(&l, p, (size_t)(eol - p));
        if (rc > 0 &&
            (memchr(l.stack, ';', l.n) || (!memchr(l.stack, ' ', l.n) && !memchr(l.stack, '\t', l.n))))
            stacks++;
        else
            others += rc != 0;
    }
    return stacks >= others;
}

const struct importer import_folded = {
    .name = "folded",
    .summary = "one line a stack, root first, count last: what stackcollapse-*.pl, py-spy and others write",
    .probe = probe,
    .run = run,
};
