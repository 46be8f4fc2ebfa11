/* SPDX-License-Identifier: Apache-2.0 */
/* The in-memory tables: what is equal has one id, ids are dense, and tables without an index (as from disk)
 * get one. */
#include "model/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void strings_are_interned(void **state)
{
    struct strtab t = {0};
    char name[32];

    assert_int_equal(strtab_add(&t, ""), 0);
    assert_int_equal(strtab_add(&t, NULL), 0);
    assert_int_equal(strtab_add(&t, "main"), 1);
    assert_int_equal(strtab_add(&t, "main2"), 2);
    assert_int_equal(strtab_addn(&t, "main2 and more", 4), 1);
    assert_int_equal(strtab_addn(&t, "ab\0cd", 5), 3);
    assert_string_equal(strtab_get(&t, 3), "ab");
    assert_string_equal(strtab_get(&t, 0), "");
    assert_string_equal(strtab_get(&t, 99), "");
    assert_int_equal(strtab_find(&t, "mai"), 0);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        assert_int_equal(strtab_add(&t, name), 4 + i);
    }
    index_release(&t.index); /* as after reading */
    assert_int_equal(strtab_find(&t, "f4999"), 4 + 4999);
    assert_int_equal(strtab_add(&t, "f4321"), 4 + 4321);
    assert_int_equal(strtab_count(&t), 5003);
    strtab_release(&t);
}

static void stacks_share_prefixes(void **state)
{
    struct stacks s = {0};
    uint32_t a = stacks_push(&s, 0, 7), b = stacks_push(&s, a, 8);

    assert_int_equal(a, 1);
    assert_int_equal(b, 2);
    assert_int_equal(stacks_push(&s, 0, 7), a);
    assert_int_equal(stacks_push(&s, a, 8), b);
    assert_int_equal(stacks_push(&s, b, 8), 3);
    assert_int_equal(stacks_push(&s, 0, 8), 4);
    vec_release(&s.links); /* as after reading */
    assert_int_equal(stacks_push(&s, a, 8), b);
    assert_int_equal(s.nodes.n, 4);
    assert_int_equal(stacks_get(&s, 3)->parent, b);
    assert_null(stacks_get(&s, 0));
    assert_null(stacks_get(&s, 5));
    stacks_release(&s);
}

static void stacks_with_many_children(void **state)
{
    struct stacks s = {0};

    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t f = 1; f <= 1000; f++) {
            assert_int_equal(stacks_push(&s, 0, f), f);
            if (round == 1 && f == 500)
                vec_release(&s.links);
        }
    }
    for (uint32_t f = 1; f <= 100; f++)
        assert_int_equal(stacks_push(&s, 500, f), 1000 + f);
    assert_int_equal(stacks_push(&s, 500, 7), 1007);
    assert_int_equal(stacks_push(&s, 0, 999), 999);
    assert_int_equal(s.nodes.n, 1100);
    stacks_release(&s);
}

static void frames_tell_apart(void **state)
{
    struct frames f = {0};
    struct frame raw = {.kind = FRAME_NATIVE, .module = 1, .addr = 0x1000},
                 py = {.kind = FRAME_PYTHON, .func = 5, .line = 3};
    struct frame_name self, two[2] = {{11, 12, 13}, {21, 22, 23}};
    const struct frame_name *names;
    uint32_t a = frames_add(&f, &raw), b = frames_add(&f, &py);

    assert_int_equal(frames_add(&f, &raw), a);
    raw.flags = FRAME_RETURN;
    assert_int_not_equal(frames_add(&f, &raw), a);
    py.line = 4;
    assert_int_not_equal(frames_add(&f, &py), b);
    assert_int_equal(frames_names(&f, a, &self, &names), 0);
    assert_int_equal(frames_names(&f, b, &self, &names), 1);
    assert_int_equal(names[0].line, 3);
    frames_set_names(&f, a, two, 2);
    assert_int_equal(frames_names(&f, a, &self, &names), 2);
    assert_int_equal(names[1].func, 21);
    frames_set_names(&f, 99, two, 2); /* no such frame: nothing happens */
    assert_int_equal(frames_names(&f, 99, &self, &names), 0);
    raw.flags = 0;
    assert_int_equal(frames_add(&f, &raw), a); /* names are no part of the identity */
    frames_release(&f);
}

static void modules_own_their_fd(void **state)
{
    struct frames f = {0};
    struct module m = {
        .path = 1, .kind = MODULE_FILE, .dev = 1, .ino = 2, .fd = open("/dev/null", O_RDONLY | O_CLOEXEC)};
    uint32_t id = frames_add_module(&f, &m);
    int second;

    m.fd = second = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(frames_add_module(&f, &m), id);
    assert_int_equal(fcntl(second, F_GETFD), -1); /* known already: closed */
    m.fd = -1;
    m.ino = 3;
    assert_int_not_equal(frames_add_module(&f, &m), id);
    m.ino = 2;
    m.build_id_len = 4;
    assert_int_not_equal(frames_add_module(&f, &m), id);
    frames_release(&f);
}

static void tasks_by_tid_and_start(void **state)
{
    struct tasks t = {0};
    struct task a = {.pid = 10, .tid = 10, .start_ns = 5};
    uint32_t id = tasks_add(&t, &a);

    assert_int_equal(tasks_get(&t, id)->leader, id);
    a.comm = 9;
    assert_int_equal(tasks_add(&t, &a), id);
    a.start_ns = 6; /* the pid came round again */
    assert_int_equal(tasks_add(&t, &a), 2);
    assert_int_equal(t.changed.n, 2);
    tasks_touch(&t, 2);
    assert_int_equal(t.changed.n, 2);
    tasks_touch(&t, 1);
    assert_int_equal(t.changed.n, 3);
    assert_null(tasks_get(&t, 0));
    assert_null(tasks_get(&t, 3));
    tasks_release(&t);
}

static void counters_keep_the_last_value(void **state)
{
    struct store s = {0};

    assert_int_equal(store_counter(&s, "cpu.taken", 42), 42);
    store_set_counter(&s, "cpu.taken", 1);
    store_set_counter(&s, "cpu.lost", 2);
    store_set_counter(&s, "cpu.taken", 3);
    assert_int_equal(store_counter(&s, "cpu.taken", 42), 3);
    assert_int_equal(s.counters.n, 2);
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_interned),         cmocka_unit_test(stacks_share_prefixes),
        cmocka_unit_test(stacks_with_many_children),    cmocka_unit_test(frames_tell_apart),
        cmocka_unit_test(modules_own_their_fd),         cmocka_unit_test(tasks_by_tid_and_start),
        cmocka_unit_test(counters_keep_the_last_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
