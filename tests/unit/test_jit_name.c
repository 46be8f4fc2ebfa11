/* SPDX-License-Identifier: Apache-2.0 */
/* Names as V8, HotSpot and CPython wrote them into real perf maps. */
#include "analyze/jit_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct example {
    const char *raw, *func, *file;
    uint32_t line;
    enum language language;
};

static void check(const struct example *list, size_t n)
{
    struct jit_name got = {0};

    for (size_t i = 0; i < n; i++) {
        jit_name_parse(list[i].raw, &got);
        assert_string_equal(buf_str(&got.func), list[i].func);
        assert_string_equal(buf_str(&got.file), list[i].file);
        assert_int_equal(got.line, list[i].line);
        assert_int_equal(got.language, list[i].language);
    }
    jit_name_release(&got);
}

#define CHECK(list) check(list, sizeof(list) / sizeof((list)[0]))
#define JS          LANGUAGE_JAVASCRIPT

static void test_v8(void **state)
{
    static const struct example list[] = {
        {"JS:*leaf_a /srv/known.js:4:16", "leaf_a", "/srv/known.js", 4, JS},
        {"JS:~leaf_a /srv/known.js:4:16", "leaf_a", "/srv/known.js", 4, JS},
        {"JS:^leaf_a /srv/known.js:4:16", "leaf_a", "/srv/known.js", 4, JS},
        {"JS:+leaf_a /srv/known.js:4:16", "leaf_a", "/srv/known.js", 4, JS},
        {"JS:*'leaf_a /srv/known.js:4:16", "leaf_a", "/srv/known.js", 4, JS},
        {"LazyCompile:*sum /srv/old node/app.js:3:1", "sum", "/srv/old node/app.js", 3, JS},
        {"JS:~ /srv/known.js:1:1", "(top level)", "/srv/known.js", 1, JS},
        {"JS:* /srv/known.js:18:102", "(anonymous:18:102)", "/srv/known.js", 18, JS},
        {"JS:^get size node:internal/url:30:5", "get size", "node:internal/url", 30, JS},
        {"JS:~Module._extensions..js node:internal/modules/cjs/loader:1604:37", "Module._extensions..js",
         "node:internal/modules/cjs/loader", 1604, JS},
        {"JS:*f file:///srv/m.mjs:7:3", "f", "/srv/m.mjs", 7, JS},
        {"Script:~ [eval]:1:1", "(top level)", "[eval]", 1, JS},
        {"JS:~bare", "bare", "", 0, JS},
        {"JS:", "(top level)", "", 0, JS},
        {"JS:*:9", "(anonymous:9:0)", "", 9, JS},
        {"RegExp:a+b", "RegExp:a+b", "", 0, LANGUAGE_NONE},
        {"Builtin:ArrayMap", "Builtin:ArrayMap", "", 0, LANGUAGE_NONE},
    };

    CHECK(list);
}

static void test_hotspot(void **state)
{
    static const struct example list[] = {
        {"int Known.leafA(int)", "Known.leafA", "", 0, LANGUAGE_JAVA},
        {"java.lang.Object jdk.internal.misc.Unsafe.getReferenceVolatile(java.lang.Object, long)",
         "jdk.internal.misc.Unsafe.getReferenceVolatile", "", 0, LANGUAGE_JAVA},
        {"void java.lang.Object.<init>()", "java.lang.Object.<init>", "", 0, LANGUAGE_JAVA},
        {"byte[] app.Main$1.run(byte[][])", "app.Main$1.run", "", 0, LANGUAGE_JAVA},
        {"void Main$$Lambda$14/0x00000008000c4000.run()", "Main$$Lambda$14.run", "", 0, LANGUAGE_JAVA},
        {"Interpreter", "Interpreter", "", 0, LANGUAGE_NONE},
        {"StubRoutines (1)", "StubRoutines (1)", "", 0, LANGUAGE_NONE},
        {"I2C/C2I adapters", "I2C/C2I adapters", "", 0, LANGUAGE_NONE},
    };

    CHECK(list);
}

static void test_others(void **state)
{
    static const struct example list[] = {
        {"py::Main.work:/srv/app.py", "Main.work", "/srv/app.py", 0, LANGUAGE_PYTHON},
        {"py::odd", "odd", "", 0, LANGUAGE_PYTHON},
        {"jit_avx2_conv_fwd_kernel_f32", "jit_avx2_conv_fwd_kernel_f32", "", 0, LANGUAGE_NONE},
        {"JSON stringify", "JSON stringify", "", 0, LANGUAGE_NONE},
    };

    CHECK(list);
}

static void test_symbols(void **state)
{
    assert_int_equal(language_of_symbol("main"), LANGUAGE_C);
    assert_int_equal(language_of_symbol("work.isra.0"), LANGUAGE_C);
    assert_int_equal(language_of_symbol("_ZN4node5StartEiPPc"), LANGUAGE_C);
    assert_int_equal(language_of_symbol("_RNvC7mycrate3foo"), LANGUAGE_RUST);
    assert_int_equal(language_of_symbol("_ZN4core3fmt5write17h0123456789abcdefE"), LANGUAGE_RUST);
    assert_int_equal(language_of_symbol("_ZN4core3fmt5write17h0123456789abcdefE.llvm.77"), LANGUAGE_RUST);
    assert_int_equal(language_of_symbol("_ZN4core3fmt5write17h0123456789abcdexE"), LANGUAGE_C);
    assert_int_equal(language_of_symbol("main.main"), LANGUAGE_GO);
    assert_int_equal(language_of_symbol("runtime.mcall"), LANGUAGE_GO);
    assert_int_equal(language_of_symbol("net/http.(*conn).serve"), LANGUAGE_GO);
    assert_string_equal(language_name(LANGUAGE_C), "c/c++");
    assert_null(language_name(LANGUAGE_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v8),
        cmocka_unit_test(test_hotspot),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_symbols),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
