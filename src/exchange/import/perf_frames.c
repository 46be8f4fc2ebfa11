/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_frames.h"

#include <string.h>

void perf_frames_release(struct perf_frames *x)
{
    strtab_release(&x->seen);
    vec_release(&x->runs);
    vec_release(&x->pool);
}

static int is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static int ends_with(const char *s, size_t n, const char *end)
{
    size_t k = strlen(end);

    return n >= k && !memcmp(s + n - k, end, k);
}

/* ---- modules ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "[kernel.kallsyms]", ".../vmlinux", "vmlinux-5.4", "mlx5_core.ko" */
static int is_kernel(const char *module)
{
    const char *file = base_of(module);

    if (strstr(module, "unknown"))
        return 0;
    return *module == '[' || !strncmp(file, "vmlinux", 7) || strstr(file, ".ko");
}

static int is_jit(const char *module)
{
    const char *file = base_of(module);

    return !strncmp(file, "perf-", 5) && ends_with(file, strlen(file), ".map");
}

/* ---- names ---- */

/* "net/http.(*Client).Do" is a whole name; else what follows a parenthesis are arguments, but for that of an
 * anonymous namespace, and those inside of <> and {}: "f<int (int)>::{lambda(int)#1}". */
static size_t without_arguments(const char *s, size_t n)
{
    static const char anonymous[] = "(anonymous namespace)", operator[] = "operator";
    const char *go = memmem(s, n, ".(", 2);
    int depth = 0;

    if (go && memmem(go, n - (size_t)(go - s), ").", 2))
        return n;
    for (size_t i = 0; i < n; i++) {
        if (n - i >= sizeof(operator) && !memcmp(s + i, operator, sizeof(operator) - 1)) {
            for (i += sizeof(operator) - 1; i < n && strchr("<>=-", s[i]);)
                i++;
            if (i == n)
                break;
        }
        depth += s[i] == '<' || s[i] == '{';
        depth -= depth && (s[i] == '>' || s[i] == '}');
        if (s[i] == '(' && !depth &&
            (n - i < sizeof(anonymous) - 1 || memcmp(s + i, anonymous, sizeof(anonymous) - 1) != 0))
            return i;
    }
    return n;
}

static void add_name(struct buf *out, const char *s, size_t n, int java)
{
    size_t from = out->len;

    n = without_arguments(s, n);
    for (size_t i = 0; i < n; i++)
        if (s[i] != '"' && s[i] != '\'')
            buf_addch(out, (char)(s[i] == ';' ? ':' : s[i]));
    if (java && out->len > from && out->data[from] == 'L' && strchr(out->data + from, '/')) {
        memmove(out->data + from, out->data + from + 1, out->len - from);
        out->len--;
    }
}

static void push(struct perf_frames *x, const char *s, size_t n, const char *module, int java, int inlined)
{
    struct frame f = {.kind = FRAME_NATIVE};
    struct buf name = {0};

    if ((n == strlen("[unknown]") && !memcmp(s, "[unknown]", n)) || !n)
        buf_addf(&name, "[%s]", strcmp(module, "[unknown]") != 0 ? base_of(module) : "unknown");
    else
        add_name(&name, s, n, java);
    if (inlined && !strstr(buf_str(&name), "_[i]"))
        buf_addstr(&name, "_[i]");
    if (!inlined && is_kernel(module))
        f.kind = FRAME_KERNEL;
    else if (is_jit(module))
        f.kind = FRAME_JIT;
    f.func = strtab_add(&x->store->strings, name.len ? name.data : "?");
    *vec_push(&x->pool) = frames_add(&x->store->frames, &f);
    buf_release(&name);
}

/* "outer->inner+0x12", innermost last. */
static void push_all(struct perf_frames *x, const char *s, size_t n, const char *module, int java)
{
    const char *plus = memrchr(s, '+', n), *arrow;
    int inlined = 0;

    if (plus && n - (size_t)(plus - s) > 3 && !memcmp(plus, "+0x", 3)) {
        const char *p = plus + 3;

        while (p < s + n && is_hex(*p))
            p++;
        if (p == s + n)
            n = (size_t)(plus - s);
    }
    for (; (arrow = memmem(s, n, "->", 2)); inlined = 1) {
        push(x, s, (size_t)(arrow - s), module, java, inlined);
        n -= (size_t)(arrow + 2 - s);
        s = arrow + 2;
    }
    push(x, s, n, module, java, inlined);
}

/* ---- lines ---- */

/* The " (" before the module; " (deleted))" belongs to it. */
static const char *module_of(const char *s, size_t n)
{
    size_t end = ends_with(s, n, " (deleted))") ? n - strlen(" (deleted))") : n;

    for (size_t i = end; i > 1; i--)
        if (s[i - 1] == '(' && s[i - 2] == ' ')
            return s + i - 2;
    return NULL;
}

static int parse(struct perf_frames *x, const char *s, size_t n, int java, struct perf_frames_run *run)
{
    const char *open = n && s[n - 1] == ')' ? module_of(s, n) : NULL;
    char *module;

    if (!open)
        return -1;
    run->first = (uint32_t)x->pool.n;
    if (*s != '(') { /* the name of a process, which old versions put there */
        module = mem_strndup(open + 2, n - 1 - (size_t)(open + 2 - s));
        push_all(x, s, (size_t)(open - s), module, java);
        free(module);
    }
    run->n = (uint32_t)x->pool.n - run->first;
    return 0;
}

int perf_frames_get(struct perf_frames *x, const char *line, size_t n, int java, struct perf_frames_run *run)
{
    const char *s = line, *end = line + n;
    uint32_t id;

    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (s == end || !is_hex(*s))
        return -1;
    while (s < end && is_hex(*s))
        s++;
    if (s == end || *s != ' ')
        return -1;
    while (s + 1 < end && *s == ' ' && s[1] != '(')
        s++; /* of a function without a name, a space is left */
    /* Java's frames are cut otherwise: a space more makes the text another one. */
    id = strtab_addn(&x->seen, java ? s - 1 : s, (size_t)(end - s) + (java != 0));
    if (!id)
        return -1;
    if (id <= x->runs.n) {
        *run = x->runs.a[id - 1];
        return run->first == UINT32_MAX ? -1 : 0;
    }
    if (parse(x, s, (size_t)(end - s), java, run))
        *run = (struct perf_frames_run){UINT32_MAX, 0};
    *vec_push(&x->runs) = *run;
    return run->first == UINT32_MAX ? -1 : 0;
}
