/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/jit_runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_files(void **state)
{
    assert_int_equal(jit_runtime_of("/usr/lib/jvm/java-17/lib/server/libjvm.so"), JIT_JVM);
    assert_int_equal(jit_runtime_of("/usr/bin/node"), JIT_V8);
    assert_int_equal(jit_runtime_of("/usr/lib/libnode.so.108"), JIT_V8);
    assert_int_equal(jit_runtime_of("/opt/torch/lib/libtorch_cpu.so"), JIT_ONEDNN);
    assert_int_equal(jit_runtime_of("/usr/bin/nodes"), JIT_NONE);
    assert_int_equal(jit_runtime_of("[vdso]"), JIT_NONE);
}

/* Both as /proc has them: the compiler's NUL ends the last string. */
#define KEEPS(cmdline, env) jit_jvm_options_keep_fp(cmdline, sizeof(cmdline), env, sizeof(env))

static void test_options(void **state)
{
    assert_false(KEEPS("java\0Main", "HOME=/"));
    assert_true(KEEPS("java\0-XX:+PreserveFramePointer\0Main", "HOME=/"));
    assert_false(KEEPS("java\0-XX:-PreserveFramePointer\0Main", "HOME=/"));
    assert_false(KEEPS("java\0Main\0PreserveFramePointer", "HOME=/"));
    assert_false(KEEPS("java\0-XX:+PreserveFramePointers\0Main", ""));
    assert_true(KEEPS("java\0Main", "A=b\0JAVA_TOOL_OPTIONS=-Xmx1g -XX:+PreserveFramePointer -Xint"));
    assert_true(KEEPS("java\0Main", "JDK_JAVA_OPTIONS=-XX:+PreserveFramePointer"));
    assert_false(KEEPS("java\0-XX:-PreserveFramePointer", "JAVA_TOOL_OPTIONS=-XX:+PreserveFramePointer"));
    assert_true(KEEPS("java\0-XX:-PreserveFramePointer", "_JAVA_OPTIONS=-XX:+PreserveFramePointer"));
    assert_false(KEEPS("java", "XJAVA_TOOL_OPTIONS=-XX:+PreserveFramePointer"));
    assert_false(KEEPS("", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_options)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
