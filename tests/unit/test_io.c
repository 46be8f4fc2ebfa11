/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int setup(void **state)
{
    char *dir = mem_strdup("/tmp/wprof-io-XXXXXX");

    assert_non_null(mkdtemp(dir));
    *state = dir;
    return chdir(dir);
}

static int teardown(void **state)
{
    char *cmd = mem_printf("rm -rf '%s'", (char *)*state);
    int rc = chdir("/") || system(cmd);

    free(cmd);
    free(*state);
    return rc;
}

static void a_file_is_replaced_whole(void **state)
{
    struct err e = {0};
    struct buf b = {0};
    struct stat st;

    assert_int_equal(io_replace_file(AT_FDCWD, "f", "old", 3, &e), 0);
    assert_int_equal(io_replace_file(AT_FDCWD, "f", "newer", 5, &e), 0);
    assert_int_equal(io_read_file(AT_FDCWD, "f", &b, &e), 0);
    assert_string_equal(b.data, "newer");
    assert_int_equal(stat("f", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(access("f.tmp", F_OK), -1);
    buf_release(&b);
}

/* Somebody else's link at the name must not make us write where it points. */
static void links_are_not_followed(void **state)
{
    struct err e = {0};
    struct buf b = {0};

    assert_int_equal(io_replace_file(AT_FDCWD, "victim", "safe", 4, &e), 0);
    assert_int_equal(symlink("victim", "f"), 0);
    assert_int_equal(symlink("victim", "f.tmp"), 0);
    assert_int_equal(io_replace_file(AT_FDCWD, "f", "x", 1, &e), 0);
    assert_int_equal(io_read_file(AT_FDCWD, "victim", &b, &e), 0);
    assert_string_equal(b.data, "safe");
    buf_release(&b);
}

static void proc_files_read_whole(void **state)
{
    struct err e = {0};
    struct buf b = {0};

    assert_int_equal(io_read_file(AT_FDCWD, "/proc/self/maps", &b, &e), 0);
    assert_true(b.len > 100);
    buf_release(&b);
    assert_int_equal(io_read_file(AT_FDCWD, "none", &b, &e), -1);
    assert_string_equal(e.msg, "none: No such file or directory");
    assert_int_equal(io_read_file(AT_FDCWD, ".", &b, &e), -1);
    buf_release(&b);
}

static void maps_files(void **state)
{
    struct err e = {0};
    struct io_map m;

    io_replace_file(AT_FDCWD, "f", "abc", 3, &e);
    assert_int_equal(io_map_file("f", &m, &e), 0);
    assert_int_equal(m.n, 3);
    assert_memory_equal(m.p, "abc", 3);
    io_unmap(&m);
    io_replace_file(AT_FDCWD, "empty", "", 0, &e);
    assert_int_equal(io_map_file("empty", &m, &e), 0);
    assert_null(m.p);
    io_unmap(&m);
    assert_int_equal(io_map_file(".", &m, &e), -1);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(io_map_file("pipe", &m, &e), -1); /* and does not wait for a writer */
}

static void a_map_that_is_cut_off(void **state)
{
    struct err e = {0};
    struct io_map m;
    char *bytes = malloc(3 * 4096);

    signal(SIGBUS, SIG_DFL); /* cmocka has a handler of its own, which is left alone */
    io_guard_maps();
    memset(bytes, 'x', 3 * 4096);
    io_replace_file(AT_FDCWD, "f", bytes, 3 * 4096, &e);
    assert_int_equal(io_map_file("f", &m, &e), 0);
    assert_int_equal(m.p[2 * 4096], 'x');
    assert_int_equal(truncate("f", 100), 0);
    assert_int_equal(m.p[99], 'x');
    assert_int_equal(m.p[100], 0);
    assert_int_equal(m.p[4096], 0);
    assert_int_equal(m.p[3 * 4096 - 1], 0);
    io_unmap(&m);
    free(bytes);
}

static void directories(void **state)
{
    struct err e = {0};
    struct stat st;

    assert_int_equal(io_mkdirs("a/b//c/", 0700, &e), 0);
    assert_int_equal(io_mkdirs("a/b/c", 0700, &e), 0);
    assert_int_equal(stat("a/b/c", &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    io_replace_file(AT_FDCWD, "f", "", 0, &e);
    assert_int_equal(io_mkdirs("f/x", 0700, &e), -1);
}

/* "abc": the example of FIPS 180-4. */
static void sums(void **state)
{
    struct err e = {0};
    char hex[65];
    uint64_t size;

    io_replace_file(AT_FDCWD, "f", "abc", 3, &e);
    assert_int_equal(io_sha256(AT_FDCWD, "f", hex, &size, &e), 0);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(size, 3);
}

static void cache_folder(void **state)
{
    char *s;

    setenv("XDG_CACHE_HOME", "/c", 1);
    s = io_cache_dir();
    assert_string_equal(s, "/c/wprof");
    free(s);
    setenv("XDG_CACHE_HOME", "relative", 1); /* the XDG specification: to be ignored */
    setenv("HOME", "/h", 1);
    s = io_cache_dir();
    assert_string_equal(s, "/h/.cache/wprof");
    free(s);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_null(io_cache_dir());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_replaced_whole),
        TEST(links_are_not_followed),
        TEST(proc_files_read_whole),
        TEST(maps_files),
        TEST(a_map_that_is_cut_off),
        TEST(directories),
        TEST(sums),
        TEST(cache_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
