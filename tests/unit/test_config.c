/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config.h"
#include "base/io.h"
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char dir[64], file[96];
};

static int setup(void **state)
{
    struct place *p = mem_calloc(1, sizeof(*p));

    strcpy(p->dir, "/tmp/wprof-config-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    snprintf(p->file, sizeof(p->file), "%s/config", p->dir);
    unsetenv("WPROF_RECORD_FREQUENCY");
    setenv("XDG_CONFIG_HOME", p->dir, 1);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    char *user = mem_printf("%s/wprof/config", p->dir), *sub = mem_printf("%s/wprof", p->dir);

    unlink(user);
    rmdir(sub);
    unlink(p->file);
    rmdir(p->dir);
    free(user);
    free(sub);
    free(p);
    return 0;
}

static void put(const char *path, const char *text)
{
    struct err e = {0};

    if (io_replace_file(AT_FDCWD, path, text, strlen(text), &e))
        fail_msg("%s", e.msg);
}

static void without_a_file_the_defaults_hold(void **state)
{
    struct err e = {0};
    struct config *c = config_load(NULL, &e);
    const char *origin;

    assert_non_null(c);
    assert_string_equal(config_get(c, "record.frequency", &origin), "99");
    assert_string_equal(origin, "default");
    assert_null(config_get(c, "record.frequenzy", NULL));
    config_free(c);
}

static void file_then_environment(void **state)
{
    struct place *p = *state;
    struct err e = {0};
    struct config *c;
    const char *origin;
    char *want = mem_printf("%s:3", p->file);

    put(p->file, "; mine\n[record]\nfrequency = 199 ; often\n\nmax-size=5M\n");
    c = config_load(p->file, &e);
    assert_non_null(c);
    assert_string_equal(config_get(c, "record.frequency", &origin), "199");
    assert_string_equal(origin, want);
    assert_string_equal(config_get(c, "record.max-size", NULL), "5M");
    config_free(c);

    setenv("WPROF_RECORD_FREQUENCY", "299", 1);
    c = config_load(p->file, &e);
    unsetenv("WPROF_RECORD_FREQUENCY");
    assert_string_equal(config_get(c, "record.frequency", &origin), "299");
    assert_string_equal(origin, "environment WPROF_RECORD_FREQUENCY");
    config_free(c);
    free(want);
}

static void the_users_file_is_read_unless_another_is_named(void **state)
{
    struct place *p = *state;
    struct err e = {0};
    struct config *c;
    char *user = mem_printf("%s/wprof/config", p->dir), *sub = mem_printf("%s/wprof", p->dir);

    assert_int_equal(io_mkdirs(sub, 0700, &e), 0);
    put(user, "[record]\nfrequency = 5\n");
    put(p->file, "");
    c = config_load(NULL, &e);
    assert_string_equal(config_get(c, "record.frequency", NULL), "5");
    config_free(c);
    c = config_load(p->file, &e);
    assert_string_equal(config_get(c, "record.frequency", NULL), "99");
    config_free(c);
    free(user);
    free(sub);
}

static void faults_are_named_with_their_line(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[record]\nfrequenzy = 3\n",
         ":2: unknown setting 'record.frequenzy', did you mean 'record.frequency'?"},
        {"frequency = 3\n", ":1: unknown setting '.frequency'"},
        {"[record]\nfrequency = 3\n  max-size = 4\n", ":3: a key or section must begin in the first column"},
        {"[record]\nfrequency = fast\n", ":2: record.frequency: 'fast' is not a whole number"},
        {"[record]\nmax-size = big\n", ":2: record.max-size: 'big' is not a size"},
        {"[record]\nfrequency 3\n", ":2: neither [section] nor key = value"},
        {"[record\nfrequency = 3\n", ":1: "},
    };
    struct place *p = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err e = {0};

        put(p->file, cases[i].text);
        assert_null(config_load(p->file, &e));
        if (strncmp(e.msg, p->file, strlen(p->file)) || !strstr(e.msg, cases[i].says))
            fail_msg("'%s' does not say '%s'", e.msg, cases[i].says);
    }
}

static void a_line_is_never_cut(void **state)
{
    struct place *p = *state;
    struct err e = {0};
    char text[600] = "[record]\nfrequency = 9";

    memset(text + strlen(text), ' ', 500);
    put(p->file, text);
    assert_null(config_load(p->file, &e));
    assert_non_null(strstr(e.msg, ":2: the line is longer than"));
}

static void a_named_file_must_be_there(void **state)
{
    struct place *p = *state;
    struct err e = {0};

    assert_null(config_load(p->file, &e));
    assert_non_null(strstr(e.msg, "No such file"));
}

static void a_bad_environment_value_is_named(void **state)
{
    struct err e = {0};

    setenv("WPROF_RECORD_FREQUENCY", "x", 1);
    assert_null(config_load(NULL, &e));
    unsetenv("WPROF_RECORD_FREQUENCY");
    assert_non_null(strstr(e.msg, "environment WPROF_RECORD_FREQUENCY: record.frequency: 'x'"));
}

/* A default that its own type refuses would show only when somebody runs the command. */
static void every_default_can_be_given(void **state)
{
    struct place *p = *state;
    struct err e = {0};
    struct config *c = config_load(NULL, &e);
    struct buf text = {0};

    for (size_t i = 0; i < config_count(); i++) {
        const char *key = config_key(i), *dot = strchr(key, '.');

        assert_non_null(dot);
        assert_true(strlen(config_help(i)) > 0);
        if (*config_get(c, key, NULL))
            buf_addf(&text, "[%.*s]\n%s = %s\n", (int)(dot - key), key, dot + 1, config_get(c, key, NULL));
    }
    config_free(c);
    put(p->file, buf_str(&text));
    c = config_load(p->file, &e);
    if (!c)
        fail_msg("%s", e.msg);
    config_free(c);
    buf_release(&text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_file_the_defaults_hold),
        TEST(file_then_environment),
        TEST(the_users_file_is_read_unless_another_is_named),
        TEST(faults_are_named_with_their_line),
        TEST(a_line_is_never_cut),
        TEST(a_named_file_must_be_there),
        TEST(a_bad_environment_value_is_named),
        TEST(every_default_can_be_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
