/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of unwind tables: what it gives back, what it refuses, whose it is, how it stays small. */
#include "base/io.h"
#include "base/mem.h"
#include "unwind/table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t id_a[4] = {0xaa, 1, 2, 3}, id_b[4] = {0xbb, 1, 2, 3};

struct fix {
    char root[64], dir[128];
    struct unw_cache cache;
    int exe;
};

static int setup(void **state)
{
    struct fix *f = mem_calloc(1, sizeof(*f));
    struct err e = {0};

    strcpy(f->root, "/tmp/wprof-test-tables-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    snprintf(f->dir, sizeof(f->dir), "%s/a/b/tables", f->root);
    if (unw_cache_open(&f->cache, f->dir, geteuid(), getegid(), UNW_CACHE_LIMIT, &e))
        fail_msg("%s", e.msg);
    f->exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(f->exe >= 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    char cmd[128];

    unw_cache_close(&f->cache);
    close(f->exe);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", f->root);
    assert_int_equal(system(cmd), 0);
    free(f);
    return 0;
}

static struct unw_table *get(struct fix *f, const uint8_t id[4])
{
    struct err e = {0};
    struct unw_table *t = unw_table_open(&f->cache, f->exe, id, 4, &e);

    if (!t)
        fail_msg("%s", e.msg);
    return t;
}

/* 1 when it came from the cache. */
static int cached(struct fix *f, const uint8_t id[4])
{
    struct unw_table *t = get(f, id);
    int from = t->from_cache;

    unw_table_free(t);
    return from;
}

static char *file_of(struct fix *f, const char *id)
{
    return mem_printf("%s/%s.unw", f->dir, id);
}

static int count_files(struct fix *f)
{
    DIR *d = opendir(f->dir);
    struct dirent *ent;
    int n = 0;

    while ((ent = readdir(d)))
        n += ent->d_name[0] != '.';
    closedir(d);
    return n;
}

static void the_same_comes_back(void **state)
{
    struct fix *f = *state;
    struct unw_table *built = get(f, id_a), *again = get(f, id_a);
    struct stat st;
    char *path = file_of(f, "aa010203");

    assert_false(built->from_cache);
    assert_true(built->build_ns > 0);
    assert_true(built->n > 100);
    assert_true(again->from_cache);
    assert_int_equal(again->build_ns, 0);
    assert_int_equal(again->n, built->n);
    assert_memory_equal(again->rows, built->rows, built->n * sizeof(*built->rows));
    assert_memory_equal(&again->layout, &built->layout, sizeof(built->layout));
    assert_memory_equal(&again->stats, &built->stats, sizeof(built->stats));
    assert_int_equal(again->layout.build_id_len, 4);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(f->dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(count_files(f), 1);
    assert_false(cached(f, id_b)); /* another id is another file */
    assert_int_equal(count_files(f), 2);
    free(path);
    unw_table_free(built);
    unw_table_free(again);
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    int c;

    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    c = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(c ^ 1, file);
    fclose(file);
}

/* Whatever is wrong with a file, it is ignored and replaced by a good one. */
static void damaged_files_are_replaced(void **state)
{
    struct fix *f = *state;
    char *path = file_of(f, "aa010203");
    static const long flips[] = {0, 8, 12, 16, 40, 200, 464, 470, 5000};
    struct stat st;

    cached(f, id_a);
    assert_int_equal(stat(path, &st), 0);
    for (size_t i = 0; i < ARRAY_SIZE(flips); i++) {
        flip(path, flips[i]);
        assert_false(cached(f, id_a));
        assert_true(cached(f, id_a));
    }
    flip(path, st.st_size - 1);
    assert_false(cached(f, id_a));
    for (long n = 0; n < st.st_size; n += 97) {
        assert_int_equal(truncate(path, n), 0);
        assert_false(cached(f, id_a));
    }
    assert_int_equal(truncate(path, st.st_size + 8), 0);
    assert_false(cached(f, id_a));
    assert_true(cached(f, id_a));
    assert_int_equal(count_files(f), 1);
    free(path);
}

/* A file under another's name, a link, one that others may write: not trusted. */
static void foreign_files_are_not_trusted(void **state)
{
    struct fix *f = *state;
    char *a = file_of(f, "aa010203"), *b = file_of(f, "bb010203");

    cached(f, id_a);
    assert_int_equal(rename(a, b), 0);
    assert_false(cached(f, id_b));
    assert_true(cached(f, id_b));
    assert_int_equal(symlink(b, a), 0);
    assert_false(cached(f, id_a));
    assert_true(cached(f, id_a)); /* the link was replaced, what it named is untouched */
    assert_true(cached(f, id_b));
    assert_int_equal(chmod(a, 0666), 0);
    assert_false(cached(f, id_a));
    assert_int_equal(unlink(a), 0);
    assert_int_equal(mkfifo(a, 0600), 0);
    assert_false(cached(f, id_a)); /* and doesn't hang */
    free(a);
    free(b);
}

/* The same build id, but code that lies elsewhere (patchelf does that). */
static void another_layout_is_built_again(void **state)
{
    struct fix *f = *state;
    int other = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    struct unw_table *t;
    struct err e = {0};

    assert_true(other >= 0);
    cached(f, id_a);
    t = unw_table_open(&f->cache, other, id_a, 4, &e);
    close(other);
    assert_non_null(t);
    assert_false(t->from_cache);
    unw_table_free(t);
}

static void folders_of_others_are_refused(void **state)
{
    struct fix *f = *state;
    struct unw_cache c;
    struct err e = {0};
    char *dir = mem_printf("%s/open", f->root), *link = mem_printf("%s/link", f->root);

    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(unw_cache_open(&c, dir, geteuid(), getegid(), 1, &e), -1);
    assert_non_null(strstr(e.msg, "open"));
    assert_int_equal(c.dirfd, -1);
    assert_int_equal(symlink(f->dir, link), 0);
    assert_int_equal(unw_cache_open(&c, link, geteuid(), getegid(), 1, &e), -1);
    assert_int_equal(unw_cache_open(&c, "/proc/nothing/here", geteuid(), getegid(), 1, &e), -1);
    free(dir);
    free(link);
}

/* Under sudo all that is made belongs to the user who called it. */
static void owned_by_who_called_sudo(void **state)
{
    struct fix *f = *state;
    struct unw_cache c;
    struct err e = {0};
    struct unw_table *t;
    struct stat st;
    char *dir = mem_printf("%s/u/tables", f->root), *up = mem_printf("%s/u", f->root);
    char *file = mem_printf("%s/aa010203.unw", dir);

    if (geteuid()) {
        print_message("# only root can give files away\n");
        free(dir);
        free(up);
        free(file);
        skip();
    }
    assert_int_equal(unw_cache_open(&c, dir, 12345, 23456, UNW_CACHE_LIMIT, &e), 0);
    t = unw_table_open(&c, f->exe, id_a, 4, &e);
    unw_table_free(t);
    assert_int_equal(stat(up, &st), 0);
    assert_int_equal(st.st_uid, 12345);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_uid, 12345);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_uid, 12345);
    assert_int_equal(st.st_gid, 23456);
    t = unw_table_open(&c, f->exe, id_a, 4, &e);
    assert_true(t->from_cache);
    unw_table_free(t);
    assert_int_equal(chown(file, 12346, 23456), 0);
    t = unw_table_open(&c, f->exe, id_a, 4, &e);
    assert_false(t->from_cache);
    unw_table_free(t);
    unw_cache_close(&c);
    free(dir);
    free(up);
    free(file);
}

static void age(const char *path, long seconds)
{
    struct timespec ts[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

    assert_int_equal(utimensat(AT_FDCWD, path, ts, 0), 0);
}

/* Above the limit the least recently used go; loading is a use. */
static void trimmed_by_last_use(void **state)
{
    struct fix *f = *state;
    static const uint8_t ids[4][4] = {{1}, {2}, {3}, {4}};
    struct stat st;
    char *stale, *fresh;

    for (int i = 0; i < 4; i++) {
        char *path = mem_printf("%s/%02x000000.unw", f->dir, i + 1);

        cached(f, ids[i]);
        age(path, 100000 - 10000 * i);
        assert_int_equal(stat(path, &st), 0);
        free(path);
    }
    stale = mem_printf("%s/05000000.77.tmp", f->dir);
    fresh = mem_printf("%s/06000000.78.tmp", f->dir);
    close(open(stale, O_CREAT | O_WRONLY, 0600));
    close(open(fresh, O_CREAT | O_WRONLY, 0600));
    age(stale, 5000);
    assert_true(cached(f, ids[0])); /* the oldest, but used now */
    f->cache.limit = 2 * (uint64_t)st.st_size + 10;
    unw_cache_trim(&f->cache);
    assert_int_equal(count_files(f), 3); /* two tables, and the temporary file that somebody may be writing */
    assert_int_equal(access(stale, F_OK), -1);
    assert_int_equal(access(fresh, F_OK), 0);
    assert_true(cached(f, ids[0]));
    assert_true(cached(f, ids[3]));
    assert_false(cached(f, ids[1]));
    free(stale);
    free(fresh);
}

static void *open_many(void *arg)
{
    struct fix *f = arg;
    uint32_t n = 0;

    for (int i = 0; i < 20; i++) {
        uint8_t id[4] = {9, 9, (uint8_t)(i / 4), 0};
        struct err e;
        struct unw_table *t = unw_table_open(&f->cache, f->exe, id, 4, &e);

        n += t ? t->n : 0;
        unw_table_free(t);
    }
    return (void *)(uintptr_t)n;
}

static void threads_share_it(void **state)
{
    struct fix *f = *state;
    struct unw_table *t = get(f, id_a);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_many, f), 0);
    for (int i = 0; i < 4; i++) {
        void *n;

        pthread_join(threads[i], &n);
        assert_int_equal((uintptr_t)n, 20 * (uintptr_t)t->n);
    }
    assert_int_equal(count_files(f), 6);
    unw_table_free(t);
}

/* No cache, no build id, a folder that vanished: the table comes all the same. */
static void works_without(void **state)
{
    struct fix *f = *state;
    struct unw_table *t;
    struct err e = {0};
    char cmd[160];

    t = unw_table_open(NULL, f->exe, NULL, 0, &e);
    assert_non_null(t);
    assert_true(t->n > 100);
    unw_table_free(t);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", f->dir);
    assert_int_equal(system(cmd), 0);
    assert_false(cached(f, id_a));
    assert_false(cached(f, id_a));
    t = unw_table_open(&f->cache, f->cache.dirfd, id_a, 4, &e);
    assert_null(t);
    assert_true(e.msg[0] != '\0');
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_comes_back),
        TEST(damaged_files_are_replaced),
        TEST(foreign_files_are_not_trusted),
        TEST(another_layout_is_built_again),
        TEST(folders_of_others_are_refused),
        TEST(owned_by_who_called_sudo),
        TEST(trimmed_by_last_use),
        TEST(threads_share_it),
        TEST(works_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
