/* SPDX-License-Identifier: Apache-2.0 */
/* Folded text into a store: the words of a token, lines that share beginnings, and more of them than one
 * batch holds. */
#include "analyze/fold.h"
#include "exchange/import/import.h"
#include "exchange/import/tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void tokens_end_where_they_should(void **state)
{
    static const char text[] =
        "a;bb;;\xba\xbb;sevench;eightchr;nine chars and more than sixteen;last\0\0\0\0\0\0\0\0";
    static const size_t len[] = {1, 2, 0, 2, 7, 8, 32, 4};
    const size_t n = strlen(text);
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_SIZE(len); i++) {
        uint64_t hash;

        assert_int_equal(tokens_scan(text + at, n - at, &hash), len[i]);
        at += len[i] + 1;
    }
    assert_int_equal(at, n + 1);
}

static void tokens_are_told_apart(void **state)
{
    struct tokens t = {0};
    char name[64];
    uint64_t hash;

    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 20000; i++) {
            int n = snprintf(name, 50, "%.*s%u", (int)(i % 20), "abcdefghijklmnopqrstuvwxyz", i);
            uint32_t *v;

            memset(name + n, 'x', 10); /* what follows does not matter */
            assert_int_equal(tokens_scan(name, (size_t)n, &hash), n);
            v = tokens_get(&t, name, (size_t)n, hash);
            assert_int_equal(*v, round ? i + 1 : 0);
            *v = i + 1;
        }
    }
    tokens_release(&t);
}

static char *through(const char *text, size_t n, struct import_stats *st)
{
    struct fold_opts o = {.kernel_suffix = 1};
    int fd = memfd_create("text", MFD_CLOEXEC);
    struct store s = {0};
    struct meta m = {0};
    struct input in;
    struct profile p;
    struct buf out = {0};
    struct err e = {0};

    *st = (struct import_stats){0};
    assert_int_equal(write(fd, text, n), n);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(input_open_fd(&in, fd, "text", &e), 0);
    assert_ptr_equal(importer_detect(&in, &e), &import_folded);
    assert_int_equal(import_folded.run(&in, &s, &m, st, &e), 0);
    st->bytes = in.bytes;
    input_release(&in);
    assert_int_equal(s.events.n, st->stacks);
    assert_int_equal(fold_store(&p, &s, 0, &o, &e), 0);
    profile_folded(&p, 0, &out);
    profile_release(&p);
    store_release(&s);
    meta_release(&m);
    import_stats_release(st);
    close(fd);
    return buf_detach(&out);
}

static void beginnings_are_shared(void **state)
{
    static const char text[] =
        "a;b;c 1\na;b;c;d 2\na;b 4\na;bc 8\na;b;c 16\nab 32\na 64\na;b;cd 128\na;b;c 256\n";
    struct import_stats st;
    char *out = through(text, strlen(text), &st);

    assert_string_equal(out, "a 64\na;b 4\na;b;c 273\na;b;c;d 2\na;b;cd 128\na;bc 8\nab 32\n");
    assert_int_equal(st.samples, 511);
    free(out);
}

/* 60,000 lines are more than the queue of batches holds, and than the first read. */
static void many_lines(void **state)
{
    struct buf in = {0}, want = {0};
    struct import_stats st;
    char *out;

    for (int i = 10000; i < 70000; i++) {
        buf_addf(&in, "main;loop;step_%d;a rather long name of a function;another one_[k];%d 3\r\n", i,
                 i % 7);
        buf_addf(&want, "main;loop;step_%d;a rather long name of a function;another one_[k];%d 3\n", i,
                 i % 7);
    }
    out = through(in.data, in.len, &st);
    assert_int_equal(st.stacks, 60000);
    assert_int_equal(st.bytes, in.len);
    assert_true(!strcmp(out, want.data));
    free(out);
    buf_release(&in);
    buf_release(&want);
}

/* One line longer than a read, then one that shares all of it. */
static void a_line_longer_than_the_window(void **state)
{
    struct buf in = {0};
    struct import_stats st;
    char *out;

    for (int i = 0; i < 700000; i++)
        buf_addf(&in, "%sfunction%d", i ? ";" : "", i % 1000);
    buf_addstr(&in, " 5\n");
    buf_reserve(&in, in.len);
    buf_add(&in, in.data, in.len - 3);
    buf_addstr(&in, " 6");
    out = through(in.data, in.len, &st);
    assert_int_equal(st.stacks, 2);
    assert_int_equal(strlen(out), in.len / 2 + 2);
    assert_string_equal(out + strlen(out) - 4, " 11\n");
    free(out);
    buf_release(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_end_where_they_should),  cmocka_unit_test(tokens_are_told_apart),
        cmocka_unit_test(beginnings_are_shared),         cmocka_unit_test(many_lines),
        cmocka_unit_test(a_line_longer_than_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
