/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_code.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "platform/debugfile.h"
#include "unwind/modules.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void perf_code_release(struct perf_code *c)
{
    unw_lazy_free(c->lazy);
    free(c->path);
    free(c->found);
}

static int is_recorded(const struct perf_code *c, const uint8_t *id, size_t n)
{
    return c->build_id_n && n == c->build_id_n && !memcmp(id, c->build_id, n);
}

/* A regular file; devices and pipes that a name may lead to are left alone. */
static int open_regular(const char *path, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static void found_at(struct perf_code *c, const char *path, int fd, enum perf_code_state state)
{
    struct err e = {""};

    c->state = (uint8_t)state;
    c->found = mem_strdup(path);
    c->found_apart = strcmp(path, c->path) != 0;
    if (unw_layout_read(fd, &c->layout, &e) < 0) {
        log_debug("%s: %s", path, e.msg);
        c->layout.n = 0;
    }
}

/* At its own path. */
static void find_there(struct perf_code *c)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    struct stat st;
    struct elf elf;
    int fd = open_regular(c->path, &st);
    size_t n;

    c->state = PERF_CODE_ABSENT;
    if (fd < 0)
        return;
    if (!elf_open_fd(&elf, fd, NULL)) {
        n = elf_build_id(&elf, id);
        elf_close(&elf);
        if (is_recorded(c, id, n))
            found_at(c, c->path, fd, PERF_CODE_SURE);
        else if (c->build_id_n)
            c->state = PERF_CODE_OTHER;
        else if (c->ino && st.st_ino == c->ino && st.st_dev == c->dev)
            found_at(c, c->path, fd, PERF_CODE_UNSURE);
    }
    close(fd);
}

/* By its build id below a folder. 0: it is there. */
static int find_below(struct perf_code *c, const char *root, const char *suffix)
{
    struct debugfile d;
    struct stat st;
    int fd;

    if (debugfile_by_build_id(&d, root, c->build_id, c->build_id_n, suffix))
        return -1;
    fd = open_regular(d.path, &st);
    if (fd >= 0) {
        found_at(c, d.path, fd, PERF_CODE_SURE);
        close(fd);
    }
    debugfile_release(&d);
    return fd >= 0 ? 0 : -1;
}

/* perf record puts a copy of what it met there. */
static int find_cached(struct perf_code *c)
{
    const char *home = getenv("HOME");
    char *root;
    int rc;

    if (!home || !*home)
        return -1;
    root = mem_printf("%s/.debug", home);
    rc = find_below(c, root, "/elf");
    free(root);
    return rc;
}

int perf_kernel_runs_here(const uint8_t *id, size_t n)
{
    uint8_t own[ELF_BUILD_ID_MAX];
    struct buf notes = {0};
    int same = 0;

    if (n && !io_read_file(AT_FDCWD, "/sys/kernel/notes", &notes, NULL))
        same = elf_build_id_of_notes(notes.data, notes.len, own) == n && !memcmp(own, id, n);
    buf_release(&notes);
    return same;
}

/* The build id of our own vdso: its length, 0: there is none. */
static size_t own_vdso(const void **image, size_t *n, uint8_t id[ELF_BUILD_ID_MAX])
{
    struct elf elf;
    size_t id_n;

    *image = modules_vdso(n);
    if (!*image || elf_open_mem(&elf, *image, *n, NULL))
        return 0;
    id_n = elf_build_id(&elf, id);
    elf_close(&elf);
    return id_n;
}

void perf_code_take_own_vdso(struct perf_code *c)
{
    const void *image;
    size_t n;

    c->build_id_n = (uint8_t)own_vdso(&image, &n, c->build_id);
}

static void find_vdso(struct perf_code *c)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    const void *image;
    size_t n, id_n = own_vdso(&image, &n, id);

    c->state = PERF_CODE_ABSENT;
    c->lazy_tried = 1;
    if (!is_recorded(c, id, id_n))
        return;
    c->state = PERF_CODE_SURE;
    c->lazy = unw_lazy_open_image(image, n, NULL);
    if (c->lazy)
        c->layout = *unw_lazy_layout(c->lazy);
}

/* Looks for the file, once. */
static void find_file(struct perf_code *c)
{
    if (c->state != PERF_CODE_UNTRIED)
        return;
    if (c->kind == MODULE_VDSO) {
        find_vdso(c);
    } else if (c->kind != MODULE_FILE || c->path[0] != '/') {
        c->state = PERF_CODE_NONE;
    } else {
        find_there(c);
        if (c->state != PERF_CODE_SURE && c->build_id_n && find_cached(c) && find_below(c, NULL, ""))
            (void)find_below(c, NULL, ".debug");
    }
}

struct unw_lazy *perf_code_lazy(struct perf_code *c)
{
    struct stat st;
    int fd;

    find_file(c);
    if (!c->lazy_tried && c->found && (fd = open_regular(c->found, &st)) >= 0) {
        c->lazy = unw_lazy_open(fd, NULL);
        close(fd);
    }
    c->lazy_tried = 1;
    return c->lazy;
}

/* MODULE_OTHER is what nobody looks names up in: what lies at its path today is not it. */
uint32_t perf_code_module(struct perf_code *c, struct store *s)
{
    struct module m = {
        .kind = c->kind, .build_id_len = c->build_id_n, .dev = c->dev, .ino = c->ino, .fd = -1};
    struct stat st;

    if (c->store_id)
        return c->store_id;
    find_file(c);
    m.path = strtab_add(&s->strings, c->path);
    memcpy(m.build_id, c->build_id, sizeof(m.build_id));
    if (c->found_apart)
        m.fd = open_regular(c->found, &st);
    if ((c->kind == MODULE_FILE && !c->found) || (c->kind == MODULE_VDSO && c->state != PERF_CODE_SURE))
        m.kind = MODULE_OTHER;
    c->store_id = frames_add_module(&s->frames, &m);
    return c->store_id;
}
