/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of symbolizing share: programs to build, a store with raw frames, and the names that came
 * out. */
#ifndef WPROF_TESTS_SYMBOLIZE_CASE_H
#define WPROF_TESTS_SYMBOLIZE_CASE_H

#include "analyze/symbolize.h"
#include "platform/elf.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[PATH_MAX];

static inline const char *at(const char *name) /* valid until the call after the next */
{
    static char path[2][PATH_MAX + 256];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
    return path[turn];
}

static inline void put_file(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Runs a shell script in the test's folder. */
static inline void sh(const char *script)
{
    char *cmd = mem_printf("set -e; cd '%s'; %s", dir, script);

    if (system(cmd))
        fail_msg("failed: %s", script);
    free(cmd);
}

static inline int make_dir(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/wprof-test-symbolize-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_dir(void **state)
{
    sh("cd /; rm -rf \"$OLDPWD\"");
    return 0;
}

/* A function's address in a file that has its symbols; `size` may be NULL. */
static inline uint64_t address(const char *file, const char *symbol, uint64_t *size)
{
    struct elf_sym sym;
    struct err e = {""};
    struct elf f;

    if (elf_open(&f, at(file), &e))
        fail_msg("%s", e.msg);
    if (elf_find_symbol(&f, symbol, &sym))
        fail_msg("%s: no symbol %s", file, symbol);
    elf_close(&f);
    if (size)
        *size = sym.size;
    return sym.value;
}

/* The module of an existing file: known by its build id, or by dev and inode where it has none. */
static inline struct module module_of(struct store *s, const char *file)
{
    struct module m = {.kind = MODULE_FILE, .fd = -1, .path = strtab_add(&s->strings, at(file))};
    struct err e = {""};
    struct stat st;
    struct elf f;

    if (elf_open(&f, at(file), &e))
        fail_msg("%s", e.msg);
    m.build_id_len = (uint8_t)elf_build_id(&f, m.build_id);
    elf_close(&f);
    assert_int_equal(stat(at(file), &st), 0);
    m.dev = st.st_dev;
    m.ino = st.st_ino;
    return m;
}

static inline uint32_t add_frame(struct store *s, const struct module *m, int kind, int flags, uint64_t addr)
{
    struct frame f = {.kind = (uint8_t)kind, .flags = (uint8_t)flags, .addr = addr};

    f.module = m ? frames_add_module(&s->frames, m) : 0;
    return frames_add(&s->frames, &f);
}

/* "outer;inner" as the store has it now, "" for a frame without names; owned by the caller. */
static inline char *names_text(const struct store *s, uint32_t frame)
{
    const struct frame_name *names;
    struct frame_name self;
    struct buf b = {0};
    uint32_t n = frames_names(&s->frames, frame, &self, &names);

    for (uint32_t i = 0; i < n; i++)
        buf_addf(&b, "%s%s", i ? ";" : "", strtab_get(&s->strings, names[i].func));
    return buf_detach(&b);
}

static inline void expect_names(const struct store *s, uint32_t frame, const char *want)
{
    char *have = names_text(s, frame);

    assert_string_equal(have, want);
    free(have);
}

static inline struct symbolize_stats run(struct store *s, const struct symbolize_opts *o)
{
    struct symbolize_stats stats;
    struct err e = {""};

    if (symbolize_store(s, o, &stats, &e))
        fail_msg("%s", e.msg);
    assert_int_equal(stats.named + stats.unnamed, stats.frames);
    return stats;
}

/* What one address of a file is named, all in one. */
static inline void expect_at(const char *file, uint64_t addr, const struct symbolize_opts *o,
                             const char *want)
{
    struct store s = {0};
    struct module m = module_of(&s, file);
    uint32_t frame = add_frame(&s, &m, FRAME_NATIVE, 0, addr);

    run(&s, o);
    expect_names(&s, frame, want);
    store_release(&s);
}

#endif
