/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/symbolize_job.h"

#include "base/log.h"
#include "platform/debugfile.h"
#include "platform/dwarf.h"
#include "platform/elfsym.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHEAP_DWARF (4u << 20) /* bytes: up to here lines are looked up unasked */

struct table {
    const struct elf *elf; /* whose it is */
    struct elf_symtab symtab;
};

/* All that was opened for one module, kept until its names are taken. */
struct sources {
    struct elf file;        /* closed where the file itself is not to be had */
    struct debugfile debug; /* ... where there is none */
    struct elf mini;        /* MiniDebugInfo, in mini_image */
    struct buf mini_image;
    struct table tables[4];
    size_t tables_n;
    int fd; /* of `file`, -1: none */
};

/* ---- opening ---- */

/* Is the open file the one that was recorded? */
static int is_recorded(const struct module *m, const struct elf *f, int fd)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    size_t n = elf_build_id(f, id);
    struct stat st;

    if (m->build_id_len)
        return n == m->build_id_len && !memcmp(id, m->build_id, n);
    return m->ino && !fstat(fd, &st) && st.st_dev == m->dev && st.st_ino == m->ino;
}

static int open_path(struct job *j, struct sources *s)
{
    struct err e = {""};
    int fd = open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        log_debug("%s: %s", j->path, strerror(errno));
        return -1;
    }
    if (elf_open_fd(&s->file, fd, &e)) {
        log_warn("symbols of %s: %s", j->path, e.msg);
    } else if (is_recorded(j->module, &s->file, fd)) {
        s->fd = fd;
        return 0;
    } else {
        log_warn("symbols of %s: the file is another one than was recorded (updated since?): not used",
                 j->path);
        elf_close(&s->file);
    }
    close(fd);
    return -1;
}

static int open_kept(struct job *j, struct sources *s)
{
    struct err e = {""};

    if (elf_open_fd(&s->file, j->module->fd, &e)) {
        log_warn("symbols of %s: %s", j->path, e.msg);
        return -1;
    }
    s->fd = fcntl(j->module->fd, F_DUPFD_CLOEXEC, 0);
    return 0;
}

/* The vdso is the same in every process of a boot: ours will do. Its size is that up to its last header. */
static int open_own_vdso(struct job *j, struct sources *s)
{
    const Elf64_Ehdr *h = (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: the kernel gives a number */
    uint8_t id[ELF_BUILD_ID_MAX];
    size_t n;

    if (!h || elf_open_mem(&s->file, h, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize, NULL))
        return -1;
    n = elf_build_id(&s->file, id);
    if (j->module->build_id_len ? n == j->module->build_id_len && !memcmp(id, j->module->build_id, n)
                                : j->opts->same_boot)
        return 0;
    elf_close(&s->file);
    return -1;
}

static void open_file(struct job *j, struct sources *s)
{
    s->fd = -1;
    if (j->module->fd >= 0 && !open_kept(j, s))
        return;
    if (j->module->kind == MODULE_VDSO)
        (void)open_own_vdso(j, s);
    else if (j->path[0] == '/')
        (void)open_path(j, s);
}

static void open_debug(struct job *j, struct sources *s)
{
    const struct module *m = j->module;
    const char *root = j->opts->debug_root;

    if (s->file.p)
        (void)debugfile_find(&s->debug, &s->file, j->path, root);
    else if (debugfile_by_build_id(&s->debug, root, m->build_id, m->build_id_len, ".debug"))
        (void)debugfile_by_build_id(&s->debug, root, m->build_id, m->build_id_len, "");
}

static void open_mini(struct job *j, struct sources *s)
{
    struct err e = {""};

    if (!s->file.p || !elf_section(&s->file, ".gnu_debugdata"))
        return;
    if (debugfile_mini(&s->file, &s->mini_image, &e) ||
        elf_open_mem(&s->mini, s->mini_image.data, s->mini_image.len, &e))
        log_warn("symbols of %s: %s", j->path, e.msg);
}

static void sources_release(struct sources *s)
{
    while (s->tables_n)
        elf_symtab_release(&s->tables[--s->tables_n].symtab);
    elf_close(&s->mini);
    buf_release(&s->mini_image);
    debugfile_release(&s->debug);
    elf_close(&s->file);
    if (s->fd >= 0)
        close(s->fd);
}

/* ---- symbol tables ---- */

/* 0 when f has a table of that type, which is then part of the query. */
static int scan(struct job *j, struct sources *s, struct elfsym *q, const struct elf *f, uint32_t sh_type)
{
    struct table *t = &s->tables[s->tables_n];
    struct err e = {""};

    if (!f->p || !elf_section_of_type(f, sh_type))
        return -1;
    if (elf_symtab_open(f, sh_type, &t->symtab, &e)) {
        log_warn("symbols of %s: %s", j->path, e.msg);
        return -1;
    }
    t->elf = f;
    s->tables_n++;
    elfsym_scan(q, f, &t->symtab);
    return 0;
}

/* The full table, wherever it is, and the dynamic one: it alone has the names of what was stripped. */
static void scan_all(struct job *j, struct sources *s, struct elfsym *q)
{
    int full = !scan(j, s, q, &s->file, SHT_SYMTAB) || !scan(j, s, q, &s->debug.elf, SHT_SYMTAB), dynamic;

    if (!full) {
        open_mini(j, s);
        full = !scan(j, s, q, &s->mini, SHT_SYMTAB);
    }
    dynamic = !scan(j, s, q, &s->file, SHT_DYNSYM);
    j->no_symbols = !full && !dynamic;
}

/* The string id of a table's symbol, without its version (`@GLIBC_2.34`, `@@GLIBC_2.34`). */
static uint32_t symbol_name(struct job *j, const char *raw, const char *tail)
{
    char *bare = mem_strndup(raw, strcspn(raw, "@"));
    uint32_t id = job_symbol(j, bare);
    char *whole;

    free(bare);
    if (!tail[0])
        return id;
    whole = mem_printf("%s%s", strtab_get(&j->strings, id), tail);
    id = strtab_add(&j->strings, whole);
    free(whole);
    return id;
}

static void set_symbols(struct job *j, const struct elfsym *q)
{
    struct frame_name name = {0};
    const char *last = NULL;

    for (size_t i = 0; i < q->n; i++) {
        const char *raw = q->best[i].name;

        if (!raw)
            continue;
        if (raw != last) /* neighbours mostly share their function */
            name.func = symbol_name(j, raw, "");
        last = raw;
        job_set(j, i, &name, 1);
    }
}

/* ---- PLT stubs ---- */

/* Stubs of functions that are chosen at load time say only the address of what chooses; that is the
 * function's symbol. */
static void name_chosen_stub(struct sources *s, struct elf_plt_stub *stub)
{
    struct elfsym q;

    elfsym_init(&q, &stub->resolver, 1);
    for (size_t t = 0; t < s->tables_n; t++)
        elfsym_scan(&q, s->tables[t].elf, &s->tables[t].symtab);
    if (elfsym_finish(&q))
        stub->name = q.best[0].name;
    elfsym_release(&q);
}

static void set_stub(struct job *j, const struct elf_plt_stub *stub)
{
    struct frame_name name = {.func = symbol_name(j, stub->name, "@plt")};

    job_set(j, addr_lower(j->addrs, j->n, stub->addr), &name, 1);
}

static void name_plt(struct job *j, struct sources *s)
{
    VEC(struct elf_plt_stub) stubs = {0};

    for (size_t i = 0; i < j->n; i++)
        if (!j->results[i].n && elf_plt_contains(&s->file, j->addrs[i]))
            *vec_push(&stubs) = (struct elf_plt_stub){.addr = j->addrs[i]};
    if (stubs.n)
        elf_plt_resolve(&s->file, stubs.a, stubs.n);
    for (size_t i = 0; i < stubs.n; i++) {
        if (!stubs.a[i].name && stubs.a[i].resolver)
            name_chosen_stub(s, &stubs.a[i]);
        if (stubs.a[i].name)
            set_stub(j, &stubs.a[i]);
    }
    vec_release(&stubs);
}

/* ---- DWARF ---- */

static uint64_t section_size(const struct elf *f, const char *name)
{
    const struct elf_section *s = elf_section(f, name);

    return s && s->type != SHT_NOBITS ? s->size : 0;
}

static uint64_t dwarf_size(const struct elf *f)
{
    uint64_t info = section_size(f, ".debug_info") + section_size(f, ".zdebug_info");

    return info ? info + section_size(f, ".debug_line") + section_size(f, ".zdebug_line") : 0;
}

/* A function keeps the name that its symbol gives; DWARF adds the lines and what was inlined. */
static void take_dwarf(void *ctx, size_t i, const struct dwarf_name *names, size_t n)
{
    struct frame_name out[DWARF_DEPTH_MAX];
    struct job *j = ctx;
    uint32_t symbol = j->results[i].n ? j->names.a[j->results[i].first].func : 0;

    if (!symbol && !names[0].func)
        return;
    for (size_t k = 0; k < n; k++)
        out[k] = (struct frame_name){.func = k || !symbol ? job_symbol(j, names[k].func ? names[k].func : "?")
                                                          : symbol,
                                     .file = strtab_add(&j->strings, names[k].file),
                                     .line = names[k].line};
    job_set(j, i, out, n);
}

static void add_dwarf(struct job *j, struct sources *s)
{
    struct err e = {""};
    uint64_t own = dwarf_size(&s->file), apart = s->debug.elf.p ? dwarf_size(&s->debug.elf) : 0;
    int fd;

    if ((!own && !apart) || (!j->opts->inlines && (own ? own : apart) > CHEAP_DWARF))
        return;
    fd = own ? fcntl(s->fd, F_DUPFD_CLOEXEC, 0) : open(s->debug.path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (dwarf_lookup(fd, j->addrs, j->n, j->opts->inlines, take_dwarf, j, &e))
        log_warn("%s: %s", own ? j->path : s->debug.path, e.msg);
    close(fd);
}

/* ---- what is left ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void set_places(struct job *j, const struct sources *s)
{
    struct frame_name name = {0};
    uint64_t start, last = 0;

    for (size_t i = 0; i < j->n; i++) {
        if (j->results[i].n || elf_function_start(&s->file, j->addrs[i], &start))
            continue;
        if (!name.func || start != last) {
            char *text = mem_printf("[%s+0x%llx]", base_name(j->path), (unsigned long long)start);

            name.func = strtab_add(&j->strings, text);
            free(text);
        }
        last = start;
        job_set(j, i, &name, 1);
        j->results[i].place = 1;
    }
}

void symbolize_file(struct job *j)
{
    struct sources s = {.fd = -1};
    struct elfsym q;

    open_file(j, &s);
    open_debug(j, &s);
    elfsym_init(&q, j->addrs, j->n);
    scan_all(j, &s, &q);
    elfsym_finish(&q);
    set_symbols(j, &q);
    elfsym_release(&q);
    if (s.file.p)
        name_plt(j, &s);
    add_dwarf(j, &s);
    if (j->opts->starts && s.file.p && j->path[0] == '/')
        set_places(j, &s);
    sources_release(&s);
}
