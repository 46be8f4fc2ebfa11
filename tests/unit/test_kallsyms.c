/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "platform/kallsyms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
                           "ffffffff81000000 T _text\n"
                           "ffffffff81000000 T startup_64\n"
                           "ffffffff81000100 t __do_work\n"
                           "ffffffff81000100 T do_work\n"
                           "ffffffff81000200 t finish_task_switch.isra.0\n"
                           "this is no line of kallsyms\n"
                           "ffffffff81000300 W weak_one\n"
                           "ffffffff81000400 D some_data\n"
                           "ffffffff81000500 t do_exit.part.0\n"
                           "ffffffff81000600 t tick_do_update.constprop.0\n"
                           "ffffffff81000700 t __schedule.cold\n"
                           "ffffffff81000710 t do_exit.part.0.cold\n"
                           "ffffffffc0001000 t nf_hook\t[nf_tables]\n"
                           "ffffffffc0001100 t nf_hook_slow.isra.0\t[nf_tables]\n"
                           "ffffffffc0002000 t bpf_prog_6deef7357e7b4530_on_switch\t[bpf]\n"
                           "ffffffff80fff000 T out_of_order\n"
                           "ffffffffc0002100 t cut_off_wi";

static const uint64_t addrs[] = {
    0x1000,
    0xffffffff80fff800,
    0xffffffff81000000,
    0xffffffff81000150,
    0xffffffff81000180,
    0xffffffff81000200,
    0xffffffff810002ff,
    0xffffffff81000310,
    0xffffffff81000410,
    0xffffffff81000510,
    0xffffffff81000610,
    0xffffffff8100070f,
    0xffffffff81000711,
    0xffffffffb0000000,
    0xffffffffc0001004,
    0xffffffffc0001104,
    0xffffffffc0002200,
};

enum { N = sizeof(addrs) / sizeof(addrs[0]) };

static void test_nearest(void **state)
{
    static const char *const names[N] = {NULL,
                                         "out_of_order",
                                         "startup_64",
                                         "do_work",
                                         "do_work",
                                         "finish_task_switch.isra.0",
                                         "finish_task_switch.isra.0",
                                         "weak_one",
                                         NULL, /* data */
                                         "do_exit.part.0",
                                         "tick_do_update.constprop.0",
                                         "__schedule.cold",
                                         "do_exit.part.0.cold",
                                         NULL, /* far from anything */
                                         "nf_hook",
                                         "nf_hook_slow.isra.0",
                                         "bpf_prog_6deef7357e7b4530_on_switch"};
    struct kallsyms_hit hits[N];
    char copy[sizeof(text)];

    memcpy(copy, text, sizeof(text));
    assert_int_equal(kallsyms_parse(copy, sizeof(text) - 1, addrs, N, hits), 15);
    for (int i = 0; i < N; i++) {
        if (!names[i])
            assert_null(hits[i].name);
        else
            assert_string_equal(hits[i].name, names[i]);
    }
    assert_null(hits[2].module);
    assert_string_equal(hits[14].module, "nf_tables");
    assert_string_equal(hits[15].module, "nf_tables");
    assert_string_equal(hits[16].module, "bpf");
}

static void write_fixture(const char *dir, const char *s)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof(path), "%s/kallsyms", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(s, f);
    fclose(f);
}

static void test_hidden_addresses(void **state)
{
    char dir[] = "/tmp/wprof-test-kallsyms-XXXXXX", path[256], *kept;
    struct kallsyms_hit hits[N];
    struct err e = {""};

    assert_non_null(mkdtemp(dir));
    assert_int_equal(kallsyms_resolve(dir, addrs, N, hits, &kept, &e), -1);
    assert_non_null(strstr(e.msg, "No such file"));
    write_fixture(dir, "0000000000000000 T startup_64\n0000000000000000 t do_work\n");
    assert_int_equal(kallsyms_resolve(dir, addrs, N, hits, &kept, &e), -1);
    assert_non_null(strstr(e.msg, "kptr_restrict"));
    write_fixture(dir, text);
    assert_int_equal(kallsyms_resolve(dir, addrs, N, hits, &kept, &e), 0);
    assert_string_equal(hits[3].name, "do_work");
    free(kept);
    write_fixture(dir,
                  "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffffc0000010 t f\t[nf_tables]\n");
    assert_int_equal(kallsyms_address(dir, "_text"), 0xffffffff81000000); /* at one address with another */
    assert_int_equal(kallsyms_address(dir, "f"), 0);                      /* a module's */
    assert_int_equal(kallsyms_address(dir, "_tex"), 0);
    snprintf(path, sizeof(path), "%s/kallsyms", dir);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_hidden_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
