/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_code.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* What PyASCIIObject.state says of a compact string (Include/cpython/unicodeobject.h). */
struct str_head {
    uint64_t length;
    unsigned kind, compact, ascii; /* kind: bytes a character */
};

static int str_head_read(struct str_head *h, const struct py_mem *mem, const struct py_layout *lay,
                         uint64_t addr)
{
    uint32_t state;

    if (!addr || py_mem_read(mem, addr + lay->str_length, &h->length, 8) ||
        py_mem_read(mem, addr + lay->str_state, &state, 4))
        return -1;
    state >>= lay->str_shift & 31;
    h->kind = state & 7;
    h->compact = state >> 3 & 1;
    h->ascii = state >> 4 & 1;
    return 0;
}

/* Characters of `kind` bytes as UTF-8. Half of a surrogate pair (undecodable bytes of a file name) becomes
 * U+FFFD. */
static void add_characters(struct buf *out, const uint8_t *p, size_t bytes, unsigned kind)
{
    for (size_t i = 0; i + kind <= bytes; i += kind) {
        uint32_t c = 0;
        char utf8[4];

        memcpy(&c, p + i, kind);
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || !c)
            c = 0xfffd;
        buf_add(out, utf8, utf8_put(utf8, c));
    }
}

/* These append UTF-8 to out. -1, and nothing appended, when it is no str object that code can be named by.
 */
static int read_str(struct buf *out, const struct py_mem *mem, const struct py_layout *lay, uint64_t addr)
{
    struct str_head h;
    uint8_t raw[PY_TEXT_MAX * 4];
    size_t chars, bytes;

    if (str_head_read(&h, mem, lay, addr) || !h.compact || (h.kind != 1 && h.kind != 2 && h.kind != 4))
        return -1;
    chars = h.length > PY_TEXT_MAX ? PY_TEXT_MAX : h.length;
    bytes = chars * h.kind;
    if (py_mem_read(mem, addr + (h.ascii ? lay->str_ascii : lay->str_compact), raw, bytes))
        return -1;
    add_characters(out, raw, bytes, h.kind);
    if (chars < h.length)
        buf_addstr(out, "...");
    return 0;
}

/* As BPF copied it. */
static int decode_str(struct buf *out, const struct py_str *s)
{
    if ((s->kind != 1 && s->kind != 2 && s->kind != 4) || s->n > PY_NAME_MAX)
        return -1;
    add_characters(out, (const uint8_t *)s->data, s->n, s->kind);
    if (s->n / s->kind < s->length)
        buf_addstr(out, "...");
    return 0;
}

/* ---- code objects ---- */

void py_code_release(struct py_code *c)
{
    free(c->name);
    free(c->file);
    py_lines_release(&c->lines);
    *c = (struct py_code){0};
}

/* The addresses that a code object holds, as far as its identity is still that of f. */
struct code_refs {
    uint64_t name, file, table;
};

static int code_refs_read(struct code_refs *r, const struct py_mem *mem, const struct py_layout *lay,
                          const struct py_frame *f)
{
    uint16_t name = lay->code_qualname ? lay->code_qualname : lay->code_name;
    uint32_t firstline;
    uint64_t own = 0;

    if (py_mem_read(mem, f->code + lay->code_firstline, &firstline, 4) ||
        py_mem_read(mem, f->code + name, &r->name, 8) ||
        py_mem_read(mem, f->code + lay->code_filename, &r->file, 8) ||
        py_mem_read(mem, f->code + lay->code_linetable, &r->table, 8))
        return -1;
    if (lay->code_version ? py_mem_read(mem, f->code + lay->code_version, &own, 4)
                          : py_mem_read(mem, r->name + lay->str_length + 8, &own, 8))
        own = 0;
    return firstline == f->firstline && py_ident(own, r->name, r->file, r->table) == f->name ? 0 : -1;
}

static int lines_read(struct py_lines *l, const struct py_mem *mem, const struct py_layout *lay,
                      uint64_t table, uint32_t firstline)
{
    uint64_t n;
    uint8_t *p;
    int failed;

    if (!table || py_mem_read(mem, table + lay->bytes_size, &n, 8) || n > PY_LINETABLE_MAX)
        return -1;
    p = mem_alloc(n);
    failed = n && py_mem_read(mem, table + lay->bytes_data, p, n);
    if (!failed)
        py_lines_decode(l, lay->version, firstline, p, n);
    free(p);
    return failed ? -1 : 0;
}

static char *str_dup(const struct py_mem *mem, const struct py_layout *lay, uint64_t addr)
{
    struct buf b = {0};

    if (read_str(&b, mem, lay, addr)) {
        buf_release(&b);
        return NULL;
    }
    buf_add(&b, "", 0);
    return b.data ? buf_detach(&b) : mem_strdup("");
}

int py_code_read(struct py_code *c, const struct py_mem *mem, const struct py_layout *lay,
                 const struct py_frame *f)
{
    struct code_refs r, again;

    *c = (struct py_code){0};
    if (code_refs_read(&r, mem, lay, f))
        return -1;
    c->firstline = f->firstline;
    c->name = str_dup(mem, lay, r.name);
    c->file = str_dup(mem, lay, r.file);
    c->has_lines = !lines_read(&c->lines, mem, lay, r.table, f->firstline);
    py_mem_forget(mem); /* the object may have gone since, and its strings with it */
    if (!c->name || !c->file || code_refs_read(&again, mem, lay, f) || memcmp(&r, &again, sizeof(r)) != 0) {
        py_code_release(c);
        return -1;
    }
    return 0;
}

static char *copy_dup(const struct py_str *s)
{
    struct buf b = {0};

    if (decode_str(&b, s))
        return NULL;
    return b.data ? buf_detach(&b) : mem_strdup("");
}

int py_code_from_copy(struct py_code *c, const struct py_str *name, const struct py_str *file,
                      uint32_t firstline)
{
    *c = (struct py_code){.name = copy_dup(name), .firstline = firstline};
    if (!c->name)
        return -1;
    c->file = copy_dup(file);
    if (!c->file)
        c->file = mem_strdup("");
    return 0;
}

static void prefer(char **mine, const struct py_str *copy)
{
    char *s;

    if (!copy->kind || (uint64_t)copy->length * copy->kind != copy->n)
        return;
    s = copy_dup(copy);
    if (!s)
        return;
    free(*mine);
    *mine = s;
}

void py_code_prefer_copy(struct py_code *c, const struct py_str *name, const struct py_str *file)
{
    prefer(&c->name, name);
    prefer(&c->file, file);
}

uint32_t py_code_line(const struct py_code *c, const struct py_frame *f, int *unsure)
{
    uint32_t line;

    *unsure = !c->has_lines || (f->flags & PY_FRAME_LINE_UNSURE);
    if (*unsure)
        return c->firstline;
    line = py_lines_find(&c->lines, f->lasti);
    return line ? line : c->firstline; /* not begun yet, or an instruction of no line */
}

/* ---- all code objects of a recording ---- */

void py_codes_release(struct py_codes *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        py_code_release(&t->list.a[i]->info);
        free(t->list.a[i]);
    }
    vec_release(&t->list);
    index_release(&t->index);
}

struct lookup {
    const struct py_codes *t;
    uint64_t process;
    const struct py_frame *f;
};

static int same_code(const void *ctx, uint32_t id)
{
    const struct lookup *k = ctx;
    const struct py_codes_entry *x = k->t->list.a[id - 1];

    return x->process == k->process && x->code == k->f->code && x->name == k->f->name &&
           x->firstline == k->f->firstline;
}

static uint64_t identity_hash(uint64_t process, const struct py_frame *f)
{
    return hash_mix(hash_u64(process ^ f->code), (uint64_t)f->name << 32 | f->firstline);
}

uint32_t py_codes_find(const struct py_codes *t, uint64_t process, const struct py_frame *f)
{
    struct lookup k = {t, process, f};

    return index_find(&t->index, identity_hash(process, f), same_code, &k);
}

uint32_t py_codes_add(struct py_codes *t, uint64_t process, const struct py_frame *f, struct py_code *c)
{
    uint32_t id = py_codes_find(t, process, f);
    struct py_codes_entry *x;

    if (id) {
        x = t->list.a[id - 1];
        if (x->info.name) { /* else it was unreadable, and now there is a copy */
            py_code_release(c);
        } else {
            x->info = *c;
            *c = (struct py_code){0};
        }
        return id;
    }
    x = mem_alloc(sizeof(*x));
    *x = (struct py_codes_entry){process, f->code, f->name, f->firstline, *c};
    *c = (struct py_code){0};
    *vec_push(&t->list) = x;
    id = (uint32_t)t->list.n;
    index_add(&t->index, identity_hash(process, f), id);
    return id;
}

const struct py_code *py_codes_get(const struct py_codes *t, uint32_t id)
{
    return id && id <= t->list.n ? &t->list.a[id - 1]->info : NULL;
}
