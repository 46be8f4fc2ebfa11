/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread and the GIL, and who of a session can be asked for --gil and --idle. */
#include "analyze/gil_top.h"
#include "analyze/held.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void wait_for(struct session *s, uint32_t task, uint64_t dur, uint32_t holder)
{
    struct wait w = {.reason = WAIT_GIL, .waker_task = holder};

    *vec_push(&s->store.events) = (struct event){
        .dur = dur, .value = 1, .task = task, .attr = waits_add(&s->store.waits, &w), .kind = EVENT_GIL};
}

static void world(struct session *s)
{
    static const char *const names[] = {"main", "worker", "idle"};

    *s = (struct session){.path = (char *)"s", .meta = {.duration_s = 1e-6, .frequency = 10000000}};
    for (uint32_t i = 0; i < 3; i++) {
        struct task t = {
            .pid = 10, .tid = 10 + i, .start_ns = 1, .comm = strtab_add(&s->store.strings, names[i])};

        tasks_add(&s->store.tasks, &t);
    }
    wait_for(s, 2, 300, 1);
    wait_for(s, 2, 100, 3);
    wait_for(s, 1, 50, 2);
    *vec_push(&s->store.events) =
        (struct event){.value = 2, .task = 1, .kind = EVENT_SAMPLE, .flags = EVENT_GIL_READ | EVENT_GIL_HELD};
    *vec_push(&s->store.events) =
        (struct event){.value = 5, .task = 1, .kind = EVENT_SAMPLE, .flags = EVENT_GIL_READ};
    *vec_push(&s->store.events) = (struct event){
        .dur = 40, .value = 1, .task = 1, .kind = EVENT_OFFCPU, .flags = EVENT_GIL_READ | EVENT_GIL_HELD};
}

static void release(struct session *s)
{
    for (size_t i = 0; i < s->meta.notes.n; i++)
        free(s->meta.notes.a[i]);
    vec_release(&s->meta.notes);
    store_release(&s->store);
}

static union table_cell *cell(struct table *t, size_t row, const char *key)
{
    for (size_t c = 0; c < t->ncolumns; c++)
        if (!strcmp(t->columns[c].key, key))
            return &t->cells.a[row * t->ncolumns + c];
    fail_msg("no column %s", key);
    return NULL;
}

static void who_waited_and_who_held(void **state)
{
    struct session s;
    struct table t;

    world(&s);
    gil_top(&t, &s, 2);
    assert_int_equal(table_rows(&t), 2);
    assert_int_equal(t.left_out, 1); /* who only held it */
    assert_string_equal(cell(&t, 0, "thread")->text, "worker");
    assert_int_equal(cell(&t, 0, "waited_ns")->count, 400);
    assert_int_equal(cell(&t, 0, "times")->count, 2);
    assert_float_equal(cell(&t, 0, "waited_share")->share, 0.4, 1e-9);
    assert_string_equal(cell(&t, 0, "holder")->text, "main");
    assert_float_equal(cell(&t, 0, "holder_share")->share, 0.75, 1e-9);
    assert_string_equal(cell(&t, 1, "thread")->text, "main");
    assert_int_equal(cell(&t, 1, "others_ns")->count, 300);
    assert_float_equal(cell(&t, 1, "held_share")->share, 0.24, 1e-9); /* 2 samples of 100 ns, 40 ns */
    table_release(&t);
    release(&s);
}

static void what_a_session_can_tell(void **state)
{
    struct fold_opts fold = {0};
    struct session s;
    struct err e = {0};

    world(&s);
    assert_int_equal(held_apply(&fold, &s, 0, 0, &e), 0);
    assert_int_equal(s.meta.notes.n, 0);
    assert_int_equal(held_apply(&fold, &s, 1, 1, &e), 0);
    assert_true(fold.gil);
    assert_int_equal(fold.idle_ns, 100);
    assert_int_equal(s.meta.notes.n, 2);
    fold.metric = "gil";
    assert_int_equal(held_apply(&fold, &s, 1, 0, &e), -1);
    assert_int_equal(held_apply(&fold, &s, 0, 1, &e), -1);
    fold.metric = NULL;
    s.store.events.n = 3; /* nothing but waits for it */
    assert_int_equal(held_apply(&fold, &s, 1, 0, &e), -1);
    assert_non_null(strstr(e.msg, "who held the GIL"));
    assert_int_equal(held_apply(&fold, &s, 0, 1, &e), -1);
    assert_non_null(strstr(e.msg, "off the CPU"));
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waited_and_who_held),
        cmocka_unit_test(what_a_session_can_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
