/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By what two builds' or two runs' frames are the same: the function's name and its module's. Addresses,
 * lines, versions of libraries and what compilers hang on a name are left out.
 */
#include "analyze/compare_job.h"

#include "base/hash.h"
#include "base/map.h"
#include "model/frames.h"

#include <ctype.h>
#include <string.h>

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* "libm.so.6" -> "libm.so", "perf-12.map" -> "[jit]", "x (deleted)" -> "x". */
static void module_name(const char *path, struct buf *out)
{
    const char *name = base(path), *so = strstr(name, ".so."), *gone = strstr(name, " (deleted)");
    size_t n = gone ? (size_t)(gone - name) : strlen(name);

    if (!strncmp(name, "perf-", 5) && n > 9 && !strncmp(name + n - 4, ".map", 4)) {
        buf_addstr(out, "[jit]");
        return;
    }
    buf_add(out, name, so ? (size_t)(so - name) + 3 : n);
}

/* ---- functions ---- */

/* What GCC and Clang append to the name of a part or a copy of a function. */
static size_t without_clones(const char *s, size_t n)
{
    static const char *const ends[] = {".isra.",     ".constprop.", ".part.",   ".cold", ".llvm.",
                                       ".lto_priv.", " [clone ",    ".__uniq.", NULL};

    for (const char *const *end = ends; *end; end++) {
        const char *at = memmem(s, n, *end, strlen(*end));

        if (at && at > s)
            n = (size_t)(at - s);
    }
    return n;
}

/* Rust's legacy mangling: "::h" and 16 hexadecimal digits. */
static size_t without_hash(const char *s, size_t n)
{
    if (n <= 19 || memcmp(s + n - 19, "::h", 3))
        return n;
    for (size_t i = n - 16; i < n; i++)
        if (!isxdigit((unsigned char)s[i]))
            return n;
    return n - 19;
}

/* A place at the end, "name file.js:12:34" -> "name file.js". */
static size_t without_place(const char *s, size_t n)
{
    for (int k = 0; k < 2; k++) {
        size_t i = n;

        while (i && isdigit((unsigned char)s[i - 1]))
            i--;
        if (i == n || i < 2 || s[i - 1] != ':' || s[i - 2] == ':')
            break;
        n = i - 1;
    }
    return n;
}

/* Compilers number a function's lambdas as they come: "{lambda(int)#2}", Rust's "{closure#1}", Clang's "$_0".
 * How long the number is at s[i], which is of no identity; 0: it is none. */
static size_t number_of(const char *s, size_t n, size_t i)
{
    size_t k = i;

    while (k < n && isdigit((unsigned char)s[k]))
        k++;
    if (k == i || !i)
        return 0;
    if (i >= 2 && s[i - 2] == '$' && s[i - 1] == '_')
        return k - i;
    return k < n && s[k] == '}' && s[i - 1] == '#' ? k - i : 0;
}

/* Addresses within the name become "0x": they are other ones in each run. */
static void add_without_addresses(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = i + 2;

        if (number_of(s, n, i)) {
            i += number_of(s, n, i);
            continue;
        }
        if (s[i] != '0' || i + 1 >= n || s[i + 1] != 'x') {
            buf_addch(out, s[i++]);
            continue;
        }
        while (k < n && isxdigit((unsigned char)s[k]))
            k++;
        buf_add(out, s + i, k - i > 6 ? 2 : k - i);
        i = k;
    }
}

/* "forward (net.py:12)", as imports name it: the name ends before the place, which becomes the module. */
static size_t take_python_place(const char *s, size_t n, struct buf *module)
{
    const char *open = n && s[n - 1] == ')' ? memrchr(s, '(', n) : NULL;

    if (!open || open < s + 2 || open[-1] != ' ')
        return n;
    buf_clear(module);
    buf_addstr(module, base(open + 1));
    module->len = without_place(module->data, module->len - 1);
    module->data[module->len] = '\0';
    return (size_t)(open - s) - 1;
}

void compare_frame_name(const struct profile *p, uint32_t frame, struct buf *name, struct buf *module)
{
    const struct profile_frame *f = &p->frames.a[frame];
    const char *s = strtab_get(&p->strings, f->func);
    size_t n = strlen(s);

    if (f->kind == FRAME_PYTHON) {
        buf_addstr(module, base(strtab_get(&p->strings, f->file)));
        n = take_python_place(s, n, module);
        buf_add(name, s, n);
        return;
    }
    module_name(strtab_get(&p->strings, f->module), module);
    if (f->kind == FRAME_NONE || f->kind == FRAME_MARKER || f->kind == FRAME_GIL) {
        buf_add(name, s, n);
        return;
    }
    if (frame_name_is_place(s)) { /* "[libc.so.6+0x1d0]" -> "[libc.so]" */
        char *path = mem_strndup(s + 1, (size_t)(strstr(s, "+0x") - s) - 1);

        buf_addch(name, '[');
        module_name(path, name);
        buf_addch(name, ']');
        free(path);
        return;
    }
    n = without_hash(s, without_clones(s, n));
    if (f->kind == FRAME_JIT)
        n = without_place(s, n);
    add_without_addresses(name, s, n);
}

/* ---- keys ---- */

struct wanted {
    const struct compare *c;
    const struct compare_key *key;
};

static int same_key(const void *ctx, uint32_t id)
{
    const struct wanted *w = ctx;
    const struct compare_key *k = &w->c->keys.a[id - 1];

    return k->name == w->key->name && k->module == w->key->module && k->kind == w->key->kind;
}

/* name, module: room to write in. */
static uint32_t take_key(struct compare *c, const struct profile *p, uint32_t frame, int side,
                         struct buf *name, struct buf *module)
{
    const struct profile_frame *f = &p->frames.a[frame];
    struct compare_key key = {.kind = f->kind}, *k;
    struct wanted w = {c, &key};
    uint64_t hash;
    uint32_t id;

    buf_clear(name);
    buf_clear(module);
    compare_frame_name(p, frame, name, module);
    key.name = strtab_add(&c->strings, name->len ? name->data : "?");
    key.module = strtab_add(&c->strings, buf_str(module));
    hash = hash_mix((uint64_t)key.name << 32 | key.module, key.kind);
    id = index_find(&c->key_of, hash, same_key, &w);
    if (!id) {
        *vec_push(&c->keys) = key;
        id = (uint32_t)c->keys.n;
        index_add(&c->key_of, hash, id);
        if (f->kind != FRAME_NONE && f->kind != FRAME_MARKER && f->kind != FRAME_GIL)
            c->keys.a[id - 1].group = strtab_add(&c->modules, f->kind == FRAME_PYTHON ? "[python]"
                                                              : module->len           ? module->data
                                                                                      : "[none]");
    }
    k = &c->keys.a[id - 1];
    k->on |= (uint8_t)(1u << side);
    return id;
}

/* The file that a recorded command ran, as modules are called. */
void compare_take_program(struct compare_run *run, const struct session *s)
{
    struct buf name = {0};

    if (!s->meta.command.n)
        return;
    module_name(s->meta.command.a[0], &name);
    run->program = buf_detach(&name);
}

void compare_take_keys(struct compare *c, struct compare_run *run)
{
    struct buf name = {0}, module = {0};

    run->key = mem_calloc(run->p.frames.n + 1, sizeof(*run->key));
    for (uint32_t i = 1; i < run->p.frames.n; i++)
        run->key[i] = take_key(c, &run->p, i, run->side, &name, &module);
    buf_release(&name);
    buf_release(&module);
}

/* The file of the program that all runs of the side recorded; NULL: they are several, or it is not told. */
static const char *program_of(const struct compare *c, int side)
{
    const char *program = NULL;

    for (size_t r = 0; r < c->runs.n; r++) {
        const char *its = c->runs.a[r].program;

        if (c->runs.a[r].side != side)
            continue;
        if (!its || (program && strcmp(program, its)))
            return NULL;
        program = its;
    }
    return program;
}

/* Whether a side's frames have that module. */
static int has_module(const struct compare *c, uint32_t group, int side)
{
    for (size_t i = 0; i < c->keys.n; i++)
        if (c->keys.a[i].group == group && c->keys.a[i].on & 1u << side)
            return 1;
    return 0;
}

/* The program that was recorded may be in a file of another name on the new side: it is the same module,
 * unless a side has both. */
static void match_programs(struct compare *c)
{
    const char *name[] = {program_of(c, COMPARISON_BASE), program_of(c, COMPARISON_NEW)};
    uint32_t from, to;
    struct map by_name = {0};

    if (!name[0] || !name[1] || !strcmp(name[0], name[1]))
        return;
    from = strtab_find(&c->modules, name[0]);
    to = strtab_find(&c->modules, name[1]);
    if (!from || !to || has_module(c, from, COMPARISON_NEW) || has_module(c, to, COMPARISON_BASE))
        return;
    for (size_t i = 0; i < c->keys.n; i++)
        if (c->keys.a[i].group == to)
            *map_put(&by_name, (uint64_t)c->keys.a[i].kind << 32 | c->keys.a[i].name) = i + 1;
    for (size_t i = 0; i < c->keys.n; i++) {
        struct compare_key *k = &c->keys.a[i];
        uint64_t *twin = k->group == from ? map_get(&by_name, (uint64_t)k->kind << 32 | k->name) : NULL;

        if (twin) {
            c->keys.a[*twin - 1].twin = (uint32_t)i + 1;
            k->twin = (uint32_t)*twin;
        }
        if (k->group == from)
            k->group = to;
    }
    map_release(&by_name);
    *vec_push(&c->out->notes) = mem_printf("the program that was recorded is %s on the base side and %s on "
                                           "the new one: they are compared as one",
                                           name[0], name[1]);
}

/* What each name, of one kind, is on a side that alone has it; 0: it is not, or it is several. */
static void find_lone(const struct compare *c, uint8_t on, struct map *lone)
{
    for (size_t i = 0; i < c->keys.n; i++) {
        const struct compare_key *k = &c->keys.a[i];
        uint64_t *at;

        if (k->on != on || k->twin || k->kind == FRAME_NONE || k->kind == FRAME_MARKER)
            continue;
        at = map_put(lone, (uint64_t)k->kind << 32 | k->name);
        *at = *at ? UINT64_MAX : i + 1;
    }
}

/* A function that is gone from one module and new in another, under a name that nothing else came or went by,
 * has moved. */
void compare_match_moved(struct compare *c)
{
    struct map gone = {0}, come = {0};

    match_programs(c);
    find_lone(c, 1u << COMPARISON_BASE, &gone);
    find_lone(c, 1u << COMPARISON_NEW, &come);
    for (size_t i = 0; i < c->keys.n; i++) {
        struct compare_key *k = &c->keys.a[i];
        uint64_t name = (uint64_t)k->kind << 32 | k->name, *from, *to;

        if (k->on != 1u << COMPARISON_NEW || k->twin)
            continue;
        from = map_get(&gone, name);
        to = map_get(&come, name);
        if (from && to && *from != UINT64_MAX && *to == i + 1)
            k->twin = (uint32_t)*from;
    }
    map_release(&gone);
    map_release(&come);
    for (size_t i = 0; i < c->keys.n; i++) /* from here on it stands under its new place */
        if (c->keys.a[i].twin)
            c->keys.a[c->keys.a[i].twin - 1].twin = (uint32_t)i + 1;
}

/* The base side's keys that have moved are those of the new side. */
uint32_t compare_key_of(const struct compare *c, const struct compare_run *run, uint32_t frame)
{
    uint32_t id = run->key[frame];

    if (id && c->keys.a[id - 1].on == 1u << COMPARISON_BASE && c->keys.a[id - 1].twin)
        return c->keys.a[id - 1].twin;
    return id;
}

uint32_t compare_row_key(const struct compare *c, const struct compare_rows *rows,
                         const struct compare_run *run, uint32_t frame)
{
    return rows->level == COMPARISON_MODULES ? run->key[frame] : compare_key_of(c, run, frame);
}

void compare_key_label(const struct compare *c, uint32_t key, struct buf *out)
{
    const struct compare_key *k = &c->keys.a[key - 1];

    buf_addstr(out, strtab_get(&c->strings, k->name));
    if (k->kind == FRAME_PYTHON && k->module)
        buf_addf(out, " (%s)", strtab_get(&c->strings, k->module));
}
