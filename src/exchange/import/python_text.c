/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/python_text.h"

#include <string.h>

enum { LINE_MAX = 100000000 };

static int ends_with(const char *s, size_t n, const char *end)
{
    size_t k = strlen(end);

    return n > k && !memcmp(s + n - k, end, k);
}

int python_text_is_file(const char *s, size_t n)
{
    return ends_with(s, n, ".py") || ends_with(s, n, ".pyx") || ends_with(s, n, ".pyc") ||
           (n > 2 && s[0] == '<' && s[n - 1] == '>');
}

/* ":12" at the end goes. */
static void cut_line(struct python_text *t)
{
    const char *colon = memrchr(t->file, ':', t->file_n), *end = t->file + t->file_n;
    uint32_t line = 0;

    if (!colon || colon + 1 == end)
        return;
    for (const char *p = colon + 1; p < end; p++) {
        if (*p < '0' || *p > '9' || line > LINE_MAX)
            return;
        line = line * 10 + (uint32_t)(*p - '0');
    }
    t->line = line;
    t->file_n = (size_t)(colon - t->file);
}

int python_text_split(struct python_text *t, const char *s, size_t n)
{
    const char *open = n && s[n - 1] == ')' ? memrchr(s, '(', n) : NULL;

    if (!open || open < s + 2 || open[-1] != ' ' || open + 2 > s + n - 1)
        return -1;
    *t = (struct python_text){.name = s, .name_n = (size_t)(open - 1 - s), .file = open + 1};
    t->file_n = (size_t)(s + n - 1 - t->file);
    cut_line(t);
    return 0;
}

uint32_t python_text_frame(struct store *s, const struct python_text *t)
{
    struct frame f = {.kind = FRAME_NATIVE, .line = t->line};
    struct module m = {.kind = MODULE_FILE, .fd = -1};

    f.func = strtab_addn(&s->strings, t->name, t->name_n);
    if (!f.func)
        f.func = strtab_add(&s->strings, "?");
    if (python_text_is_file(t->file, t->file_n)) {
        f.kind = FRAME_PYTHON;
        f.file = strtab_addn(&s->strings, t->file, t->file_n);
    } else if (t->line) {
        f.file = strtab_addn(&s->strings, t->file, t->file_n);
    } else if (t->file_n) {
        m.path = strtab_addn(&s->strings, t->file, t->file_n);
        f.module = m.path ? frames_add_module(&s->frames, &m) : 0;
    }
    return frames_add(&s->frames, &f);
}
