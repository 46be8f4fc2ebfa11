/* SPDX-License-Identifier: Apache-2.0 */
#include "model/frame_text.h"

#include "base/utf8.h"

#include <string.h>

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

void frame_label(const char *func, const char *file, uint32_t line, unsigned kind, struct buf *out)
{
    const char *slash = strrchr(file, '/');
    size_t n = strlen(func);

    buf_add(out, func, n);
    if (slash)
        file = slash + 1;
    if (!*file || (kind != FRAME_PYTHON && kind != FRAME_JIT && !line) ||
        (n && func[n - 1] == ')' && kind == FRAME_PYTHON))
        return;
    if (line)
        buf_addf(out, " (%s:%u)", file, line);
    else
        buf_addf(out, " (%s)", file);
}

void frame_place(const struct frames *f, const struct strtab *strings, const struct frame *frame,
                 struct buf *out)
{
    const struct module *m = frames_module(f, frame->module);
    const char *path = m ? strtab_get(strings, m->path) : "";
    unsigned long long addr = frame->addr;

    if (frame->kind == FRAME_JIT || (m && m->kind == MODULE_JIT))
        buf_addstr(out, "[jit]");
    else if (*path == '[')
        buf_addf(out, "[%.*s+0x%llx]", (int)strcspn(path + 1, "]"), path + 1, addr);
    else
        buf_addf(out, "[%.400s+0x%llx]", *path ? base(path) : "unknown", addr);
}

void frame_func(const struct frames *f, const struct strtab *strings, const struct frame *frame,
                const struct frame_name *name, struct buf *out)
{
    const struct module *m = frames_module(f, frame->module);
    const char *func = name ? strtab_get(strings, name->func) : "";

    if (!name)
        frame_place(f, strings, frame, out);
    else if (m && !func[strspn(func, " ")])
        buf_addf(out, "[%s]", base(strtab_get(strings, m->path)));
    else
        buf_addstr(out, *func ? func : "?");
}

void frame_text(const struct frames *f, const struct strtab *strings, const struct frame *frame,
                const struct frame_name *name, struct buf *out)
{
    struct buf func = {0};

    frame_func(f, strings, frame, name, &func);
    frame_label(buf_str(&func), name ? strtab_get(strings, name->file) : "", 0, frame->kind, out);
    buf_release(&func);
}

void frame_fold_text(char *s, size_t n)
{
    if (n == 1 && *s == ' ') /* all there is of a name in what perf script printed */
        return;
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        len = utf8_len(s + i, n - i);
        if (len == 3 && !memcmp(s + i, "\xef\xbb\xbf", 3)) /* in front of a text it says that this is UTF-8 */
            memset(s + i, '_', 3);
        else if (!len || (unsigned char)s[i] < 0x20 || s[i] == ';' || s[i] == 0x7f)
            s[i] = '_';
    }
    /* Readers take the spaces before the value as part of the separator. */
    for (; n && s[n - 1] == ' '; n--)
        s[n - 1] = '_';
}
