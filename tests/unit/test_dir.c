/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char path[32];
    int fd;
};

static int set_up(void **state)
{
    static struct place p;

    strcpy(p.path, "/tmp/wprof-dir-XXXXXX");
    if (!mkdtemp(p.path))
        return -1;
    p.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &p;
    return p.fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    DIR *d = dir_open(p->fd, ".", 0);
    struct dirent *de;

    while ((de = dir_next(d)))
        if (unlinkat(p->fd, de->d_name, 0))
            unlinkat(p->fd, de->d_name, AT_REMOVEDIR);
    dir_close(d);
    close(p->fd);
    return rmdir(p->path);
}

static void add(const struct place *p, const char *name)
{
    int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static void an_empty_one_is_empty(void **state)
{
    struct place *p = *state;

    assert_true(dir_is_empty(p->fd));
    assert_true(dir_is_empty(p->fd)); /* it is read from its beginning each time */
    add(p, ".hidden");
    assert_false(dir_is_empty(p->fd));
    assert_false(dir_is_empty(-1));
}

static int is_shown(const struct dirent *de)
{
    return de->d_name[0] != '.';
}

static void names_are_sorted(void **state)
{
    struct place *p = *state;
    struct dir_names n = {0};

    add(p, "node10");
    add(p, "node2");
    add(p, ".x");
    assert_int_equal(dir_names(&n, p->fd, ".", NULL), 0);
    assert_int_equal(n.list.n, 3);
    assert_string_equal(n.list.a[0], ".x");
    assert_string_equal(n.list.a[1], "node2");
    assert_string_equal(n.list.a[2], "node10");
    dir_names_release(&n);

    assert_int_equal(dir_names(&n, AT_FDCWD, p->path, is_shown), 0);
    assert_int_equal(n.list.n, 2);
    dir_names_release(&n);
}

static void what_is_no_directory_is_told(void **state)
{
    struct place *p = *state;
    struct dir_names n = {0};

    add(p, "file");
    assert_int_equal(symlinkat(p->path, p->fd, "link"), 0);
    assert_int_equal(dir_names(&n, p->fd, "file", NULL), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(dir_names(&n, p->fd, "missing", NULL), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(n.list.n, 0);
    assert_null(dir_open(p->fd, "link", O_NOFOLLOW));
    assert_null(dir_next(NULL));
    errno = EPERM;
    dir_close(NULL);
    assert_int_equal(errno, EPERM);
    assert_int_equal(dir_names(&n, p->fd, "link", NULL), 0);
    assert_int_equal(n.list.n, 2);
    dir_names_release(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_one_is_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_sorted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_directory_is_told, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
