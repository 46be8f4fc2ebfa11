/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *raw, const char *want)
{
    struct buf out = {0};

    demangle(raw, &out);
    assert_string_equal(buf_str(&out), want);
    buf_release(&out);
}

static void test_cxx(void **state)
{
    expect("_ZN9wikipedia7article6formatEv", "wikipedia::article::format");
    expect("_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden");
    expect("_ZSt4sortIN9__gnu_cxx17__normal_iteratorIPiSt6vectorIiSaIiEEEEEvT_S7_",
           "std::sort<__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > > >");
    expect("_ZN3FooC1Ei", "Foo::Foo");
    expect("_ZN3FooC4Ei", "Foo::Foo"); /* what DWARF calls an inlined constructor */
    expect("_ZN3FooD0Ev", "Foo::~Foo");
    expect("_ZNK3FoocvbEv", "Foo::operator bool");
    expect("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()");
    expect("_ZTv0_n24_N3FooD1Ev", "virtual thunk to Foo::~Foo()");
    expect("_ZN3Foo3barEv.cold", "Foo::bar");
    expect("_ZN3Foo3barEi.constprop.0", "Foo::bar");
}

static void test_rust(void **state)
{
    expect("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
    expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
           "3bar17h930b740aa94f1d3aE",
           "<Test + 'static as foo::Bar<Test>>::bar");
    expect("_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar");
    expect("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
           "<std::path::PathBuf>::new");
    expect("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>");
    expect("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
           "utf8_idents::"
           "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_"
           "\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_"
           "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98");
}

static void test_left_alone(void **state)
{
    expect("finish_task_switch.isra.0", "finish_task_switch.isra.0");
    expect("memcpy", "memcpy");
    expect("_start", "_start");
    expect("_Z", "_Z");
    expect("_ZN", "_ZN");
    expect("_R", "_R");
    expect("_Znot really", "_Znot really");
    expect("", "");
}

/* Each type refers twice to the one before: some 2^32 names when written out. */
static void test_expansion_is_bounded(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct buf raw = {0}, out = {0};

    buf_addstr(&raw, "_Z1fI1AIiiE");
    for (int i = 1; i < 32; i++)
        buf_addf(&raw, "S0_IS%c_S%c_E", digits[i], digits[i]);
    buf_addstr(&raw, "Evv");
    demangle(buf_str(&raw), &out);
    assert_int_equal(out.len, DEMANGLE_MAX);
    assert_memory_equal(out.data, "f<A<int, int>, A<A<int, int>, A<int, int> >,", 44);
    assert_string_equal(out.data + out.len - 3, "\xe2\x80\xa6");

    buf_clear(&raw);
    buf_clear(&out);
    buf_addstr(&raw, "_Z1f");
    buf_addstr(&raw, "St6vectorI");
    for (int i = 0; i < 2000; i++)
        buf_addstr(&raw, "abcdefgh");
    demangle(buf_str(&raw), &out);
    assert_int_equal(out.len, DEMANGLE_MAX);
    assert_string_equal(out.data + out.len - 3, "\xe2\x80\xa6");
    buf_release(&raw);
    buf_release(&out);
}

/* A name that is cut is cut between characters. */
static void test_cut_keeps_utf8(void **state)
{
    struct buf raw = {0}, out = {0};

    buf_addstr(&raw, "x");
    for (int i = 0; i < 3000; i++)
        buf_addstr(&raw, "\xc3\xa9");
    demangle(buf_str(&raw), &out);
    assert_true(out.len <= DEMANGLE_MAX);
    assert_memory_equal(out.data + out.len - 5, "\xc3\xa9\xe2\x80\xa6", 5);
    buf_release(&raw);
    buf_release(&out);
}

static void test_cache(void **state)
{
    struct demangle_cache c = {0};

    assert_string_equal(demangle_cached(&c, "_ZN3Foo3barEv"), "Foo::bar");
    assert_string_equal(demangle_cached(&c, "plain"), "plain");
    assert_string_equal(demangle_cached(&c, "_ZN3Foo3barEv"), "Foo::bar");
    assert_string_equal(demangle_cached(&c, "_ZN3Foo3barEi"), "Foo::bar");
    assert_string_equal(demangle_cached(&c, ""), "");
    assert_int_equal(c.name_of.n, 3);
    demangle_cache_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cxx),
        cmocka_unit_test(test_rust),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_expansion_is_bounded),
        cmocka_unit_test(test_cut_keeps_utf8),
        cmocka_unit_test(test_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
