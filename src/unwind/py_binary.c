/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_binary.h"

#include "platform/elf.h"
#include "unwind/py_cold.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* ---- symbols ---- */

struct found {
    uint64_t runtime, code_type, version, evalframe; /* 0: not there */
    struct py_range eval[2];
};

static void take(struct found *r, const struct elf_sym *s)
{
    static const char eval[] = "_PyEval_EvalFrameDefault";
    const char *rest;

    if (s->shndx == SHN_UNDEF || s->name[0] != '_' || s->name[1] != 'P' || s->name[2] != 'y') {
        if (s->shndx == SHN_UNDEF || s->name[0] != 'P' || s->name[1] != 'y')
            return;
        if (!strcmp(s->name, "PyCode_Type"))
            r->code_type = s->value;
        else if (!strcmp(s->name, "Py_Version"))
            r->version = s->value;
        else if (!strcmp(s->name, "PyEval_EvalFrameEx"))
            r->evalframe = s->value;
        return;
    }
    if (!strcmp(s->name, "_PyRuntime") && s->type == STT_OBJECT)
        r->runtime = s->value;
    if (strncmp(s->name, eval, sizeof(eval) - 1) != 0)
        return;
    rest = s->name + sizeof(eval) - 1;
    if (!*rest)
        r->eval[0] = (struct py_range){s->value, s->value + s->size};
    else if (!strncmp(rest, ".cold", 5)) /* GCC: .cold, or .cold.NUMBER to version 9 */
        r->eval[1] = (struct py_range){s->value, s->value + s->size};
}

/* -1: the file has no such table. */
static int search_table(struct found *r, const struct elf *f, uint32_t type)
{
    struct elf_symtab t;
    struct err ignored = {""};

    if (elf_symtab_open(f, type, &t, &ignored))
        return -1;
    for (size_t i = 0; i < t.n; i++) {
        struct elf_sym s;

        elf_symtab_get(&t, i, &s);
        take(r, &s);
    }
    elf_symtab_release(&t);
    return 0;
}

/* Does any exported name begin so? A look at the string table alone: hundreds of libraries are not Python. */
static int exports(const struct elf *f, const char *name)
{
    const struct elf_section *s = elf_section_of_type(f, SHT_DYNSYM);
    struct elf_data d;
    struct err ignored = {""};
    int hit;

    if (!s || s->link >= f->sections_n || elf_section_data(f, &f->sections[s->link], &d, &ignored))
        return 0;
    hit = memmem(d.p, d.n, name, strlen(name) + 1) != NULL;
    elf_data_release(&d);
    return hit;
}

static void search(struct found *r, const struct elf *f, int main)
{
    if (exports(f, "_PyRuntime") || exports(f, "PyEval_EvalFrameEx"))
        search_table(r, f, SHT_DYNSYM);
    if (r->runtime || main) /* for the cold part; an interpreter linked into a program exports nothing */
        search_table(r, f, SHT_SYMTAB);
    if (!r->runtime) {
        const struct elf_section *s = elf_section(f, ".PyRuntime"); /* 3.13 on, also when stripped */

        if (s && s->addr && s->size)
            r->runtime = s->addr;
    }
}

/* ---- the version ---- */

static unsigned digits(const char **p, const char *end)
{
    unsigned v = 0;

    for (int i = 0; i < 3 && *p < end && **p >= '0' && **p <= '9'; i++)
        v = v * 10 + (unsigned)(*(*p)++ - '0');
    return v;
}

/* "libpython3.9.so.1.0", "python3.8": 0x0309, 0x0308; 0 for a name that says none. */
static unsigned version_of_name(const char *path)
{
    const char *base = strrchr(path, '/'), *end, *p;
    unsigned major, minor;

    base = base ? base + 1 : path;
    end = base + strlen(base);
    p = strstr(base, "python");
    if (!p)
        return 0;
    p += 6;
    major = digits(&p, end);
    if (!major || p == end || *p != '.')
        return 0;
    p++;
    if (p == end || *p < '0' || *p > '9')
        return 0;
    minor = digits(&p, end);
    return major << 8 | (minor & 255);
}

/*
 * Does the string at p say a version as CPython's own strings do: "3.9.18" (PY_VERSION), "python3.9",
 * "lib/python3.9" (its library folder)? Gives 0x0309, else 0.
 */
static unsigned version_string(const char *p, const char *end)
{
    const char *nul = memchr(p, '\0', (size_t)(end - p < 32 ? end - p : 32));
    int folder = 0, full;
    unsigned minor;

    if (!nul)
        return 0;
    end = nul;
    if (end - p > 4 && !memcmp(p, "lib/", 4))
        p += 4;
    if (end - p > 6 && !memcmp(p, "python", 6)) {
        p += 6;
        folder = 1;
    }
    if (end - p < 3 || p[0] != '3' || p[1] != '.' || p[2] < '0' || p[2] > '9')
        return 0;
    p += 2;
    minor = digits(&p, end);
    full = end - p > 1 && p[0] == '.' && p[1] >= '0' && p[1] <= '9';
    if (full == folder || (folder && p != end))
        return 0;
    return 3u << 8 | (minor & 255);
}

/*
 * The only version among the strings of .rodata; 0: none, or several. From 3.11 there is Py_Version, to 3.6
 * no _PyRuntime, so others are not meant ("3.2.0" is of unicodedata).
 */
static unsigned version_in_strings(const struct elf *f)
{
    const struct elf_section *s = elf_section(f, ".rodata");
    struct elf_data d;
    struct err ignored = {""};
    unsigned version = 0;

    if (!s || elf_section_data(f, s, &d, &ignored))
        return 0;
    for (const char *p = (const char *)d.p, *end = p + d.n; p && p < end;) {
        unsigned v = version_string(p, end);

        if (v >= 0x0307 && v <= 0x030a) {
            if (version && version != v) {
                version = 0;
                break;
            }
            version = v;
        }
        p = memchr(p, '\0', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    elf_data_release(&d);
    return version;
}

static unsigned find_version(const struct found *r, const struct elf *f, const char *path)
{
    const void *p = r->version ? elf_at(f, r->version, 8) : NULL;
    unsigned named = version_of_name(path), told;
    uint64_t hex;

    if (p) {
        memcpy(&hex, p, sizeof(hex));
        if (hex >> 16 && hex >> 32 == 0)
            return (unsigned)hex >> 16;
    }
    told = version_in_strings(f);
    return told ? told : named;
}

/* ---- all of it ---- */

static int refuse(struct err *e, unsigned version)
{
    if (!version)
        return err_set(e, "its CPython has no version that could be found");
    return err_set(e, "CPython %u.%u is not a version that wprof reads (3.8 to 3.14)", version >> 8,
                   version & 255);
}

int py_binary_examine(struct py_binary *b, const struct elf *f, const char *path, int main, struct err *e)
{
    struct found r = {0};
    const void *start;

    *b = (struct py_binary){0};
    search(&r, f, main);
    if (!r.runtime) {
        if (!r.evalframe)
            return 0;
        b->version = find_version(&r, f, path);
        if (b->version && b->version < 0x0307) /* which have no _PyRuntime */
            return refuse(e, b->version);
        return err_set(e, "a CPython whose symbol _PyRuntime was stripped can't be read");
    }
    b->runtime = r.runtime;
    b->code_type = r.code_type;
    memcpy(b->eval, r.eval, sizeof(b->eval));
    if (b->eval[1].start == b->eval[1].end)
        py_cold_find(f, b->eval[0], &b->eval[1]);

    start = elf_at(f, r.runtime, PY_OFFSETS_MAX);
    b->version = start ? py_offsets_version(start, PY_OFFSETS_MAX) : 0;
    if (b->version) {
        if (b->version > PY_VERSION_MAX)
            return refuse(e, b->version);
        return py_layout_from_offsets(&b->layout, start, PY_OFFSETS_MAX, e) ? -1 : 1;
    }
    b->version = find_version(&r, f, path);
    if (!py_layout_of(b->version) ||
        b->version >= 0x030d) /* those begin with the cookie, or are something else */
        return refuse(e, b->version);
    b->layout = *py_layout_of(b->version);
    return 1;
}
