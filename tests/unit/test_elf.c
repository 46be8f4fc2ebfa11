/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"
#include "platform/elf.h"

#include <elf.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/wprof-test-elf-XXXXXX";

static int run(const char *fmt, ...)
{
    char cmd[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(cmd, sizeof(cmd), fmt, ap);
    va_end(ap);
    return system(cmd);
}

static int setup(void **state)
{
    static const char src[] = "int __attribute__((noinline)) add_up(int a) { return a * 3 + 1; }\n"
                              "int main(int c, char **v) { (void)v; return add_up(c); }\n";
    char path[PATH_MAX];
    FILE *f;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/a.c", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(src, f);
    for (int i = 0; i < 40; i++) /* names enough for compression to pay */
        fprintf(f, "int a_rather_long_name_of_a_variable_%d;\n", i);
    fclose(f);
    return run(
        "cd %s && gcc -O1 -g -gz=none -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 -o a a.c && "
        "gcc -O1 -g -gz=zlib -o z a.c && gcc -O1 -g -gz=none -o u a.c",
        dir);
}

static int teardown(void **state)
{
    return run("rm -rf %s", dir);
}

static void open_it(struct elf *f, const char *name)
{
    char path[PATH_MAX];
    struct err e = {""};

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (elf_open(f, path, &e))
        fail_msg("%s", e.msg);
}

static void test_headers(void **state)
{
    static const uint8_t want[20] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
                                     0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33};
    const struct elf_section *text;
    uint8_t id[ELF_BUILD_ID_MAX];
    struct elf f;

    open_it(&f, "a");
    assert_true(elf_is_executable(&f));
    assert_int_equal(elf_build_id(&f, id), 20);
    assert_memory_equal(id, want, 20);
    text = elf_section(&f, ".text");
    assert_non_null(text);
    assert_null(elf_section(&f, ".nothing-of-the-kind"));
    assert_ptr_equal(elf_section_at(&f, text->addr + 1), text);
    assert_ptr_equal(elf_at(&f, text->addr, 16), f.p + text->offset);
    assert_null(elf_at(&f, text->addr, 1u << 30));
    elf_close(&f);
}

static void test_symbols(void **state)
{
    struct elf_symtab t;
    struct elf_sym sym;
    struct elf f;

    open_it(&f, "a");
    assert_int_equal(elf_find_symbol(&f, "add_up", &sym), 0);
    assert_int_equal(sym.type, STT_FUNC);
    assert_int_equal(sym.bind, STB_GLOBAL);
    assert_true(sym.size > 0);
    assert_string_equal(elf_section_at(&f, sym.value)->name, ".text");
    assert_int_equal(elf_find_symbol(&f, "__libc_start_main", &sym), -1); /* undefined here */
    assert_int_equal(elf_find_symbol(&f, "add_u", &sym), -1);
    assert_int_equal(elf_symtab_open(&f, SHT_DYNSYM, &t, NULL), 0);
    assert_true(t.n > 1);
    elf_symtab_release(&t);
    elf_close(&f);
}

static void test_compressed_section(void **state)
{
    struct elf_data plain, inflated;
    const struct elf_section *s;
    struct err e = {""};
    struct elf u, z;

    open_it(&u, "u");
    open_it(&z, "z");
    s = elf_section(&z, ".debug_str");
    assert_non_null(s);
    assert_true(s->flags & SHF_COMPRESSED);
    assert_int_equal(elf_section_data(&u, elf_section(&u, ".debug_str"), &plain, &e), 0);
    assert_int_equal(elf_section_data(&z, s, &inflated, &e), 0);
    assert_null(plain.owned);
    assert_non_null(inflated.owned);
    assert_non_null(memmem(inflated.p, inflated.n, "add_up", 7));
    assert_int_equal(elf_section_data(&u, elf_section(&u, ".bss"), &plain, &e), -1);
    elf_data_release(&inflated);
    elf_close(&u);
    elf_close(&z);
}

/* Whatever the length at which a file is cut, the answers are an error or come from inside of what is left.
 */
static void test_cut_everywhere(void **state)
{
    char path[PATH_MAX];
    struct err e = {""};
    struct io_map m;

    snprintf(path, sizeof(path), "%s/a", dir);
    assert_int_equal(io_map_file(path, &m, &e), 0);
    for (size_t n = 0; n < m.n; n += n < 2048 ? 1 : 97) {
        uint8_t *copy = malloc(n ? n : 1), id[ELF_BUILD_ID_MAX];
        struct elf_sym sym;
        struct elf f;

        memcpy(copy, m.p, n);
        if (!elf_open_mem(&f, copy, n, &e)) {
            assert_true(n >= sizeof(Elf64_Ehdr));
            elf_find_symbol(&f, "add_up", &sym);
            elf_build_id(&f, id);
            elf_at(&f, f.entry, 16);
            elf_close(&f);
        } else {
            assert_string_not_equal(e.msg, "");
        }
        free(copy);
    }
    io_unmap(&m);
}

static void test_refusals(void **state)
{
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT}};
    struct err e = {""};
    struct elf f;

    assert_int_equal(elf_open_mem(&f, "#!/bin/sh\n", 10, &e), -1);
    assert_string_equal(e.msg, "not an ELF file");
    assert_int_equal(elf_open_mem(&f, &h, sizeof(h), &e), -1);
    assert_non_null(strstr(e.msg, "32-bit"));
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_phnum = 3;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phoff = UINT64_MAX - 8;
    assert_int_equal(elf_open_mem(&f, &h, sizeof(h), &e), -1);
    assert_non_null(strstr(e.msg, "program headers"));
    assert_int_equal(elf_open(&f, "/nonexistent/x", &e), -1);
    assert_non_null(strstr(e.msg, "/nonexistent/x"));
    elf_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_compressed_section),
        cmocka_unit_test(test_cut_everywhere),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
