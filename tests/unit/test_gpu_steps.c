/* SPDX-License-Identifier: Apache-2.0 */
/* What devices did in steps, marked ones and such that are found. */
#include "analyze/gpu_period.h"
#include "analyze/gpu_ranks.h"
#include "analyze/gpu_steps.h"
#include "base/hash.h"
#include "gpu_fixture.h"

#include <stdio.h>

#define KERNEL ((struct gpu_work){.op = GPU_KERNEL, .device = 1, .stream = 7})

static void mark(struct gpu_fixture *f, const char *text, uint32_t task, uint64_t from, uint64_t to)
{
    gpu_fixture_event(f, EVENT_MARKER, task, from, to)->metric = strtab_add(&f->s.store.strings, text);
}

/* What the program calls them, where it marks no steps. */
static void marked_iterations(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    uint32_t a;

    gpu_fixture_init(&f, 1000, 10000);
    a = gpu_fixture_task(&f, "train", 0);
    for (uint64_t i = 0; i < 4; i++) {
        char text[32];

        snprintf(text, sizeof(text), "iteration %u", (unsigned)i);
        mark(&f, text, a, 1000 + i * 1000, 1900 + i * 1000);
        gpu_fixture_launch(&f, "k", (struct gpu_work){.op = GPU_KERNEL}, a, 1100 + i * 1000, 10,
                           1200 + i * 1000, 1500 + i * 1000);
    }
    gpu_trace_init(&x, &f.s);
    assert_int_equal(gpu_steps_table(&t, &f.s, &x, 0), GPU_STEPS_MARKS);
    assert_int_equal(table_rows(&t), 4);
    assert_string_equal(gpu_cell(&t, 0, "step")->text, "iteration 0");
    assert_int_equal(gpu_cell(&t, 0, "busy_ns")->count, 300);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

static void marked_steps(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    uint32_t a, b;

    gpu_fixture_init(&f, 1000, 10000);
    a = gpu_fixture_task(&f, "rank0", 0);
    b = gpu_fixture_task(&f, "rank1", 0);
    mark(&f, "step 1", a, 2000, 3000);
    mark(&f, "step 2", a, 3000, 5000);
    mark(&f, "step 3", a, 5000, 6000);
    mark(&f, "step 1", b, 2000, 3500);
    gpu_fixture_launch(&f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = 1}, a, 2100, 10,
                       2500, 3100);
    gpu_fixture_launch(&f, "ncclKernel",
                       (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = 1, .stream = 9}, a, 2700, 10,
                       2900, 3200);
    gpu_fixture_launch(&f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .rank = 2}, b, 2100, 10,
                       3000, 4000);
    gpu_trace_init(&x, &f.s);
    assert_int_equal(gpu_steps_table(&t, &f.s, &x, 0), GPU_STEPS_MARKS);
    assert_int_equal(table_rows(&t), 4); /* each with its own rank's device alone */
    for (size_t i = 0; i < 4; i++) {
        const char *step = gpu_cell(&t, i, "step")->text, *device = gpu_cell(&t, i, "device")->text;

        if (!strcmp(device, "rank 1 GPU 0")) {
            assert_string_equal(step, "step 1");
            assert_int_equal(gpu_cell(&t, i, "busy_ns")->count, 500);
            continue;
        }
        if (!strcmp(step, "step 1")) {
            assert_int_equal(gpu_cell(&t, i, "start_ns")->count, 1000);
            assert_int_equal(gpu_cell(&t, i, "busy_ns")->count, 500);
            assert_int_equal(gpu_cell(&t, i, "idle_ns")->count, 500);
            assert_int_equal(gpu_cell(&t, i, "comm_ns")->count, 100);
            assert_int_equal(gpu_cell(&t, i, "exposed_ns")->count, 0);
            assert_int_equal(gpu_cell(&t, i, "started")->count, 2);
        } else if (!strcmp(step, "step 2")) {
            assert_int_equal(gpu_cell(&t, i, "busy_ns")->count, 200);
            assert_int_equal(gpu_cell(&t, i, "exposed_ns")->count, 100);
            assert_float_equal(gpu_cell(&t, i, "exposed_share")->share, 0.05, 1e-9);
            assert_int_equal(gpu_cell(&t, i, "started")->count, 0);
        } else {
            assert_int_equal(gpu_cell(&t, i, "busy_ns")->count, 0);
        }
    }
    table_release(&t);
    gpu_steps_table(&t, &f.s, &x, 1); /* the longest */
    assert_int_equal(table_rows(&t), 1);
    assert_string_equal(gpu_cell(&t, 0, "step")->text, "step 2");
    assert_string_equal(gpu_cell(&t, 0, "note")->text, "slow");
    assert_int_equal(t.left_out, 3);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* load, then two layers that are nearly alike, then the optimizer; a pause before each load. */
static void steps_by_their_order(void **state)
{
    static const char *const names[] = {"load", "mm", "relu", "norm", "mm", "relu", "drop", "adam"};
    struct gpu_ranges periods = {0};
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    uint64_t at = 0;

    gpu_fixture_init(&f, 0, 100000);
    for (size_t step = 0; step < 6; step++) {
        at += 500;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++, at += 110)
            gpu_fixture_gpu(&f, step == 3 && i == 6 ? "dropped" : names[i], KERNEL, 0, at, at + 100);
    }
    gpu_trace_init(&x, &f.s);
    assert_int_equal(gpu_period_find(&periods, &x), ARRAY_SIZE(names));
    assert_int_equal(periods.list.n, 5); /* where the sixth ends nobody can tell */
    assert_int_equal(periods.list.a[0].start, 500);
    assert_int_equal(periods.list.a[1].start, 500 + 880 + 500);
    assert_int_equal(periods.list.a[0].end, periods.list.a[1].start);
    gpu_ranges_release(&periods);
    assert_int_equal(gpu_steps_table(&t, &f.s, &x, 0), GPU_STEPS_PERIOD);
    assert_int_equal(table_rows(&t), 5);
    assert_int_equal(gpu_cell(&t, 2, "busy_ns")->count, 800);
    assert_int_equal(gpu_cell(&t, 2, "started")->count, 8);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* Five layers of the same kernels are a step, where the pauses are before each fifth; a pause that comes once
 * makes no step of them. */
static size_t period_of(int pauses)
{
    static const char *const names[] = {"mm", "relu", "norm"};
    struct gpu_ranges periods = {0};
    struct gpu_fixture f;
    struct gpu_trace x;
    uint64_t at = 0;
    size_t lag;

    gpu_fixture_init(&f, 0, 1000000);
    for (size_t layer = 0; layer < 60; layer++) {
        at += pauses && layer % 5 == 2 ? 2000 : layer == 31 ? 900 : 0;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++, at += 110)
            gpu_fixture_gpu(&f, names[i], KERNEL, 0, at, at + 100);
    }
    gpu_trace_init(&x, &f.s);
    lag = gpu_period_find(&periods, &x);
    if (pauses)
        assert_int_equal(periods.list.a[1].end - periods.list.a[1].start, 5 * 3 * 110 + 2000);
    gpu_ranges_release(&periods);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
    return lag;
}

static void layers_of_a_step(void **state)
{
    assert_int_equal(period_of(1), 15);
    assert_int_equal(period_of(0), 3);
}

enum { US = 1000, MS = 1000000 };

static void collective(struct gpu_fixture *f, const char *name, unsigned rank, uint64_t from, uint64_t to)
{
    const struct gpu_work w = {
        .op = GPU_KERNEL, .device = (uint16_t)(rank + 1), .rank = (uint16_t)(rank + 1)};

    gpu_fixture_gpu(f, name, w, 0, from, to);
}

/* Rank 1 comes to two of three collectives last; what only one rank has says nothing. */
static void who_came_last(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;

    gpu_fixture_init(&f, 0, 100 * MS);
    collective(&f, "ncclKernel_AllReduce", 0, 1000 * US, 1900 * US);
    collective(&f, "ncclKernel_AllReduce", 0, 2000 * US, 2800 * US);
    collective(&f, "ncclKernel_AllGather", 0, 3000 * US, 3100 * US);
    collective(&f, "ncclKernel_Broadcast", 0, 4000 * US, 4100 * US);
    collective(&f, "ncclKernel_AllGather", 1, 77400 * US, 77600 * US); /* its clock is another one */
    collective(&f, "ncclKernel_AllReduce", 1, 76700 * US, 77300 * US);
    collective(&f, "ncclKernel_AllReduce", 1, 76300 * US, 76400 * US);
    gpu_trace_init(&x, &f.s);
    gpu_ranks_table(&t, &x, 0);
    assert_int_equal(table_rows(&t), 2);
    assert_int_equal(gpu_cell(&t, 1, "rank")->count, 1);
    assert_int_equal(gpu_cell(&t, 0, "collectives")->count, 3);
    assert_int_equal(gpu_cell(&t, 0, "alone")->count, 1);
    assert_int_equal(gpu_cell(&t, 1, "alone")->count, 0);
    assert_int_equal(gpu_cell(&t, 0, "last")->count, 1);
    assert_int_equal(gpu_cell(&t, 1, "last")->count, 2);
    assert_int_equal(gpu_cell(&t, 0, "waited_ns")->count, (800 + 200) * US);
    assert_int_equal(gpu_cell(&t, 1, "waited_ns")->count, 100 * US);
    assert_int_equal(gpu_cell(&t, 1, "comm_ns")->count, 900 * US);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* Rank 0 has one more at the beginning, rank 1 lacks one in the middle, and has one that rank 0 lacks: equal
 * numbers, and none of them is the same one. Clocks are 3 s apart in the second round. */
static void the_same_end_at_a_time(void **state)
{
    for (uint64_t apart = 0; apart < 2; apart++) {
        struct gpu_fixture f;
        struct gpu_trace x;
        struct table t;

        gpu_fixture_init(&f, 0, 10000ull * MS);
        for (uint64_t i = 0; i < 10; i++) {
            uint64_t end = (100 + i * i * 20) * MS;

            collective(&f, "ncclKernel_AllReduce", 0, end - 5 * MS, end);
            end += apart * 3000 * MS + 40 * US;
            if (i && i != 5)
                collective(&f, "ncclKernel_AllReduce", 1, end - 2 * MS, end);
        }
        collective(&f, "ncclKernel_AllReduce", 1, (apart * 3000 + 2500) * MS, (apart * 3000 + 2590) * MS);
        collective(&f, "ncclKernel_AllReduce", 1, (apart * 3000 + 2600) * MS, (apart * 3000 + 2690) * MS);
        gpu_trace_init(&x, &f.s);
        gpu_ranks_table(&t, &x, 0);
        assert_int_equal(gpu_cell(&t, 0, "collectives")->count, 8);
        assert_int_equal(gpu_cell(&t, 0, "alone")->count, 2);
        assert_int_equal(gpu_cell(&t, 1, "alone")->count, 2);
        assert_int_equal(gpu_cell(&t, 0, "last")->count, 0);
        assert_int_equal(gpu_cell(&t, 1, "last")->count, 8);
        assert_int_equal(gpu_cell(&t, 0, "waited_ns")->count, 8 * 3 * MS);
        assert_int_equal(gpu_cell(&t, 1, "waited_ns")->count, 0);
        table_release(&t);
        gpu_trace_release(&x);
        gpu_fixture_release(&f);
    }
}

/* Where all took as long nobody was late. */
static void equal_is_not_late(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;

    gpu_fixture_init(&f, 0, 1000 * MS);
    for (uint64_t i = 1; i < 10; i++)
        for (unsigned rank = 0; rank < 3; rank++)
            collective(&f, "ncclKernel_AllReduce", rank, i * 10 * MS, (i * 10 + 3) * MS + rank * 10 * US);
    gpu_trace_init(&x, &f.s);
    gpu_ranks_table(&t, &x, 0);
    for (size_t rank = 0; rank < 3; rank++) {
        assert_int_equal(gpu_cell(&t, rank, "collectives")->count, 9);
        assert_int_equal(gpu_cell(&t, rank, "last")->count, 0);
        assert_int_equal(gpu_cell(&t, rank, "waited_ns")->count, 0);
    }
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

static void no_order_no_steps(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    char name[] = "a";

    /* One kernel again and again is a step of nothing. */
    for (int random = 0; random < 2; random++) {
        gpu_fixture_init(&f, 0, 100000);
        for (uint64_t i = 0; i < 60; i++) {
            name[0] = (char)('a' + (random ? hash_u64(i) % 23 : 0));
            gpu_fixture_gpu(&f, name, KERNEL, 0, 100 * i, 100 * i + 50);
        }
        gpu_trace_init(&x, &f.s);
        assert_int_equal(gpu_steps_table(&t, &f.s, &x, 0), GPU_STEPS_NONE);
        assert_int_equal(table_rows(&t), 0);
        table_release(&t);
        gpu_trace_release(&x);
        gpu_fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marked_steps),         cmocka_unit_test(marked_iterations),
        cmocka_unit_test(steps_by_their_order), cmocka_unit_test(layers_of_a_step),
        cmocka_unit_test(who_came_last),        cmocka_unit_test(the_same_end_at_a_time),
        cmocka_unit_test(equal_is_not_late),    cmocka_unit_test(no_order_no_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
