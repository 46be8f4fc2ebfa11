/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jit_env.h"

#include "platform/spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_nothing_unasked(void **state)
{
    static char *const env[] = {"NODE_OPTIONS=--inspect", "ONEDNN_JIT_PROFILE=1", NULL};
    struct jit_env j = {0};

    jit_env_fill(&j, env, 0, 0);
    assert_int_equal(j.list.n, 0);
    jit_env_release(&j);
}

static void test_added_to_what_is_there(void **state)
{
    static char *const env[] = {"NODE_OPTIONS=--inspect", "ONEDNN_JIT_PROFILE=5", "DNNL_JIT_PROFILE=junk",
                                NULL};
    struct jit_env j = {0};

    jit_env_fill(&j, env, 1, 0);
    assert_string_equal(spawn_getenv(j.list.a, "ONEDNN_JIT_PROFILE"), "7");
    assert_string_equal(spawn_getenv(j.list.a, "DNNL_JIT_PROFILE"), "2");
    assert_string_equal(spawn_getenv(j.list.a, "NODE_OPTIONS"),
                        "--perf-basic-prof-only-functions --interpreted-frames-native-stack --inspect");
    assert_null(spawn_getenv(j.list.a, "JAVA_TOOL_OPTIONS"));
    jit_env_release(&j);
}

static void test_java(void **state)
{
    static char *const env[] = {"JAVA_TOOL_OPTIONS=-XX:-PreserveFramePointer", "NODE_OPTIONS=", NULL};
    struct jit_env j = {0};
    const char *value;

    jit_env_fill(&j, env, 0, 1);
    assert_null(spawn_getenv(j.list.a, "NODE_OPTIONS"));
    value = spawn_getenv(j.list.a, "JAVA_TOOL_OPTIONS");
    assert_non_null(value);
    /* first what keeps an older JVM from refusing the rest, last the user's own, which counts */
    assert_int_equal(strncmp(value, "-XX:+IgnoreUnrecognizedVMOptions ", 33), 0);
    assert_non_null(strstr(value, "-XX:+PreserveFramePointer "));
    assert_string_equal(strrchr(value, ' '), " -XX:-PreserveFramePointer");
    jit_env_release(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_unasked),
        cmocka_unit_test(test_added_to_what_is_there),
        cmocka_unit_test(test_java),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
