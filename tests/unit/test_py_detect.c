/* SPDX-License-Identifier: Apache-2.0 */
/* What is CPython, which one, and what only looks like it. */
#include "test_py.h"

#include "platform/elf.h"
#include "unwind/py_cold.h"

/* This program has the right strings, "_PyRuntime", "libpython3.9.so.1.0", "xdebugpy", "3.9.18", and isn't
 * Python. */
static const char *volatile decoys[] = {"_PyRuntime", "PyEval_EvalFrameEx", "libpython3.9.so.1.0",
                                        "xdebugpy",   "Py_Version",         "3.9.18",
                                        "python3.9"};

static void test_not_python(void **state)
{
    struct py_detector d = {0};
    struct py_target t;
    struct err e = {""};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(decoys); i++)
        assert_non_null(decoys[i]);
    assert_int_equal(detect_in_process(&d, getpid(), &t, &e), 0);
    assert_string_equal(e.msg, "");
    py_detector_release(&d);
}

static void test_broken_file(void **state)
{
    static const uint8_t id[] = {1, 2, 3};
    char path[] = "/tmp/wprof-test-XXXXXX";
    int fd = mkstemp(path);
    struct py_mapping m = {.path = path, .fd = fd, .build_id = id, .build_id_len = sizeof(id)};
    struct py_detector d = {0};
    struct py_target t;
    struct err e = {""};

    (void)state;
    assert_int_equal(write(fd, "\177ELF", 4), 4);
    assert_int_equal(py_detect(&d, &m, &t, &e), -1);
    assert_non_null(strstr(e.msg, path));
    assert_int_equal(py_detect(&d, &m, &t, &e), 0); /* said once */
    close(fd);
    unlink(path);
    py_detector_release(&d);
}

/* A function whose unlikely parts GCC puts into "split.cold". */
int split(int a, volatile int *log);
static __attribute__((cold, noinline)) void rare(volatile int *log, int what)
{
    *log += what;
}

#define RARE(n)                                                                                              \
    if (a == (n)) {                                                                                          \
        rare(log, (n)*3);                                                                                    \
        a += *log;                                                                                           \
    }                                                                                                        \
    a ^= a >> (n);

__attribute__((noinline)) int split(int a, volatile int *log)
{
    RARE(1) RARE(2) RARE(3) RARE(4) RARE(5) RARE(6) RARE(7) RARE(8) return a;
}

static void test_cold_part(void **state)
{
    struct elf f;
    struct elf_sym hot, cold;
    struct py_range found;
    volatile int log = 0;
    struct err e = {""};

    (void)state;
    split(9, &log);
    assert_int_equal(elf_open(&f, "/proc/self/exe", &e), 0);
    assert_int_equal(elf_find_symbol(&f, "split", &hot), 0);
    if (elf_find_symbol(&f, "split.cold", &cold)) {
        elf_close(&f);
        print_message("# this compiler did not split the function\n");
        skip();
    }
    assert_int_equal(py_cold_find(&f, (struct py_range){hot.value, hot.value + hot.size}, &found), 0);
    assert_int_equal(found.start, cold.value);
    assert_int_equal(found.end, cold.value + cold.size);
    assert_int_equal(py_cold_find(&f, (struct py_range){0}, &found), -1);
    elf_close(&f);
}

/* The file of an interpreter under another name: the version must come from what is inside. */
static void test_renamed(void **state)
{
    const struct interpreter *x = *state;
    const char *argv[] = {x->exe, "-S", KNOWN, NULL};
    struct running r;
    struct py_detector d = {0};
    struct py_target t;
    struct py_binary b;
    struct err e = {""};
    struct elf f;

    assert_int_equal(running_start(&r, x, argv), 0);
    assert_int_equal(running_ready(&r), 0);
    if (detect_in_process(&d, r.pid, &t, &e) > 0) {
        assert_int_equal(elf_open(&f, t.path, &e), 0);
        assert_int_equal(py_binary_examine(&b, &f, "/opt/app/libsnake.so", 0, &e), 1);
        assert_int_equal(b.version, t.layout.version);
        assert_int_equal(py_binary_examine(&b, &f, "/opt/app/libpython3.5.so", 0, &e), 1);
        assert_int_equal(b.version, t.layout.version);
        assert_true(b.code_type && b.eval[0].end > b.eval[0].start);
        elf_close(&f);
    }
    running_end(&r);
    py_detector_release(&d);
}

/* Started through a loader, the process's program is the loader. */
static void test_through_loader(void **state)
{
    const struct interpreter *x = *state;
    const char *argv[] = {"ld.so", x->exe, "-S", KNOWN, NULL};
    struct interpreter loader = {.exe = "/lib64/ld-linux-x86-64.so.2"};
    struct running r;
    struct py_detector d = {0};
    struct py_target t;
    struct err e = {""};

    if (access(loader.exe, X_OK)) {
        print_message("# no %s\n", loader.exe);
        skip();
    }
    assert_int_equal(running_start(&r, &loader, argv), 0);
    assert_int_equal(running_ready(&r), 0);
    if (detect_in_process(&d, r.pid, &t, &e) >= 0) {
        struct py_process *p = py_process_new(r.pid);
        struct py_mem mem = py_process_mem(p);

        assert_int_equal(py_walk_check(&mem, &t.layout, &t.proc, &e), 1);
        /* Offsets of another version must not pass for good. */
        for (unsigned v = PY_VERSION_MIN; v <= PY_VERSION_MAX; v++) {
            const struct py_layout *l = py_layout_of(v);

            if (l->interp_head != t.layout.interp_head || l->interp_threads != t.layout.interp_threads)
                assert_int_not_equal(py_walk_check(&mem, l, &t.proc, &e), 1);
        }
        free(p);
    } else {
        assert_non_null(strstr(e.msg, "is not a version that wprof reads"));
    }
    running_end(&r);
    py_detector_release(&d);
}

int main(void)
{
    static struct interpreters all;
    const struct CMUnitTest other[] = {cmocka_unit_test(test_not_python), cmocka_unit_test(test_broken_file),
                                       cmocka_unit_test(test_cold_part)};
    int failed = cmocka_run_group_tests_name("other files", other, NULL, NULL);

    interpreters_find(&all);
    for (size_t i = 0; i < all.n; i++) {
        struct CMUnitTest renamed[] = {cmocka_unit_test_prestate(test_renamed, &all.a[i])};
        struct CMUnitTest loader[] = {cmocka_unit_test_prestate(test_through_loader, &all.a[i])};

        failed += cmocka_run_group_tests_name(all.a[i].exe, renamed, NULL, NULL);
        if (!all.a[i].home[0]) /* a fetched one needs a loader of its own */
            failed += cmocka_run_group_tests_name(all.a[i].exe, loader, NULL, NULL);
    }
    return failed != 0;
}
