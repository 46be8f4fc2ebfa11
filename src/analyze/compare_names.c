/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By what two builds' or two runs' frames are the same: the function's name and its module's. Addresses,
 * lines, versions of libraries and what compilers hang on a name are left out.
 */
#include "analyze/compare_job.h"

#include "analyze/libc.h"
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

/* "libm.so.6" -> "libm.so", "libpython3.11.so.1.0" -> "libpython.so", "perf-12.map" -> "[jit]", "x (deleted)"
 * -> "x". */
static void module_name(const char *path, struct buf *out)
{
    const char *name = base(path), *so = strstr(name, ".so."), *gone = strstr(name, " (deleted)");
    size_t n = gone ? (size_t)(gone - name) : strlen(name);

    if (!strncmp(name, "perf-", 5) && n > 9 && !strncmp(name + n - 4, ".map", 4)) {
        buf_addstr(out, "[jit]");
        return;
    }
    if (so && !strncmp(name, "libpython", 9)) {
        buf_addstr(out, "libpython.so");
        return;
    }
    buf_add(out, name, so ? (size_t)(so - name) + 3 : n);
}

/* Stands for the module of the program that was recorded, whatever its file is called. */
#define PROGRAM "\x01"

/* ---- functions ---- */

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
    n = without_hash(s, frame_name_whole(s, n));
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

/* The frame's module is the recorded program's: it is called so, and code in it without a name, too. */
static void name_program(const struct compare_run *run, unsigned kind, struct buf *name, struct buf *module)
{
    if (!run->program || (kind != FRAME_NATIVE && kind != FRAME_JIT) || strcmp(buf_str(module), run->program))
        return;
    if (name->len == module->len + 2 && name->data[0] == '[' &&
        !strncmp(name->data + 1, run->program, module->len)) {
        buf_clear(name);
        buf_addstr(name, PROGRAM);
    }
    buf_clear(module);
    buf_addstr(module, PROGRAM);
}

/* name, module: room to write in. */
static uint32_t take_key(struct compare *c, const struct compare_run *run, uint32_t frame, struct buf *name,
                         struct buf *module)
{
    const struct profile *p = &run->p;
    const struct profile_frame *f = &p->frames.a[frame];
    struct compare_key key = {.kind = f->kind}, *k;
    struct wanted w = {c, &key};
    uint64_t hash;
    uint32_t id;

    buf_clear(name);
    buf_clear(module);
    compare_frame_name(p, frame, name, module);
    name_program(run, f->kind, name, module);
    key.name = strtab_add(&c->strings, name->len ? name->data : "?");
    key.module = strtab_add(&c->strings, buf_str(module));
    hash = hash_mix((uint64_t)key.name << 32 | key.module, key.kind);
    id = index_find(&c->key_of, hash, same_key, &w);
    if (!id) {
        *vec_push(&c->keys) = key;
        id = (uint32_t)c->keys.n;
        index_add(&c->key_of, hash, id);
        if (f->kind != FRAME_NONE && f->kind != FRAME_MARKER && f->kind != FRAME_GIL &&
            strcmp(buf_str(module), PROGRAM) != 0)
            c->keys.a[id - 1].group = strtab_add(&c->modules, f->kind == FRAME_PYTHON ? "[python]"
                                                              : module->len           ? module->data
                                                                                      : "[none]");
    }
    k = &c->keys.a[id - 1];
    k->on |= (uint8_t)(1u << run->side);
    return id;
}

static int has_module(const struct profile *p, const char *name)
{
    struct buf module = {0};
    int has = 0;

    for (size_t i = 1; i < p->frames.n && !has; i++) {
        buf_clear(&module);
        module_name(strtab_get(&p->strings, p->frames.a[i].module), &module);
        has = !strcmp(buf_str(&module), name);
    }
    buf_release(&module);
    return has;
}

/* The module, but for libc's, that most stacks begin in; NULL: there is none. */
static const char *outermost(const struct profile *p)
{
    size_t strings = strtab_count(&p->strings) + 1;
    uint32_t *of = mem_calloc(p->nodes.n + 1, sizeof(*of)), best = 0;
    uint64_t *sum = mem_calloc(strings, sizeof(*sum));

    for (size_t i = 1; i < p->nodes.n; i++) { /* parents come first */
        const struct profile_frame *f = &p->frames.a[p->nodes.a[i].frame];

        of[i] = of[p->nodes.a[i].parent];
        if (!of[i] && f->kind == FRAME_NATIVE && !libc_is(strtab_get(&p->strings, f->module)))
            of[i] = f->module;
        sum[of[i]] += p->metrics.a[0].self[i];
    }
    for (uint32_t m = 1; m < strings; m++)
        best = sum[m] > sum[best] || (!best && sum[m]) ? m : best;
    free(of);
    free(sum);
    return best ? strtab_get(&p->strings, best) : NULL;
}

/* The file that a recorded command ran, as modules are called: what it was started by may be a link to it, or
 * a shell. */
void compare_take_program(struct compare_run *run, const struct session *s)
{
    struct buf name = {0};
    const char *path;

    if (!s->meta.command.n)
        return;
    module_name(s->meta.command.a[0], &name);
    path = has_module(&run->p, buf_str(&name)) ? NULL : outermost(&run->p);
    if (path) {
        buf_clear(&name);
        module_name(path, &name);
    }
    run->program = buf_detach(&name);
}

void compare_take_keys(struct compare *c, struct compare_run *run)
{
    struct buf name = {0}, module = {0};

    run->key = mem_calloc(run->p.frames.n + 1, sizeof(*run->key));
    for (uint32_t i = 1; i < run->p.frames.n; i++)
        run->key[i] = take_key(c, run, i, &name, &module);
    buf_release(&name);
    buf_release(&module);
}

/* The names that the program has in a side's runs: "app-1, app-2". Gives how many. */
static size_t programs_of(const struct compare *c, int side, struct buf *out)
{
    size_t n = 0;

    for (size_t r = 0; r < c->runs.n; r++) {
        const char *its = c->runs.a[r].program;
        int known = !its || c->runs.a[r].side != side;

        for (size_t k = 0; k < r && !known; k++)
            known = c->runs.a[k].side == side && c->runs.a[k].program && !strcmp(c->runs.a[k].program, its);
        if (!known)
            buf_addf(out, "%s%s", n++ ? ", " : "", its);
    }
    return n;
}

static void note_programs(struct compare *c)
{
    struct buf name[COMPARISON_SIDES] = {{0}};
    size_t n[COMPARISON_SIDES];

    for (int side = 0; side < COMPARISON_SIDES; side++)
        n[side] = programs_of(c, side, &name[side]);
    if (n[0] && n[1] && (n[0] > 1 || n[1] > 1 || strcmp(buf_str(&name[0]), buf_str(&name[1]))))
        *vec_push(&c->out->notes) =
            mem_printf("the program that was recorded is %s on the base side and %s on "
                       "the new one: they are compared as one",
                       buf_str(&name[0]), buf_str(&name[1]));
    buf_release(&name[0]);
    buf_release(&name[1]);
}

int compare_is_nameless(const struct compare *c, uint32_t key)
{
    return key && !strcmp(strtab_get(&c->strings, c->keys.a[key - 1].name), PROGRAM);
}

/* The recorded program is called as the new side's. */
static void show_program(struct compare *c)
{
    uint32_t marker = strtab_find(&c->strings, PROGRAM), name, code;
    const char *shown = NULL;
    char *text;

    for (size_t r = c->runs.n; r-- > 0;)
        shown = c->runs.a[r].program && (!shown || c->runs.a[r].side == COMPARISON_NEW) ? c->runs.a[r].program
                                                                                        : shown;
    if (!marker || !shown)
        return;
    text = mem_printf("[%s]", shown);
    name = strtab_add(&c->strings, shown);
    code = strtab_add(&c->strings, text);
    free(text);
    for (size_t i = 0; i < c->keys.n; i++) {
        struct compare_key *k = &c->keys.a[i];

        if (k->module != marker)
            continue;
        k->module = name;
        k->name = k->name == marker ? code : k->name;
        k->group = strtab_add(&c->modules, shown);
    }
    note_programs(c);
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

/* "Parser.parse" is "parse" to Pythons before 3.11: what is gone under the last part of a new name in the
 * same file, which is that of no other one, is the same function. */
static void match_unqualified(struct compare *c)
{
    struct map gone = {0}, come = {0};

    for (size_t i = 0; i < c->keys.n; i++) {
        const struct compare_key *k = &c->keys.a[i];
        const char *name = strtab_get(&c->strings, k->name), *dot = strrchr(name, '.');
        uint32_t last;
        uint64_t *at;

        if (k->kind != FRAME_PYTHON || k->twin || (k->on == 1u << COMPARISON_NEW) != (dot != NULL))
            continue;
        last = dot ? strtab_find(&c->strings, dot + 1) : k->name;
        if (!last || (k->on != 1u << COMPARISON_BASE && k->on != 1u << COMPARISON_NEW))
            continue;
        at = map_put(dot ? &come : &gone, (uint64_t)k->module << 32 | last);
        *at = *at ? UINT64_MAX : i + 1;
    }
    for (size_t i = 0; i < c->keys.n; i++) {
        struct compare_key *k = &c->keys.a[i];
        uint64_t name = (uint64_t)k->module << 32 | k->name, *from = map_get(&gone, name);
        uint64_t *to = from && *from == i + 1 ? map_get(&come, name) : NULL;

        if (to && *to != UINT64_MAX)
            c->keys.a[*to - 1].twin = (uint32_t)i + 1;
    }
    map_release(&gone);
    map_release(&come);
}

/* A function that is gone from one module and new in another, under a name that nothing else came or went by,
 * has moved. */
void compare_match_moved(struct compare *c)
{
    struct map gone = {0}, come = {0};

    show_program(c);
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
    match_unqualified(c);
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
