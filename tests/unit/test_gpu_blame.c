/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the idle time of devices is laid on, where the answer is known to the nanosecond. */
#include "analyze/gpu_blame.h"
#include "analyze/gpu_busy.h"
#include "gpu_fixture.h"

#define KERNEL ((struct gpu_work){.op = GPU_KERNEL, .device = 1, .stream = 7})

/* The row of a state and a function; NULL for neither: "". */
static union table_cell *row(struct table *t, const char *state, const char *where)
{
    for (size_t i = 0; i < table_rows(t); i++) {
        const char *w = gpu_cell(t, i, "where")->text;

        if (!strcmp(gpu_cell(t, i, "state")->text, state) && !strcmp(w ? w : "", where))
            return &t->cells.a[i * t->ncolumns];
    }
    fail_msg("no row '%s' in '%s'", state, where);
    return NULL;
}

static union table_cell *of(struct table *t, union table_cell *row, const char *key)
{
    return gpu_cell(t, (size_t)(row - t->cells.a) / t->ncolumns, key);
}

static void add_up(struct table *t, uint64_t expected)
{
    double shares = 0;
    uint64_t ns = 0;

    for (size_t i = 0; i < table_rows(t); i++) {
        ns += gpu_cell(t, i, "ns")->count;
        shares += gpu_cell(t, i, "share")->share;
    }
    assert_int_equal(ns, expected);
    assert_float_equal(shares, 1, 1e-9);
}

static void sample(struct gpu_fixture *f, uint32_t task, uint64_t ts, const char *stack)
{
    gpu_fixture_event(f, EVENT_SAMPLE, task, ts, ts)->stack = gpu_fixture_stack(f, stack);
}

static void wait_on(struct gpu_fixture *f, struct event *ev, unsigned reason, uint32_t by,
                    const char *by_stack, const char *stack)
{
    struct wait w = {
        .reason = (uint8_t)reason, .waker_task = by, .waker_stack = gpu_fixture_stack(f, by_stack)};

    ev->stack = gpu_fixture_stack(f, stack);
    ev->attr = waits_add(&f->s.store.waits, &w);
}

/*
 * us: kernels 0..100, 1100..1200, 2200..2300. Before the second the main thread waits from 110 to 900 for a
 * worker; before the third from 1250 to 1550 for the GIL, from 1600 to 1650 for a CPU.
 */
static void world(struct gpu_fixture *f)
{
    const uint64_t us = 1000;
    uint32_t main, worker;

    gpu_fixture_init(f, 0, 3000 * us);
    main = gpu_fixture_task(f, "python3", 0);
    worker = gpu_fixture_task(f, "pt_data_worker", 0);
    gpu_fixture_launch(f, "k", KERNEL, main, 0, 0, 0, 100 * us);
    wait_on(f, gpu_fixture_event(f, EVENT_OFFCPU, main, 110 * us, 900 * us), WAIT_POLL, worker, "work;put",
            "train;DataLoader.__next__");
    sample(f, worker, 300 * us, "work;slow_transform");
    sample(f, worker, 500 * us, "work;slow_transform");
    sample(f, worker, 700 * us, "work;slow_transform");
    sample(f, worker, 800 * us, "work;put");
    sample(f, main, 950 * us, "train;collate");
    gpu_fixture_launch(f, "k", KERNEL, main, 1050 * us, 10 * us, 1100 * us, 1200 * us);
    sample(f, main, 1150 * us, "train;not_in_a_gap");
    wait_on(f, gpu_fixture_event(f, EVENT_GIL, main, 1250 * us, 1550 * us), WAIT_GIL, worker,
            "work;json_loads", "train;log");
    /* The same wait, as the scheduler saw it: it counts once. */
    wait_on(f, gpu_fixture_event(f, EVENT_OFFCPU, main, 1260 * us, 1540 * us), WAIT_FUTEX, worker, "work",
            "train;log");
    gpu_fixture_event(f, EVENT_RUNQ, main, 1600 * us, 1650 * us)->stack =
        gpu_fixture_stack(f, "train;forward");
    sample(f, main, 1700 * us, "train;forward");
    sample(f, main, 1800 * us, "train;forward");
    sample(f, main, 1900 * us, "train;collate");
    gpu_fixture_launch(f, "k", KERNEL, main, 2150 * us, 10 * us, 2200 * us, 2300 * us);
}

static void idle_time_by_what_the_thread_did(void **state)
{
    const uint64_t us = 1000;
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t, devices;
    union table_cell *r;

    world(&f);
    gpu_trace_init(&x, &f.s);
    gpu_blame_table(&t, &x, 0);
    gpu_devices_table(&devices, &x, 1, 0);
    add_up(&t, gpu_cell(&devices, 0, "idle_ns")->count);
    assert_int_equal(gpu_cell(&devices, 0, "idle_ns")->count, 2000 * us);
    table_release(&devices);

    r = row(&t, "off CPU: poll", "DataLoader.__next__");
    assert_ptr_equal(r, t.cells.a); /* the most comes first */
    assert_int_equal(of(&t, r, "ns")->count, 790 * us);
    assert_float_equal(of(&t, r, "share")->share, 0.395, 1e-9);
    assert_int_equal(of(&t, r, "gaps")->count, 1);
    assert_string_equal(of(&t, r, "thread")->text, "python3");
    assert_string_equal(of(&t, r, "by")->text, "pt_data_worker");
    assert_string_equal(of(&t, r, "meanwhile")->text, "slow_transform");
    assert_float_equal(of(&t, r, "meanwhile_share")->share, 0.75, 1e-6);
    assert_string_equal(of(&t, r, "stack")->text, "train;DataLoader.__next__");

    /* 760 us on a CPU, four samples. */
    r = row(&t, "on CPU", "forward");
    assert_int_equal(of(&t, r, "ns")->count, 380 * us);
    assert_int_equal(of(&t, r, "gaps")->count, 1);
    r = row(&t, "on CPU", "collate");
    assert_int_equal(of(&t, r, "ns")->count, 380 * us);
    assert_int_equal(of(&t, r, "gaps")->count, 2);

    r = row(&t, "GIL", "log");
    assert_int_equal(of(&t, r, "ns")->count, 300 * us);
    assert_string_equal(of(&t, r, "by")->text, "pt_data_worker");
    assert_string_equal(of(&t, r, "by_where")->text, "json_loads");
    assert_int_equal(of(&t, row(&t, "queued", "forward"), "ns")->count, 50 * us);
    r = row(&t, "asking", "cudaLaunchKernel");
    assert_int_equal(of(&t, r, "ns")->count, 20 * us);
    assert_int_equal(of(&t, r, "gaps")->count, 2);
    assert_int_equal(of(&t, row(&t, "starting", "cudaLaunchKernel"), "ns")->count, 80 * us);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* What was not walked is no function: a thread whose CPU was taken goes on where it was, of one that waits it
 * isn't known. */
static void stacks_over_budget(void **state)
{
    const uint64_t us = 1000;
    struct frame mark = {.kind = FRAME_MARKER};
    struct gpu_fixture f;
    struct gpu_trace x;
    struct event *ev;
    struct table t;
    uint32_t main, over;

    gpu_fixture_init(&f, 0, 3000 * us);
    main = gpu_fixture_task(&f, "python3", 0);
    mark.func = strtab_add(&f.s.store.strings, "[stack over budget]");
    over = stacks_push(&f.s.store.stacks, 0, frames_add(&f.s.store.frames, &mark));
    gpu_fixture_launch(&f, "k", KERNEL, main, 0, 0, 0, 100 * us);
    sample(&f, main, 50 * us, "train;tokenize");
    ev = gpu_fixture_event(&f, EVENT_RUNQ, main, 200 * us, 500 * us);
    ev->flags = EVENT_PREEMPTED;
    ev->stack = over;
    ev = gpu_fixture_event(&f, EVENT_OFFCPU, main, 600 * us, 700 * us);
    wait_on(&f, ev, WAIT_FUTEX, 0, "x", "x");
    ev->stack = over;
    gpu_fixture_launch(&f, "k", KERNEL, main, 900 * us, 10 * us, 1000 * us, 1100 * us);
    gpu_trace_init(&x, &f.s);
    gpu_blame_table(&t, &x, 0);
    assert_int_equal(of(&t, row(&t, "queued", "tokenize"), "ns")->count, 300 * us);
    assert_int_equal(of(&t, row(&t, "off CPU: futex", ""), "ns")->count, 100 * us);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* Nothing of the scheduler, no samples: what a trace of the framework tells. */
static void idle_time_by_the_innermost_call(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    uint32_t main;

    gpu_fixture_init(&f, 0, 3000);
    main = gpu_fixture_task(&f, "python3", 0);
    gpu_fixture_launch(&f, "k", KERNEL, main, 0, 0, 0, 100);
    gpu_fixture_gpu(&f, "aten::linear", (struct gpu_work){.op = GPU_OPERATOR}, main, 150, 1100);
    gpu_fixture_gpu(&f, "aten::empty", (struct gpu_work){.op = GPU_OPERATOR}, main, 300, 500);
    gpu_fixture_gpu(&f, "cudaMalloc", (struct gpu_work){.op = GPU_RUNTIME}, main, 350, 450);
    gpu_fixture_launch(&f, "k", KERNEL, main, 1000, 10, 1050, 1100);
    gpu_fixture_launch(&f, "k", KERNEL, main, 1020, 10, 1110, 1200); /* asked for before */
    gpu_fixture_gpu(&f, "k", KERNEL, 0, 1300, 1400);                 /* nobody asked */
    gpu_trace_init(&x, &f.s);
    gpu_blame_table(&t, &x, 0);
    add_up(&t, 950 + 10 + 100);
    assert_int_equal(of(&t, row(&t, "in a call", "aten::linear"), "ns")->count, 150 + 500);
    assert_int_equal(of(&t, row(&t, "in a call", "aten::empty"), "ns")->count, 100);
    assert_int_equal(of(&t, row(&t, "in a call", "cudaMalloc"), "ns")->count, 100);
    assert_int_equal(of(&t, row(&t, "unseen", ""), "ns")->count, 50);
    assert_int_equal(of(&t, row(&t, "asking", "cudaLaunchKernel"), "ns")->count, 10);
    assert_int_equal(of(&t, row(&t, "starting", "cudaLaunchKernel"), "ns")->count, 40);
    assert_int_equal(of(&t, row(&t, "asked in time", "cudaLaunchKernel"), "ns")->count, 10);
    assert_int_equal(of(&t, row(&t, "unknown", ""), "ns")->count, 100);
    table_release(&t);
    gpu_blame_table(&t, &x, 2);
    assert_int_equal(table_rows(&t), 2);
    assert_int_equal(t.left_out, 6);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* Switches but no samples of the thread: the time on the CPU is there, the place is not. */
static void time_without_samples_is_kept(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    uint32_t main;

    gpu_fixture_init(&f, 0, 3000);
    main = gpu_fixture_task(&f, "python3", 0);
    gpu_fixture_launch(&f, "k", KERNEL, main, 0, 0, 0, 100);
    gpu_fixture_event(&f, EVENT_OFFCPU, main, 50, 300);
    gpu_fixture_launch(&f, "k", KERNEL, main, 1000, 0, 1000, 1100);
    gpu_trace_init(&x, &f.s);
    gpu_blame_table(&t, &x, 0);
    add_up(&t, 900);
    assert_int_equal(of(&t, row(&t, "off CPU", ""), "ns")->count, 200);
    assert_int_equal(of(&t, row(&t, "on CPU", ""), "ns")->count, 700);
    assert_int_equal(of(&t, row(&t, "on CPU", ""), "gaps")->count, 1);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* Of three ranks: two mains are in forward, of the third one in load; and a worker of each, of one name, asks
 * in time. */
static void rank_of_three(struct gpu_fixture *f, unsigned rank, const char *where)
{
    struct store *s = &f->s.store;
    char name[] = "train:0";
    uint32_t main, worker;

    name[6] = (char)('0' + rank);
    *vec_push(&s->origins.list) = (struct origin){.session = strtab_add(&s->strings, name), .rank = rank + 1};
    main = gpu_fixture_task(f, name, 0);
    worker = gpu_fixture_task(f, "stager", main);
    s->tasks.list.a[main - 1].origin = s->tasks.list.a[worker - 1].origin = rank + 1;
    gpu_fixture_launch(f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = rank + 1}, main, 0, 0,
                       0, 100);
    gpu_fixture_event(f, EVENT_OFFCPU, main, 110, 900)->stack = gpu_fixture_stack(f, where);
    gpu_fixture_launch(f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = rank + 1}, main, 1000,
                       0, 1000, 1100);
    gpu_fixture_launch(f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = rank + 1}, worker,
                       1050, 0, 1200, 1300);
}

static void ranks_that_did_the_same_are_one_row(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t, each;
    union table_cell *r;

    gpu_fixture_init(&f, 0, 3000);
    rank_of_three(&f, 0, "train;forward");
    rank_of_three(&f, 1, "train;forward");
    rank_of_three(&f, 2, "train;load");
    gpu_trace_init(&x, &f.s);
    gpu_blame_table(&each, &x, 0);
    add_up(&each, 3000);
    gpu_blame_joined_table(&t, &x, 0);
    add_up(&t, 3000);
    assert_true(table_rows(&t) < table_rows(&each));

    r = row(&t, "off CPU", "forward");
    assert_int_equal(of(&t, r, "ns")->count, 2 * 790);
    assert_int_equal(of(&t, r, "gaps")->count, 2);
    assert_string_equal(of(&t, r, "thread")->text, "main [2 ranks]");
    assert_int_equal(of(&t, r, "tid")->count, 0);
    assert_string_equal(of(&t, row(&t, "off CPU", "load"), "thread")->text, "train:2 [rank 2]");
    assert_string_equal(of(&each, row(&each, "off CPU", "forward"), "thread")->text, "train:0 [rank 0]");
    r = row(&t, "asked in time", "cudaLaunchKernel");
    assert_string_equal(of(&t, r, "thread")->text, "stager [3 ranks]");
    assert_int_equal(of(&t, r, "ns")->count, 3 * 100);
    table_release(&each);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_time_by_what_the_thread_did),    cmocka_unit_test(stacks_over_budget),
        cmocka_unit_test(idle_time_by_the_innermost_call),     cmocka_unit_test(time_without_samples_is_kept),
        cmocka_unit_test(ranks_that_did_the_same_are_one_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
