/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/jit_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A store with one frame of a file, and one of code that was compiled at run time, with a name or none. */
static void fill(struct store *s, const char *path, int named)
{
    struct module file = {.kind = MODULE_FILE, .fd = -1, .path = strtab_add(&s->strings, path)};
    struct module jit = {.kind = MODULE_JIT, .fd = -1, .path = strtab_add(&s->strings, "[jit]")};
    struct frame a = {.kind = FRAME_NATIVE, .addr = 1}, b = {.kind = FRAME_JIT, .addr = 2};
    struct frame_name name = {.func = strtab_add(&s->strings, "compiled")};

    a.module = frames_add_module(&s->frames, &file);
    b.module = frames_add_module(&s->frames, &jit);
    frames_add(&s->frames, &a);
    if (named)
        frames_set_names(&s->frames, frames_add(&s->frames, &b), &name, 1);
    else
        frames_add(&s->frames, &b);
}

static void expect(const char *path, int named, uint64_t scanned, unsigned done, const char *has,
                   const char *lacks)
{
    struct store s = {0};
    struct buf out = {0};

    fill(&s, path, named);
    jit_advice(&s, scanned, 1000, done, &out);
    if (has)
        assert_non_null(strstr(buf_str(&out), has));
    else
        assert_string_equal(buf_str(&out), "");
    if (lacks)
        assert_null(strstr(buf_str(&out), lacks));
    buf_release(&out);
    store_release(&s);
}

static void test_java(void **state)
{
    expect("/jdk/lib/server/libjvm.so", 0, 0, 0, "record --jvm", "guessed");
    expect("/jdk/lib/server/libjvm.so", 1, 300, 0, "300 stacks", "no names");
    expect("/jdk/lib/server/libjvm.so", 1, 300, JIT_ADVICE_JVM, "PreserveFramePointer", "no names");
    expect("/jdk/lib/server/libjvm.so", 0, 0, JIT_ADVICE_JVM, NULL, NULL);
    expect("/jdk/lib/server/libjvm.so", 1, 5, 0, NULL, NULL);
}

static void test_others(void **state)
{
    expect("/usr/bin/node", 0, 900, 0, "--jit-names", "Java code");
    expect("/usr/bin/node", 1, 900, 0, NULL, NULL);
    expect("/usr/lib/libdnnl.so.2", 0, 900, 0, "oneDNN", NULL);
    expect("/usr/lib/libdnnl.so.2", 0, 900, JIT_ADVICE_NAMES, NULL, NULL);
    expect("/usr/bin/luajit", 0, 900, 0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_java), cmocka_unit_test(test_others)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
