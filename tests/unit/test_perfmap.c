/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/perfmap.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t addrs[] = {0x1000, 0x10ff, 0x1100, 0x2008, 0x3000, 0x7fff00001000};

enum { N = sizeof(addrs) / sizeof(addrs[0]) };

static void feed_in_pieces(struct perfmap *m, const char *text, size_t piece)
{
    size_t n = strlen(text);

    perfmap_init(m, addrs, N);
    for (size_t i = 0; i < n; i += piece)
        perfmap_feed(m, text + i, n - i < piece ? n - i : piece);
    perfmap_finish(m);
}

static void expect(const struct perfmap *m, const char *const names[N])
{
    for (int i = 0; i < N; i++) {
        if (!names[i])
            assert_null(perfmap_name(m, i));
        else
            assert_string_equal(perfmap_name(m, i), names[i]);
    }
}

static void test_names(void **state)
{
    static const char text[] = "1000 100 LazyCompile:*sum@app.js:3 with spaces\n"
                               "0x2000 0x10 py::work:/srv/app.py\r\n"
                               "7FFF00001000 1 last without newline";
    static const char *const names[N] = {"LazyCompile:*sum@app.js:3 with spaces",
                                         "LazyCompile:*sum@app.js:3 with spaces",
                                         NULL,
                                         "py::work:/srv/app.py",
                                         NULL,
                                         "last without newline"};

    for (size_t piece = 1; piece < sizeof(text); piece += 7) {
        struct perfmap m;

        feed_in_pieces(&m, text, piece);
        expect(&m, names);
        assert_int_equal(m.lines, 3);
        assert_int_equal(m.bad, 0);
        perfmap_release(&m);
    }
}

static void test_latest_wins(void **state)
{
    static const char *const names[N] = {"old", "new", "new", NULL, NULL, NULL};
    struct perfmap m;

    feed_in_pieces(&m, "1000 200 old\n10f0 20 new\n3000 0 empty\n", 4096);
    expect(&m, names);
    perfmap_release(&m);
}

static void test_hostile_lines(void **state)
{
    static const char *const names[N] = {"good", NULL, NULL, NULL, NULL, NULL};
    struct buf text = {0};
    struct perfmap m;

    buf_addstr(&text, "1000\n1000 10\n1000 10 \nzz 10 x\n1000 -5 x\n11112222333344445 1 x\n");
    buf_addstr(&text, "fffffffffffffff0 ffff wraps\n");
    buf_addstr(&text, "3000 10 ");
    for (int i = 0; i < 10000; i++)
        buf_addstr(&text, "long");
    buf_addstr(&text, "\n\n1000 1 good\n");
    feed_in_pieces(&m, buf_str(&text), 1000);
    expect(&m, names);
    assert_int_equal(m.bad, 8);
    assert_int_equal(m.lines, 9); /* an empty line is none */
    perfmap_release(&m);
    buf_release(&text);
}

static void test_reads_from_the_start(void **state)
{
    static const char *const names[N] = {"work", NULL, NULL, NULL, NULL, NULL};
    FILE *f = tmpfile();
    struct err e = {""};
    struct perfmap m;

    assert_non_null(f);
    fputs("1000 1 work\n", f);
    fflush(f);
    perfmap_init(&m, addrs, N);
    assert_int_equal(perfmap_read_fd(&m, fileno(f), &e), 0); /* its offset is at the end */
    expect(&m, names);
    perfmap_release(&m);
    fclose(f);
    perfmap_init(&m, addrs, N);
    assert_int_equal(perfmap_read_fd(&m, -1, &e), -1);
    perfmap_release(&m);
}

/* Ours, and as if of a process that started later. */
static void test_of_a_live_process(void **state)
{
    struct timespec boot;
    uint64_t now;
    char path[64];
    int fd;

    clock_gettime(CLOCK_BOOTTIME, &boot);
    now = (uint64_t)boot.tv_sec * 1000000000u;
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    unlink(path);
    assert_int_equal(perfmap_open_live(getpid(), (uint32_t)getpid(), 0), -1);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    fd = perfmap_open_live(getpid(), (uint32_t)getpid(), now > 5000000000u ? now - 5000000000u : 1);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(perfmap_open_live(getpid(), (uint32_t)getpid(), now + 3600 * 1000000000ull), -1);
    if (!geteuid()) { /* another user's */
        assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
        assert_int_equal(perfmap_open_live(getpid(), (uint32_t)getpid(), 0), -1);
    }
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(perfmap_open_live(getpid(), (uint32_t)getpid(), 0), -1);
    unlink(path);
}

/* Where everything overlaps, and in a map without end of names, the work and the memory are bounded. */
static void test_bounded(void **state)
{
    struct buf line = {0};
    struct perfmap m;

    buf_addstr(&line, "0 fffffffffffffff ");
    for (int i = 0; i < 4000; i++)
        buf_addstr(&line, "n");
    buf_addstr(&line, "\n");
    perfmap_init(&m, addrs, N);
    for (int i = 0; i < 100000; i++)
        perfmap_feed(&m, line.data, line.len);
    perfmap_finish(&m);
    assert_int_equal(m.lines, 100000);
    assert_true(m.bad > 0); /* counted, not taken */
    assert_true(m.names.len < 300u << 20);
    assert_non_null(perfmap_name(&m, 0));
    perfmap_release(&m);
    buf_release(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_latest_wins),
        cmocka_unit_test(test_hostile_lines),
        cmocka_unit_test(test_reads_from_the_start),
        cmocka_unit_test(test_of_a_live_process),
        cmocka_unit_test(test_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
