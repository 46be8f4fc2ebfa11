/* SPDX-License-Identifier: Apache-2.0 */
/* When a recording looks at the machine, by a clock of our own. */
#include "record/topology_when.h"

#include "model/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS    1000000ull
#define BEGIN (1000 * MS)
#define BOOT  (5000 * MS) /* the other clock */

struct world {
    struct tasks tasks;
    struct when when;
    uint64_t cost; /* CPU ns of a look */
    uint64_t spent;
    VEC(uint64_t) looks; /* ms since the begin */
};

static void begin(struct world *w, uint64_t cost)
{
    *w = (struct world){.cost = cost};
    when_begin(&w->when, BEGIN, BOOT);
}

static void end(struct world *w)
{
    tasks_release(&w->tasks);
    when_release(&w->when);
    vec_release(&w->looks);
}

static uint32_t add_process(struct world *w, uint32_t pid, uint64_t ms)
{
    uint32_t id = tasks_add(
        &w->tasks,
        &(struct task){
            .pid = pid, .tid = pid, .ns_pid = pid, .start_ns = BOOT + ms * MS, .first_ns = BEGIN + ms * MS});

    tasks_get(&w->tasks, id)->leader = id;
    return id;
}

/* Asks as the recorder does, from one time to another. */
static void run(struct world *w, uint64_t from, uint64_t to)
{
    for (uint64_t ms = from; ms < to; ms += WHEN_TICK_NS / MS) {
        if (!when_due(&w->when, &w->tasks, BEGIN + ms * MS))
            continue;
        *vec_push(&w->looks) = ms;
        when_asked(&w->when, BEGIN + ms * MS);
        when_took(&w->when, w->spent += w->cost);
    }
}

static void test_times_grow(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 15 * MS);
    run(&w, 0, 600000);
    assert_int_equal(w.looks.n, 4); /* 0.5, 4, 32, 256 s */
    assert_int_equal(w.looks.a[0], 500);
    for (size_t i = 1; i < w.looks.n; i++)
        assert_int_equal(w.looks.a[i], 8 * w.looks.a[i - 1]);
    end(&w);
}

static void test_soon_after_processes_came(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 15 * MS);
    run(&w, 0, 5000);
    w.looks.n = 0;
    add_process(&w, 10, 5000);
    add_process(&w, 11, 5100);
    run(&w, 5100, 6500);
    assert_int_equal(w.looks.n, 1); /* for both, when they have settled */
    assert_in_range(w.looks.a[0], 5350, 5500);
    end(&w);
}

static void test_those_that_keep_coming_are_not_waited_for(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 15 * MS);
    run(&w, 0, 5000);
    w.looks.n = 0;
    for (uint64_t ms = 5000; ms < 6000; ms += 100) {
        add_process(&w, (uint32_t)ms, ms);
        run(&w, ms, ms + 100);
    }
    assert_int_equal(w.looks.n, 1);
    assert_int_equal(w.looks.a[0], 5800); /* 750 ms after the first */
    run(&w, 6000, 6500);                  /* the last of them again, as they had only come */
    assert_int_equal(w.looks.n, 2);
    end(&w);
}

static void test_those_that_have_gone_cost_nothing(void **state)
{
    struct world w;
    uint32_t id;

    (void)state;
    begin(&w, 15 * MS);
    run(&w, 0, 5000);
    w.looks.n = 0;
    id = add_process(&w, 10, 5000);
    tasks_get(&w.tasks, id)->last_ns = BEGIN + 5050 * MS;
    run(&w, 5000, 7900);
    assert_int_equal(w.looks.n, 0);
    end(&w);
}

static void test_threads_and_older_ones_are_no_news(void **state)
{
    struct world w;
    uint32_t leader, id;

    (void)state;
    begin(&w, 15 * MS);
    leader = add_process(&w, 10, 0);
    tasks_get(&w.tasks, leader)->start_ns = BOOT - MS;
    run(&w, 0, 5000);
    w.looks.n = 0;
    id = tasks_add(
        &w.tasks,
        &(struct task){.pid = 10, .tid = 12, .start_ns = BOOT + 5000 * MS, .first_ns = BEGIN + 5000 * MS});
    tasks_get(&w.tasks, id)->leader = leader;
    id = add_process(&w, 13, 5000); /* first met now */
    tasks_get(&w.tasks, id)->start_ns = BOOT - 1;
    run(&w, 5000, 7900);
    assert_int_equal(w.looks.n, 0);
    /* but another program in a process is */
    id = tasks_add(&w.tasks, &(struct task){.pid = 10, .tid = 10, .start_ns = BOOT - MS, .image = 1});
    tasks_get(&w.tasks, id)->leader = id;
    run(&w, 7000, 7900);
    assert_int_equal(w.looks.n, 1);
    end(&w);
}

static void test_looks_keep_to_their_share(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 15 * MS);
    for (uint64_t ms = 0; ms < 100000; ms += 1000) {
        add_process(&w, (uint32_t)ms + 1, ms);
        run(&w, ms, ms + 1000);
    }
    assert_in_range(w.when.extra, 120 * MS, 60 * MS + 100000 * MS / 1000);
    assert_true(w.when.held > 0);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_grow),
        cmocka_unit_test(test_soon_after_processes_came),
        cmocka_unit_test(test_those_that_keep_coming_are_not_waited_for),
        cmocka_unit_test(test_those_that_have_gone_cost_nothing),
        cmocka_unit_test(test_threads_and_older_ones_are_no_news),
        cmocka_unit_test(test_looks_keep_to_their_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
