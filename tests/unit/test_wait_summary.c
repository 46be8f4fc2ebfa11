/* SPDX-License-Identifier: Apache-2.0 */
/* The phrase on what the main thread waited for, of made-up sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyze/wait_summary.h"

#define MS 1000000ull

static struct store store;
static struct meta meta;

static int setup(void **state)
{
    store = (struct store){0};
    meta = (struct meta){.pid = 10, .start_mono = 1000 * MS, .end_mono = 2000 * MS};
    return 0;
}

static int teardown(void **state)
{
    store_release(&store);
    return 0;
}

static uint32_t task(uint32_t tid, const char *name)
{
    struct task t = {.pid = tid, .tid = tid, .ns_pid = tid, .ns_tid = tid, .start_ns = tid};

    t.comm = strtab_add(&store.strings, name);
    return tasks_add(&store.tasks, &t);
}

static uint32_t in(const char *func)
{
    struct frame f = {.kind = FRAME_PYTHON, .func = strtab_add(&store.strings, func)};

    return stacks_push(&store.stacks, 0, frames_add(&store.frames, &f));
}

static void waited_at(uint64_t at, uint32_t who, uint64_t ms, uint8_t reason, uint32_t waker,
                      const char *func)
{
    struct wait w = {.reason = reason, .waker_task = waker};
    struct event ev = {.kind = EVENT_OFFCPU, .ts = (1000 + at) * MS, .dur = ms * MS, .task = who, .value = 1};

    ev.attr = waits_add(&store.waits, &w);
    ev.stack = in(func);
    *vec_push(&store.events) = ev;
}

static void waited(uint32_t who, uint64_t ms, uint8_t reason, uint32_t waker, const char *func)
{
    waited_at(0, who, ms, reason, waker, func);
}

/* A sample every 10 ms. */
static void ran(uint64_t from, uint64_t to, uint32_t who, const char *func)
{
    for (uint64_t at = from + 5; at < to; at += 10)
        *vec_push(&store.events) = (struct event){
            .kind = EVENT_SAMPLE, .ts = (1000 + at) * MS, .task = who, .value = 1, .stack = in(func)};
}

static void says(const char *text, double share)
{
    struct buf b = {0};
    double got = wait_summary(&b, &store, &meta);

    assert_string_equal(buf_str(&b), text);
    assert_true(got > share - 1e-9 && got < share + 1e-9);
    buf_release(&b);
}

static void through_a_thread_to_who_runs(void **state)
{
    uint32_t trainer = task(10, "python3"), results = task(11, "python3"), worker = task(20, "loader"),
             other = task(21, "loader");

    waited(trainer, 500, WAIT_FUTEX, results, "get");
    waited_at(600, trainer, 100, WAIT_DISK, 0, "load");
    waited(results, 400, WAIT_PIPE, worker, "recv");
    waited_at(400, results, 90, WAIT_PIPE, other, "recv");
    waited_at(500, results, 500, WAIT_PIPE, other, "recv"); /* nobody waits for it then */
    waited(worker, 10, WAIT_PIPE, trainer, "recv");
    ran(10, 350, worker, "slow_transform");
    ran(350, 400, worker, "send");
    ran(400, 1000, other, "idle_loop");
    ran(500, 600, trainer, "step");
    says("main thread: futex, woken by python3[11] <- loader[20], which was in slow_transform", 0.6);
}

static void two_that_wait_for_each_other(void **state)
{
    uint32_t a = task(10, "ping"), b = task(11, "pong");

    waited(a, 600, WAIT_SOCKET, b, "recv");
    waited(b, 600, WAIT_SOCKET, a, "recv");
    says("main thread: socket, woken by pong[11]", 0.6);
}

static void a_child_that_sleeps(void **state)
{
    uint32_t shell = task(10, "sh"), child = task(11, "sleep");

    waited(shell, 900, WAIT_CHILD, child, "wait");
    waited(child, 900, WAIT_SLEEP, 0, "nanosleep");
    says("main thread: child, woken by sleep[11], which waited: sleep", 0.9);
}

static void who_ended_little_is_not_named(void **state)
{
    uint32_t main_thread = task(10, "python3"), other = task(11, "bash");

    waited(main_thread, 800, WAIT_SLEEP, 0, "nap");
    waited(main_thread, 50, WAIT_CHILD, other, "spawn");
    says("main thread: sleep in nap", 0.85);
}

static void nobody_ends_a_sleep(void **state)
{
    waited(task(10, "cron"), 900, WAIT_SLEEP, 0, "pause_a_while");
    says("main thread: sleep in pause_a_while", 0.9);
}

static void short_waits_are_not_worth_a_line(void **state)
{
    waited(task(10, "busy"), 99, WAIT_SLEEP, 0, "f");
    waited(task(11, "idle"), 900, WAIT_SLEEP, 0, "f");
    says("", 0);
}

static void nothing_recorded(void **state)
{
    says("", 0);
    meta.end_mono = meta.start_mono;
    waited(task(10, "cron"), 900, WAIT_SLEEP, 0, "f");
    says("", 0);
}

/* What a waker did before and after is not what was waited for. */
static void only_what_it_did_meanwhile(void **state)
{
    uint32_t client = task(10, "client"), server = task(11, "server");

    ran(0, 300, server, "reindex");
    waited_at(300, client, 200, WAIT_SOCKET, server, "recv");
    ran(300, 500, server, "answer");
    ran(500, 1000, server, "reindex");
    says("main thread: socket, woken by server[11], which was in answer", 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(through_a_thread_to_who_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(two_that_wait_for_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_that_sleeps, setup, teardown),
        cmocka_unit_test_setup_teardown(who_ended_little_is_not_named, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_ends_a_sleep, setup, teardown),
        cmocka_unit_test_setup_teardown(short_waits_are_not_worth_a_line, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_it_did_meanwhile, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_recorded, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
