/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/python.h"

#include "agent/glibc.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

enum { TAIL_CALLS_BELOW = 8192 }; /* bytes of an eval loop that holds no opcodes: see unwind/py_detect.c */

static int read_self(void *ctx, uint64_t addr, void *dst, size_t n)
{
    return self_read(ctx, addr, dst, n);
}

static struct py_mem memory(const struct python *p)
{
    return (struct py_mem){.read = read_self, .ctx = p->self};
}

/* ---- finding it ---- */

/* A libpython that was loaded without showing its symbols to all. */
static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    void **library = arg;

    (void)size;
    if (info->dlpi_name && strstr(info->dlpi_name, "libpython3"))
        *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *library != NULL;
}

/* "3.11.2 (main, ...": 0x030b */
static unsigned version_of(const char *s)
{
    unsigned major = 0, minor = 0;

    for (; s && *s >= '0' && *s <= '9'; s++)
        major = major * 10 + (unsigned)(*s - '0');
    for (s += s && *s == '.'; s && *s >= '0' && *s <= '9'; s++)
        minor = minor * 10 + (unsigned)(*s - '0');
    return major << 8 | (minor & 255);
}

static int set_layout(struct python *p, const void *runtime)
{
    const struct py_layout *known;
    uint8_t head[PY_OFFSETS_MAX];
    struct err e;

    if (p->version < 0x030d) {
        known = py_layout_of(p->version);
        if (known)
            p->layout = *known;
        return known ? 0 : -1;
    }
    if (self_read(p->self, (uintptr_t)runtime, head, sizeof(head)))
        return -1;
    return py_layout_from_offsets(&p->layout, head, sizeof(head), &e);
}

int python_find(struct python_symbols *s)
{
    void *library = RTLD_DEFAULT;
    const char *(*version)(void) = NULL;
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;

    *s = (struct python_symbols){.runtime = dlsym(library, "_PyRuntime")};
    if (!s->runtime) {
        library = NULL;
        dl_iterate_phdr(find_library, &library);
        s->runtime = library ? dlsym(library, "_PyRuntime") : NULL;
    }
    if (s->runtime)
        *(void **)&version = dlsym(library, "Py_GetVersion");
    if (!version)
        return 0;
    s->version = version_of(version());
    s->code_type = dlsym(library, "PyCode_Type");
    s->eval = dlsym(library, "_PyEval_EvalFrameDefault");
    if (s->eval && dladdr1(s->eval, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
        s->eval_size = symbol->st_size;
    return 1;
}

int python_take(struct python *p, const struct python_symbols *s)
{
    struct py_mem mem = memory(p);
    struct err e;
    int fits;

    p->version = s->version;
    p->proc.runtime = (uintptr_t)s->runtime;
    p->proc.code_type = (uintptr_t)s->code_type;
    p->eval_start = (uintptr_t)s->eval;
    p->eval_end = p->eval_start + s->eval_size;
    self_begin(p->self);
    fits = set_layout(p, s->runtime) ? -1 : py_walk_check(&mem, &p->layout, &p->proc, &e);
    self_end(p->self);
    p->found = fits;
    return fits != 0;
}

int python_tail_calls(const struct python *p)
{
    uint64_t size = p->eval_end - p->eval_start;

    return p->version >= 0x030e && size && size < TAIL_CALLS_BELOW;
}

/* ---- reading it ---- */

int python_walk(struct python *p, struct py_cache *cache)
{
    struct py_mem mem = memory(p);

    if (p->found <= 0)
        return 0;
    py_walk_thread(&p->stack, &mem, &p->layout, &p->proc, (uint64_t)pthread_self(), cache);
    return p->stack.walk.status == PY_READ ? -1 : (int)p->stack.walk.n;
}

static uint64_t word(const struct python *p, uint64_t addr)
{
    uint64_t v = 0;

    return self_read(p->self, addr, &v, sizeof(v)) ? 0 : v;
}

void python_names(const struct python *p, uint64_t code, uint64_t *name, uint64_t *file)
{
    const struct py_layout *l = &p->layout;

    *name = word(p, code + (l->code_qualname ? l->code_qualname : l->code_name));
    *file = word(p, code + l->code_filename);
}

static size_t utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7));
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* As py_copy_str() of bpf/walk_python.h reads it, whole. */
size_t python_text(const struct python *p, uint64_t addr, char out[PYTHON_TEXT])
{
    const struct py_layout *l = &p->layout;
    uint64_t length = addr ? word(p, addr + l->str_length) : 0;
    uint32_t state = 0, kind;
    uint8_t chars[PYTHON_TEXT];
    size_t n = 0, max;

    if (!length || self_read(p->self, addr + l->str_state, &state, sizeof(state)))
        return 0;
    state >>= l->str_shift & 31;
    kind = state & 7;
    if (!(state & 8) || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    max = length < sizeof(chars) / kind ? (size_t)length : sizeof(chars) / kind;
    if (self_read(p->self, addr + (state & 16 ? l->str_ascii : l->str_compact), chars, max * kind))
        return 0;
    for (size_t i = 0; i < max && n + 4 <= PYTHON_TEXT; i++) {
        uint32_t c = 0;

        memcpy(&c, chars + i * kind, kind); /* little-endian, as we are */
        if (!c)
            break;
        n += utf8(out + n, c);
    }
    return n;
}

size_t python_lines(const struct python *p, uint64_t code, uint8_t *out, size_t n)
{
    uint64_t bytes = word(p, code + p->layout.code_linetable);
    uint64_t size = bytes ? word(p, bytes + p->layout.bytes_size) : 0;

    if (size > n || self_read(p->self, bytes + p->layout.bytes_data, out, (size_t)size))
        return 0;
    return (size_t)size;
}
