/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_names.h"

#include "base/log.h"
#include "base/mem.h"
#include "platform/elfsym.h"
#include "platform/kallsyms.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void perf_note(struct meta *m, char *text)
{
    log_warn("%s", text);
    *vec_push(&m->notes) = text;
}

/* ---- the kernel ---- */

struct kernel_names {
    struct store *s;
    VEC(uint64_t) addrs;  /* what is looked up: sorted, each once */
    VEC(uint32_t) frames; /* their ids, in the store's order */
    uint64_t shift;       /* from recorded addresses to those of the symbols */
};

/* The folder with the symbols of the kernel of that build id; NULL: there is none. */
static char *symbols_dir(const uint8_t *id, size_t n)
{
    const char *home = getenv("HOME");
    struct buf path = {0};
    size_t dir;

    if (perf_kernel_runs_here(id, n))
        return mem_strdup("/proc");
    if (!home || n < 2)
        return NULL;
    buf_addf(&path, "%s/.debug/.build-id/%02x/", home, id[0]);
    for (size_t i = 1; i < n; i++)
        buf_addf(&path, "%02x", id[i]);
    dir = path.len;
    buf_addstr(&path, "/kallsyms");
    if (access(path.data, R_OK)) {
        buf_release(&path);
        return NULL;
    }
    path.data[dir] = '\0';
    return buf_detach(&path);
}

/* Kernels are loaded elsewhere at each boot: how far. -1: not to be told. */
static int find_shift(struct kernel_names *x, const struct perf_maps *maps, const char *dir)
{
    uint64_t now = maps->ref_name ? kallsyms_address(dir, maps->ref_name) : 0;

    x->shift = now - maps->ref;
    return now ? 0 : -1;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static uint64_t lookup_address(const struct kernel_names *x, const struct frame *f)
{
    return f->addr - (f->flags & FRAME_RETURN ? 1 : 0) + x->shift;
}

/* Modules lie where they were loaded in that boot alone. */
static int wants_name(const struct kernel_names *x, const struct frame *f)
{
    const struct module *m = frames_module(&x->s->frames, f->module);

    return f->kind == FRAME_KERNEL && !f->func && !f->names_n && m &&
           (m->kind == MODULE_KERNEL || (m->kind == MODULE_KMOD && !x->shift));
}

static void collect(struct kernel_names *x)
{
    size_t n = 0;

    for (uint32_t id = 1; id <= x->s->frames.list.n; id++) {
        const struct frame *f = frames_get(&x->s->frames, id);

        if (!wants_name(x, f))
            continue;
        *vec_push(&x->frames) = id;
        *vec_push(&x->addrs) = lookup_address(x, f);
    }
    if (x->addrs.n)
        qsort(x->addrs.a, x->addrs.n, sizeof(*x->addrs.a), by_value);
    for (size_t i = 0; i < x->addrs.n; i++)
        if (!n || x->addrs.a[n - 1] != x->addrs.a[i])
            x->addrs.a[n++] = x->addrs.a[i];
    x->addrs.n = n;
}

static void set_names(struct kernel_names *x, const struct kallsyms_hit *hits)
{
    for (size_t i = 0; i < x->frames.n; i++) {
        const struct frame *f = frames_get(&x->s->frames, x->frames.a[i]);
        const struct kallsyms_hit *hit = &hits[addr_lower(x->addrs.a, x->addrs.n, lookup_address(x, f))];
        struct frame_name name = {0};

        if (!hit->name)
            continue;
        name.func = strtab_add(&x->s->strings, hit->name);
        if (hit->module) {
            char *file = mem_printf("[%s]", hit->module);

            name.file = strtab_add(&x->s->strings, file);
            free(file);
        }
        frames_set_names(&x->s->frames, x->frames.a[i], &name, 1);
    }
}

static void name_from(struct kernel_names *x, const char *dir, struct meta *m)
{
    struct kallsyms_hit *hits = mem_calloc(x->addrs.n, sizeof(*hits));
    struct err e = {""};
    char *text;

    if (kallsyms_resolve(dir, x->addrs.a, x->addrs.n, hits, &text, &e)) {
        perf_note(m, mem_printf("the kernel's functions are unnamed: %s", e.msg));
    } else {
        set_names(x, hits);
        free(text);
    }
    free(hits);
}

void perf_names_kernel(struct perf_maps *maps, struct meta *m)
{
    struct kernel_names x = {.s = maps->s};
    uint8_t id[20];
    size_t n = perf_maps_kernel_id(maps, id);
    char *dir = n ? symbols_dir(id, n) : NULL;
    int moved = dir ? find_shift(&x, maps, dir) : 0;

    collect(&x);
    if (!x.addrs.n)
        ;
    else if (!n)
        perf_note(m, mem_printf("the kernel's functions are unnamed: no build id tells which kernel it was"));
    else if (!dir)
        perf_note(
            m,
            mem_printf("the kernel's functions are unnamed: it is another kernel than this one (by its build "
                       "id), and there is no copy of its symbols in ~/.debug"));
    else if (moved)
        perf_note(
            m, mem_printf("the kernel's functions are unnamed: nothing tells where it was loaded in memory"));
    else
        name_from(&x, dir, m);
    free(dir);
    vec_release(&x.addrs);
    vec_release(&x.frames);
}

/* ---- files ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* "libc-2.19.so, a.out and 3 more" of the files in that state; how many there are. */
static size_t list_files(const struct perf_maps *maps, unsigned state, struct buf *out)
{
    enum { LISTED = 4 };
    size_t n = 0;

    for (size_t i = 0; i < maps->code.n; i++) {
        const struct perf_code *c = &maps->code.a[i];

        if (c->state != state || !c->store_id || ++n > LISTED)
            continue;
        buf_addf(out, "%s%s", n > 1 ? ", " : "", base_of(c->path));
    }
    if (n > LISTED)
        buf_addf(out, " and %zu more", n - LISTED);
    return n;
}

static void note_files(const struct perf_maps *maps, struct meta *m, unsigned state, const char *what)
{
    struct buf list = {0};

    if (list_files(maps, state, &list))
        perf_note(m, mem_printf("%s: %s", what, list.data));
    buf_release(&list);
}

void perf_names_files(const struct perf_maps *maps, struct meta *m)
{
    note_files(maps, m, PERF_CODE_ABSENT, "not here, or nothing tells that it is the same: functions of");
    note_files(maps, m, PERF_CODE_OTHER,
               "another file than was recorded lies here (by its build id), functions are unnamed: of");
    note_files(maps, m, PERF_CODE_UNSURE,
               "unverified, for no build id was recorded (device and inode fit): names of");
}

void perf_names_rest(struct store *s)
{
    for (size_t i = 0; i < s->frames.list.n; i++) {
        struct frame *f = &s->frames.list.a[i];
        const struct module *m = frames_module(&s->frames, f->module);
        char *name;

        if (f->func || f->names_n)
            continue;
        name = mem_printf("[%s]", m ? base_of(strtab_get(&s->strings, m->path)) : "unknown");
        f->func = strtab_add(&s->strings, name);
        f->flags = FRAME_NAMELESS;
        free(name);
    }
}
