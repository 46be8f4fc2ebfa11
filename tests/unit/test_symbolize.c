/* SPDX-License-Identifier: Apache-2.0 */
/* Names of ELF files: programs are built here, then stripped, split and damaged in every way that has to
 * work. */
#include "base/log.h"
#include "symbolize_case.h"

static const char main_c[] = "#include <stdlib.h>\n"
                             "#include <string.h>\n"
                             "#include <stdio.h>\n"
                             "int sink;\n"
                             "static inline __attribute__((always_inline)) int inner(int a)\n"
                             "{\n"
                             "    sink = a * 7;\n" /* line 7 */
                             "    return sink + 1;\n"
                             "}\n"
                             "static inline __attribute__((always_inline)) int outer(int a)\n"
                             "{\n"
                             "    return inner(a ^ 0x55) * 3;\n" /* line 12 */
                             "}\n"
                             "int __attribute__((noinline)) visible(int a)\n"
                             "{\n"
                             "    return outer(a);\n" /* line 16 */
                             "}\n"
                             "static int __attribute__((noinline, noclone)) hidden(int a)\n"
                             "{\n"
                             "    sink += a; return visible(a) + sink;\n"
                             "}\n"
                             "int __work(int a) { return a + 2; }\n"
                             "int work(int a) __attribute__((weak, alias(\"__work\")));\n"
                             "static int local_alias(int a) __attribute__((alias(\"__work\"), used));\n"
                             "int main(int c, char **v)\n"
                             "{\n"
                             "    puts(v[0]);\n"
                             "    return hidden(c) + work((int)strlen(v[0])) + atoi(v[0]);\n"
                             "}\n";

static const char sizes_s[] = ".section .note.GNU-stack,\"\",@progbits\n"
                              ".text\n"
                              ".globl sized, no_size\n"
                              ".type sized, @function\n"
                              "sized: .fill 16, 1, 0x90\n"
                              ".size sized, 16\n"
                              ".fill 16, 1, 0x90\n" /* belongs to nobody */
                              ".type no_size, @function\n"
                              "no_size: .fill 32, 1, 0x90\n"
                              ".type big, @function\n"
                              "big: .fill 8, 1, 0x90\n"
                              ".type within, @function\n"
                              "within: .fill 8, 1, 0x90\n"
                              ".size within, 8\n"
                              ".fill 8, 1, 0x90\n"
                              ".size big, 24\n"
                              ".section .text.other, \"ax\", @progbits\n"
                              ".fill 16, 1, 0x90\n"
                              ".globl main\n"
                              ".type main, @function\n"
                              "main: xor %eax, %eax; ret\n"
                              ".size main, . - main\n";

static const char aliases_s[] = ".section .note.GNU-stack,\"\",@progbits\n"
                                ".text\n"
                                ".globl open, __open, main\n"
                                ".type open, @function\n"
                                ".type __open, @function\n"
                                ".type main, @function\n"
                                "open:\n"
                                "__open: nop; ret\n"
                                ".size open, . - open\n"
                                ".size __open, . - __open\n"
                                "main: xor %eax, %eax; ret\n"
                                ".size main, . - main\n";

static const char shapes_cc[] =
    "#include <cstdio>\n"
    "int sink;\n"
    "namespace { struct Hidden { __attribute__((noipa)) void go(int a) { sink += a; } }; }\n"
    "namespace shapes {\n"
    "template <typename T> struct Box {\n"
    "    template <typename U> __attribute__((noinline)) T area(U u) { sink++; return T(u) * 2; }\n"
    "};\n"
    "template double Box<double>::area<int>(int);\n"
    "struct Point { int x; __attribute__((always_inline)) Point(int a) : x(a * sink) { sink = x; } };\n"
    "__attribute__((noinline)) int use(int a) { Point p(a); return p.x; }\n"
    "}\n"
    "int main(int c, char **) { Hidden h; h.go(c); return shapes::use(c); }\n";

static int build(void **state)
{
    if (make_dir(state))
        return -1;
    put_file("main.c", main_c);
    put_file("sizes.s", sizes_s);
    put_file("aliases.s", aliases_s);
    put_file("shapes.cc", shapes_cc);
    sh("gcc -O2 -g -rdynamic -Wl,--build-id=sha1 -Wl,-z,lazy -o full main.c");
    sh("gcc -O2 -g -rdynamic -Wl,--build-id=none -o noid main.c");
    sh("gcc -O2 -Wl,--build-id=sha1 -o sizes sizes.s");
    sh("g++ -O2 -g -o shapes shapes.cc");
    sh("strip -o stripped full && strip -o noid.stripped noid");
    return 0;
}

static const struct symbolize_opts *options(int inlines)
{
    static struct symbolize_opts o;
    static char root[PATH_MAX + 16];

    snprintf(root, sizeof(root), "%s/debug", dir);
    o = (struct symbolize_opts){.inlines = inlines, .debug_root = root};
    return &o;
}

static void test_full_table(void **state)
{
    uint64_t size, hidden = address("full", "hidden", &size);

    expect_at("full", hidden, options(0), "hidden");
    expect_at("full", hidden + size - 1, options(0), "hidden");
    expect_at("full", address("full", "__work", NULL), options(0), "work"); /* of three aliases */
    expect_at("full", 0, options(0), "");
}

static void test_stripped(void **state)
{
    expect_at("stripped", address("full", "visible", NULL) + 1, options(0), "visible"); /* by .dynsym */
    expect_at("stripped", address("full", "hidden", NULL) + 1, options(0), "");
    expect_at("stripped", address("full", "hidden", NULL) + 1, options(1), "");
}

/* The address after a call may be the next function's first. */
static void test_return_address(void **state)
{
    struct store s = {0};
    struct module m = module_of(&s, "sizes");
    uint64_t start = address("sizes", "sized", NULL);
    uint32_t ret = add_frame(&s, &m, FRAME_NATIVE, FRAME_RETURN, start + 16);
    uint32_t plain = add_frame(&s, &m, FRAME_NATIVE, 0, start + 16);
    uint32_t first = add_frame(&s, &m, FRAME_NATIVE, 0, start);
    struct symbolize_stats stats = run(&s, options(0));

    expect_names(&s, ret, "sized");
    expect_names(&s, plain, "");
    expect_names(&s, first, "sized");
    assert_int_equal(stats.frames, 3);
    assert_int_equal(stats.named, 2);
    assert_int_equal(stats.unnamed, 1);
    assert_int_equal(stats.modules, 1);
    assert_int_equal(stats.modules_without_symbols, 0);
    store_release(&s);
}

static void test_sizes(void **state)
{
    uint64_t sized = address("sizes", "sized", NULL), no_size = address("sizes", "no_size", NULL),
             big = address("sizes", "big", NULL), main_at = address("sizes", "main", NULL);

    expect_at("sizes", sized + 15, options(0), "sized");
    expect_at("sizes", sized + 16, options(0), "");
    expect_at("sizes", no_size + 31, options(0), "no_size"); /* reaches to the next symbol */
    expect_at("sizes", big + 7, options(0), "big");
    expect_at("sizes", big + 8, options(0), "within"); /* the one that starts last */
    expect_at("sizes", big + 16, options(0), "big");
    expect_at("sizes", main_at, options(0), "main");
}

/* objdump says where the stubs are: an opinion of its own. */
static void test_plt(void **state)
{
    static const char *const builds[] = {"-Wl,-z,lazy", "-Wl,-z,now", "-fcf-protection -Wl,-z,ibtplt",
                                         "-fno-pie -no-pie", "-fno-plt"};
    unsigned seen = 0;

    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        char line[256], script[512];
        FILE *f;

        snprintf(script, sizeof(script),
                 "gcc -O1 %s -o plt main.c && objdump -d plt | grep '@plt>:$' | tr -d '<>:' >stubs || true",
                 builds[i]);
        sh(script);
        f = fopen(at("stubs"), "r");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f)) {
            char name[200];
            unsigned long long addr;

            if (sscanf(line, "%llx %199s", &addr, name) != 2 || name[0] == '*')
                continue;
            expect_at("plt", addr + 5, options(0), name);
            seen++;
        }
        fclose(f);
    }
    assert_true(seen >= 6);
}

static void test_cxx(void **state)
{
    expect_at("shapes", address("shapes", "_ZN6shapes3BoxIdE4areaIiEEdT_", NULL), options(0),
              "shapes::Box<double>::area<int>");
    expect_at("shapes", address("shapes", "_ZN12_GLOBAL__N_16Hidden2goEi", NULL), options(0),
              "(anonymous namespace)::Hidden::go");
    expect_at("shapes", address("shapes", "_ZN6shapes3useEi", NULL) + 1, options(1),
              "shapes::use;shapes::Point::Point");
}

/* Inlining is seen: some address of `visible` (whose place `with_symbols` tells) has all three names. */
static void expect_somewhere(const char *file, const char *with_symbols, const struct symbolize_opts *o)
{
    struct store s = {0};
    struct module m = module_of(&s, file);
    uint64_t size, start = address(with_symbols, "visible", &size);
    int found = 0;

    for (uint64_t k = 0; k < size; k++)
        add_frame(&s, &m, FRAME_NATIVE, 0, start + k);
    run(&s, o);
    for (uint32_t id = 1; id <= s.frames.list.n; id++) {
        char *names = names_text(&s, id);

        found |= !strcmp(names, "visible;outer;inner");
        free(names);
    }
    store_release(&s);
    if (!found)
        fail_msg("%s: no inlined functions", file);
}

/* All names that the addresses of `visible` get, with their lines. */
static void test_inlines_and_lines(void **state)
{
    static const struct {
        const char *func;
        uint32_t line;
    } want[] = {{"visible", 16}, {"outer", 12}, {"inner", 7}};
    struct store s = {0};
    struct module m = module_of(&s, "full");
    uint64_t size, start = address("full", "visible", &size);
    struct symbolize_stats stats;
    int found = 0;

    for (uint64_t i = 0; i < size; i++)
        add_frame(&s, &m, FRAME_NATIVE, 0, start + i);
    stats = run(&s, options(1));
    assert_int_equal(stats.named, size);
    assert_true(stats.inlined > 0);
    for (uint32_t id = 1; id <= s.frames.list.n; id++) {
        const struct frame_name *names;
        struct frame_name self;
        uint32_t n = frames_names(&s.frames, id, &self, &names);

        assert_true(n >= 1 && n <= 3);
        assert_string_equal(strtab_get(&s.strings, names[0].func), "visible");
        if (n != 3 || names[2].line != want[2].line)
            continue;
        for (uint32_t k = 0; k < n; k++) {
            assert_string_equal(strtab_get(&s.strings, names[k].func), want[k].func);
            assert_int_equal(names[k].line, want[k].line);
            assert_string_equal(strtab_get(&s.strings, names[k].file), at("main.c"));
        }
        found = 1;
    }
    assert_true(found);
    store_release(&s);
}

/* The assembler's DWARF has a function for each of the symbols of the same code: none is inlined. */
static void test_aliases_are_not_inlined(void **state)
{
    sh("gcc -g -o aliases aliases.s");
    expect_at("aliases", address("aliases", "open", NULL), options(1), "open");
}

static void test_lines_without_inlines(void **state)
{
    struct store s = {0};
    struct module m = module_of(&s, "full");
    uint32_t id = add_frame(&s, &m, FRAME_NATIVE, 0, address("full", "__work", NULL));
    const struct frame_name *names;
    struct frame_name self;

    run(&s, options(0));
    assert_int_equal(frames_names(&s.frames, id, &self, &names), 1);
    assert_string_equal(strtab_get(&s.strings, names[0].func), "work");
    assert_int_equal(names[0].line, 22);
    store_release(&s);
}

/* The same through clang's tables (no .debug_aranges) and with compressed sections. */
static void test_other_dwarf(void **state)
{
    static const char *const builds[] = {"gcc -gdwarf-4", "gcc -gdwarf-5 -gz=zlib", "clang -g",
                                         "clang -gdwarf-4"};

    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        char script[256];
        int has_clang = !system("command -v clang >/dev/null 2>&1");

        if (!strncmp(builds[i], "clang", 5) && !has_clang)
            continue;
        snprintf(script, sizeof(script), "%s -O2 -o other main.c 2>/dev/null", builds[i]);
        sh(script);
        expect_somewhere("other", "other", options(1));
    }
}

static void test_debug_root(void **state)
{
    struct store s = {0};
    struct module m = module_of(&s, "full");
    uint64_t hidden = address("full", "hidden", NULL);
    struct buf script = {0};

    buf_addf(&script, "d=debug/.build-id/%02x; mkdir -p $d; objcopy --only-keep-debug full $d/",
             m.build_id[0]);
    for (int i = 1; i < m.build_id_len; i++)
        buf_addf(&script, "%02x", m.build_id[i]);
    buf_addstr(&script, ".debug");
    sh(buf_str(&script));
    expect_at("stripped", hidden, options(0), "hidden");
    expect_somewhere("stripped", "full", options(1));

    /* The file itself is gone: what the debug file knows is still known. */
    m.path = strtab_add(&s.strings, "/nonexistent/program");
    uint32_t gone = add_frame(&s, &m, FRAME_NATIVE, 0, hidden);
    run(&s, options(0));
    expect_names(&s, gone, "hidden");

    /* Another file's debug file in its place is refused. */
    sh("f=$(ls debug/.build-id/*/*.debug); objcopy --only-keep-debug shapes $f");
    expect_at("stripped", hidden, options(0), "");
    sh("rm -r debug");
    expect_at("stripped", hidden, options(0), "");
    store_release(&s);
    buf_release(&script);
}

/* Without a build id, the link's CRC has to fit. */
static void test_debuglink(void **state)
{
    uint64_t hidden = address("noid", "hidden", NULL);
    char script[3 * PATH_MAX];

    sh("objcopy --only-keep-debug noid noid.debug && objcopy --add-gnu-debuglink=noid.debug noid.stripped "
       "linked && "
       "mkdir -p .debug moved && mv noid.debug .debug/");
    expect_at("linked", hidden, options(0), "hidden");
    sh("mv .debug/noid.debug .");
    expect_at("linked", hidden, options(0), "hidden");
    snprintf(script, sizeof(script), "mkdir -p debug%s && mv noid.debug debug%s/", dir, dir);
    sh(script);
    expect_at("linked", hidden, options(0), "hidden");
    snprintf(script, sizeof(script), "printf x >>debug%s/noid.debug", dir);
    sh(script);
    expect_at("linked", hidden, options(0), "");
    sh("rm -r debug");
}

static void test_mini_debug_info(void **state)
{
    uint64_t hidden = address("full", "hidden", NULL);

    if (system("command -v xz >/dev/null 2>&1"))
        skip();
    sh("objcopy --only-keep-debug full full.dbg && objcopy -S --keep-symbol=hidden full.dbg mini && rm -f "
       "mini.xz && "
       "xz mini && objcopy --add-section .gnu_debugdata=mini.xz stripped with_mini");
    expect_at("with_mini", hidden, options(0), "hidden");
    expect_at("with_mini", address("full", "visible", NULL), options(0), "visible");
    sh("printf 'not xz at all' >mini.xz && objcopy --add-section .gnu_debugdata=mini.xz stripped bad_mini");
    expect_at("bad_mini", hidden, options(0), "");
    expect_at("bad_mini", address("full", "visible", NULL), options(0), "visible");
}

/* A path is only trusted when the file is the one that was recorded; an open file is. */
static void test_identity(void **state)
{
    struct store s = {0};
    struct module m = module_of(&s, "full");
    uint64_t hidden = address("full", "hidden", NULL);
    uint32_t wrong, kept, unknown, inode;

    m.build_id[3] ^= 1;
    wrong = add_frame(&s, &m, FRAME_NATIVE, 0, hidden);
    m.path = strtab_add(&s.strings, "/deleted/since");
    m.fd = open(at("full"), O_RDONLY | O_CLOEXEC);
    kept = add_frame(&s, &m, FRAME_NATIVE, 0, hidden);
    m = module_of(&s, "full");
    m.build_id_len = 0;
    inode = add_frame(&s, &m, FRAME_NATIVE, 0, hidden);
    m.ino = m.dev = 0;
    unknown = add_frame(&s, &m, FRAME_NATIVE, 0, hidden);
    run(&s, options(0));
    expect_names(&s, wrong, "");
    expect_names(&s, kept, "hidden");
    expect_names(&s, inode, "hidden");
    expect_names(&s, unknown, "");
    store_release(&s);
}

static void test_not_elf(void **state)
{
    struct store s = {0};
    struct module m = {.kind = MODULE_FILE, .fd = -1, .path = strtab_add(&s.strings, at("main.c"))};
    struct stat st;
    uint32_t id, none;

    assert_int_equal(stat(at("main.c"), &st), 0);
    m.dev = st.st_dev;
    m.ino = st.st_ino;
    id = add_frame(&s, &m, FRAME_NATIVE, 0, 0x1000);
    none = add_frame(&s, NULL, FRAME_NATIVE, 0, 0x1000);
    assert_int_equal(run(&s, options(1)).modules_without_symbols, 1);
    expect_names(&s, id, "");
    expect_names(&s, none, "");
    store_release(&s);
}

/* A function without a name is one place, whichever of its instructions was sampled, and still counts as
 * unnamed. */
static void test_places(void **state)
{
    struct symbolize_opts o = *options(0);
    struct store s = {0};
    struct module m = module_of(&s, "stripped");
    uint64_t size, hidden = address("full", "hidden", &size);
    char want[64];
    uint32_t first = add_frame(&s, &m, FRAME_NATIVE, 0, hidden);
    uint32_t last = add_frame(&s, &m, FRAME_NATIVE, 0, hidden + size - 1);
    uint32_t known = add_frame(&s, &m, FRAME_NATIVE, 0, address("full", "visible", NULL));
    uint32_t nowhere = add_frame(&s, &m, FRAME_NATIVE, 0, 1);
    struct symbolize_stats stats;

    o.starts = 1;
    stats = run(&s, &o);
    assert_int_equal(stats.named, 1);
    snprintf(want, sizeof(want), "[stripped+0x%llx]", (unsigned long long)hidden);
    expect_names(&s, first, want);
    expect_names(&s, last, want);
    expect_names(&s, known, "visible");
    expect_names(&s, nowhere, "");
    assert_true(frame_name_is_place(want));
    assert_false(frame_name_is_place("visible"));
    assert_false(frame_name_is_place("[unknown]"));
    store_release(&s);
}

/* Frames that have names, or that are none of ours, stay as they are. */
static void test_named_frames_stay(void **state)
{
    struct store s = {0};
    struct module m = module_of(&s, "full");
    uint32_t native = add_frame(&s, &m, FRAME_NATIVE, 0, address("full", "hidden", NULL)), python;
    struct frame_name mine = {.func = strtab_add(&s.strings, "mine")};

    python =
        frames_add(&s.frames, &(struct frame){.kind = FRAME_PYTHON, .func = strtab_add(&s.strings, "work")});
    frames_set_names(&s.frames, native, &mine, 1);
    assert_int_equal(run(&s, options(0)).frames, 0);
    expect_names(&s, native, "mine");
    expect_names(&s, python, "work");
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_table),
        cmocka_unit_test(test_stripped),
        cmocka_unit_test(test_return_address),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_plt),
        cmocka_unit_test(test_cxx),
        cmocka_unit_test(test_inlines_and_lines),
        cmocka_unit_test(test_aliases_are_not_inlined),
        cmocka_unit_test(test_lines_without_inlines),
        cmocka_unit_test(test_other_dwarf),
        cmocka_unit_test(test_debug_root),
        cmocka_unit_test(test_debuglink),
        cmocka_unit_test(test_mini_debug_info),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_not_elf),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_named_frames_stay),
    };

    log_set_level(LOG_ERROR); /* what is broken on purpose is said, and not for the reader of a test run */
    return cmocka_run_group_tests(tests, build, remove_dir);
}
