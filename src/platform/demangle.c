/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS    "\xe2\x80\xa6"
#define MANGLED_MAX 65536u /* longer ones are not worth the stack that decoding them takes */

/* Where the demanglers write. Substitutions let a short symbol expand without bound, so that leaving is by
 * longjmp as soon as there is enough: they hold nothing then but their own stack (and, for Rust's punycode, a
 * small buffer). */
struct sink {
    struct buf *out;
    size_t start;
    jmp_buf enough;
};

static void sink_add(const char *p, size_t n, void *ctx)
{
    struct sink *s = ctx;

    buf_add(s->out, p, n);
    if (s->out->len - s->start > DEMANGLE_MAX)
        longjmp(s->enough, 1);
}

typedef int demangler(const char *mangled, int options, demangle_callbackref callback, void *opaque);

/* 1 when decoded (whole, or as far as the limit) and appended, 0 when not and `out` is as before. */
static int try_demangler(demangler *fn, const char *mangled, struct buf *out)
{
    struct sink s = {.out = out, .start = out->len};

    if (setjmp(s.enough))
        return 1;
    if (fn(mangled, DMGL_ANSI, sink_add, &s))
        return 1;
    out->len = s.start;
    if (out->data)
        out->data[out->len] = '\0';
    return 0;
}

static void demangle_bare(const char *mangled, struct buf *out)
{
    if (mangled[0] == '_' && strlen(mangled) <= MANGLED_MAX) {
        if (mangled[1] == 'R' && try_demangler(rust_demangle_callback, mangled, out))
            return;
        if (mangled[1] == 'Z' && (try_demangler(rust_demangle_callback, mangled, out) ||
                                  try_demangler(cplus_demangle_v3_callback, mangled, out)))
            return;
    }
    buf_addstr(out, mangled);
}

/* Cuts at DEMANGLE_MAX, not inside of a UTF-8 sequence. */
static void bound(struct buf *out, size_t start)
{
    size_t end = start + DEMANGLE_MAX - strlen(ELLIPSIS);

    if (out->len - start <= DEMANGLE_MAX)
        return;
    while (end > start && ((unsigned char)out->data[end] & 0xc0) == 0x80)
        end--;
    out->len = end;
    buf_addstr(out, ELLIPSIS);
}

void demangle(const char *raw, struct buf *out)
{
    size_t start = out->len;

    demangle_bare(raw, out);
    bound(out, start);
}

const char *demangle_cached(struct demangle_cache *c, const char *raw)
{
    uint32_t id = strtab_add(&c->raw, raw);
    struct buf name = {0};

    if (!id)
        return "";
    if (id > c->name_of.n) {
        demangle(raw, &name);
        *vec_push(&c->name_of) = strtab_add(&c->names, buf_str(&name));
        buf_release(&name);
    }
    return strtab_get(&c->names, c->name_of.a[id - 1]);
}

void demangle_cache_release(struct demangle_cache *c)
{
    strtab_release(&c->raw);
    strtab_release(&c->names);
    vec_release(&c->name_of);
}
