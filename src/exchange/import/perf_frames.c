/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_frames.h"

#include "platform/demangle.h"

#include <string.h>

/* Instead of a number of frames: one like `at`, where the address is. */
#define BY_ADDRESS UINT32_MAX

void perf_frames_release(struct perf_frames *x)
{
    tokens_release(&x->seen[0]);
    tokens_release(&x->seen[1]);
    vec_release(&x->runs);
    vec_release(&x->pool);
    buf_release(&x->text);
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

/* 1: it lost the L of a class. */
static int add_name(struct buf *out, const char *s, size_t n, int java)
{
    size_t from = out->len;

    n = without_arguments(s, n);
    for (size_t i = 0; i < n; i++)
        if (s[i] != '"' && s[i] != '\'')
            buf_addch(out, (char)(s[i] == ';' ? ':' : s[i]));
    if (!java || out->len == from || out->data[from] != 'L' || !strchr(out->data + from, '/'))
        return 0;
    memmove(out->data + from, out->data + from + 1, out->len - from);
    out->len--;
    return 1;
}

static uint32_t module_id(struct perf_frames *x, const char *path, int kernel)
{
    struct module m = {.kind = kernel ? MODULE_KERNEL : MODULE_FILE, .fd = -1};

    if (!*path || !strcmp(path, "[unknown]"))
        return 0;
    m.path = strtab_add(&x->store->strings, path);
    return frames_add_module(&x->store->frames, &m);
}

static uint32_t make_frame(struct perf_frames *x, const char *name, const char *module, int inlined,
                           int flags)
{
    struct frame f = {.kind = FRAME_NATIVE, .flags = (uint8_t)flags};

    if (!inlined && is_kernel(module))
        f.kind = FRAME_KERNEL;
    else if (is_jit(module))
        f.kind = FRAME_JIT;
    f.module = module_id(x, module, f.kind == FRAME_KERNEL);
    f.func = strtab_add(&x->store->strings, *name ? name : "?");
    return frames_add(&x->store->frames, &f);
}

static void push(struct perf_frames *x, const char *s, size_t n, const char *module, int java, int inlined)
{
    struct buf name = {0}, plain = {0};
    char *raw = n > 2 && s[0] == '_' && (s[1] == 'Z' || s[1] == 'R') ? mem_strndup(s, n) : NULL;
    int lost;

    if (raw) /* perf script was told not to */
        demangle(raw, &plain);
    lost = add_name(&name, raw ? buf_str(&plain) : s, raw ? plain.len : n, java);
    free(raw);
    buf_release(&plain);
    if (inlined && !strstr(buf_str(&name), "_[i]"))
        buf_addstr(&name, "_[i]");
    *vec_push(&x->pool) = make_frame(x, buf_str(&name), module, inlined, lost ? FRAME_CLASS : 0);
    buf_release(&name);
}

/* "outer->inner+0x12", innermost last. */
static void push_all(struct perf_frames *x, const char *s, size_t n, const char *module, int java)
{
    const char *arrow;
    int inlined = 0;

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
    static const char deleted[] = " (deleted))";
    size_t end = ends_with(s, n, deleted) ? n - (sizeof(deleted) - 1) : n;
    const char *open;

    while ((open = memrchr(s, '(', end)) && open > s) {
        if (open[-1] == ' ')
            return open - 1;
        end = (size_t)(open - s);
    }
    return NULL;
}

/* "+0x12" at the end is none of the name. */
static size_t without_offset(const char *s, size_t n)
{
    size_t i = n;

    while (i && is_hex(s[i - 1]))
        i--;
    return i < n && i > 3 && !memcmp(s + i - 3, "+0x", 3) ? i - 3 : n;
}

static struct perf_frames_run several(struct perf_frames *x, size_t first)
{
    struct perf_frames_run run = {(uint32_t)(x->pool.n - first), (uint32_t)first};

    if (run.n == 1) {
        run.at = x->pool.a[first];
        x->pool.n--;
    }
    return run;
}

/* "[libc.so.6]" where a function has no name. */
static struct perf_frames_run nameless(struct perf_frames *x, const char *module)
{
    char *name = mem_printf("[%s]", strcmp(module, "[unknown]") != 0 ? base_of(module) : "unknown");
    struct perf_frames_run run = {BY_ADDRESS, make_frame(x, name, module, 0, FRAME_NAMELESS)};

    free(name);
    return run;
}

/* s[0..n) is "name (module)", name_n bytes of it the name. */
static struct perf_frames_run make_run(struct perf_frames *x, const char *s, size_t n, size_t name_n,
                                       int java)
{
    size_t first = x->pool.n;
    struct perf_frames_run run;
    char *module;

    if (*s == '(') /* the name of a process, which old versions put there */
        return (struct perf_frames_run){0};
    module = mem_strndup(s + name_n + 2, n - 1 - (name_n + 2));
    if (name_n == strlen("[unknown]") && !memcmp(s, "[unknown]", name_n)) {
        run = nameless(x, module);
    } else if (!name_n) {
        run = (struct perf_frames_run){1, make_frame(x, " ", module, 0, 0)};
    } else {
        push_all(x, s, name_n, module, java);
        run = several(x, first);
    }
    free(module);
    return run;
}

/* One like frame `id` that lies at the address. */
static uint32_t at_address(struct perf_frames *x, uint32_t id, const char *hex)
{
    struct frame f = *frames_get(&x->store->frames, id);

    for (; is_hex(*hex); hex++)
        f.addr = f.addr << 4 | (unsigned)(*hex <= '9' ? *hex - '0' : (*hex | 0x20) - 'a' + 10);
    return frames_add(&x->store->frames, &f);
}

/* "name (module)" of "name+0x12 (module)": the same for all places of a function. */
static void set_text(struct perf_frames *x, const char *s, size_t name_n, const char *open, const char *end)
{
    size_t module_n = (size_t)(end - open);

    x->text.len = 0;
    buf_reserve(&x->text, name_n + module_n + TOKENS_PAD);
    memcpy(x->text.data, s, name_n);
    memcpy(x->text.data + name_n, open, module_n);
    x->text.len = name_n + module_n;
}

int perf_frames_get(struct perf_frames *x, const char *line, size_t n, int java, struct perf_frames_run *run)
{
    struct tokens *seen = &x->seen[java != 0];
    const char *s = line, *end = line + n, *hex, *open;
    uint32_t *known;
    size_t name_n;

    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    for (hex = s; s < end && is_hex(*s);)
        s++;
    if (s == hex || s == end || *s != ' ')
        return -1;
    while (s + 1 < end && *s == ' ' && s[1] != '(')
        s++; /* of a function without a name, a space is left */
    open = end[-1] == ')' ? module_of(s, (size_t)(end - s)) : NULL;
    if (!open)
        return -1;
    name_n = without_offset(s, (size_t)(open - s));
    set_text(x, s, name_n, open, end);
    known = tokens_get(seen, x->text.data, x->text.len, tokens_hash(x->text.data, x->text.len));
    if (!*known) {
        *vec_push(&x->runs) = make_run(x, x->text.data, x->text.len, name_n, java);
        *known = (uint32_t)x->runs.n;
    }
    *run = x->runs.a[*known - 1];
    if (run->n == BY_ADDRESS)
        *run = (struct perf_frames_run){1, at_address(x, run->at, hex)};
    return 0;
}
