/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on devices: how much there was at a time, and who asked for it. */
#include "analyze/gpu_memory.h"

#include "analyze/timeline.h"
#include "gpu_fixture.h"

static void act(struct gpu_fixture *f, unsigned op, uint16_t device, uint64_t bytes, uint64_t address,
                uint32_t stack, uint64_t ts)
{
    struct gpu_work w = {.op = (uint8_t)op, .device = device, .to = GPU_DEVICE, .bytes = bytes};
    struct event *ev = gpu_fixture_gpu(f, op == GPU_ALLOC ? "allocate" : "free", w, 1, ts, ts);

    ev->value = address;
    ev->stack = stack;
}

/* Weights stay, activations come and go; something from before is given back. */
static void world(struct gpu_fixture *f)
{
    uint32_t load, step;

    gpu_fixture_init(f, 1000, 5000);
    gpu_fixture_task(f, "python3", 0);
    load = gpu_fixture_stack(f, "main;load");
    step = gpu_fixture_stack(f, "main;step");
    act(f, GPU_ALLOC, 1, 1000, 0x10, load, 1100);
    act(f, GPU_ALLOC, 1, 300, 0x20, step, 1200);
    act(f, GPU_ALLOC, 2, 50, 0x10, step, 1250); /* another device's: the process has one space of addresses */
    act(f, GPU_FREE, 1, 0, 0x20, 0, 1300);
    act(f, GPU_ALLOC, 1, 500, 0x20, step, 1400);
    act(f, GPU_FREE, 1, 500, 0x20, 0, 1500);
    act(f, GPU_ALLOC, 1, 200, 0x30, load, 1600);
    act(f, GPU_FREE, 1, 77, 0x99, 0, 1700);
    gpu_fixture_launch(f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .stream = 7}, 1, 1800, 10,
                       1900, 2000);
}

static void pools_in_numbers(void **state)
{
    struct gpu_fixture f;
    struct gpu_memory m;
    struct table t;

    (void)state;
    world(&f);
    gpu_memory_init(&m, &f.s.store);
    gpu_memory_table(&t, &m, 1000);
    assert_int_equal(table_rows(&t), 2);
    assert_string_equal(gpu_cell(&t, 0, "device")->text, "GPU 0");
    assert_string_equal(gpu_cell(&t, 0, "memory")->text, "device");
    assert_int_equal(gpu_cell(&t, 0, "allocations")->count, 4);
    assert_int_equal(gpu_cell(&t, 0, "frees")->count, 2);
    assert_int_equal(gpu_cell(&t, 0, "bytes")->count, 2000);
    assert_int_equal(gpu_cell(&t, 0, "peak_bytes")->count, 1500);
    assert_int_equal(gpu_cell(&t, 0, "peak_ns")->count, 400);
    assert_int_equal(gpu_cell(&t, 0, "held_bytes")->count, 1200);
    assert_int_equal(gpu_cell(&t, 0, "unknown_frees")->count, 1);
    assert_int_equal(gpu_cell(&t, 1, "id")->count, 1);
    assert_int_equal(gpu_cell(&t, 1, "held_bytes")->count, 50);
    table_release(&t);
    gpu_memory_release(&m);
    gpu_fixture_release(&f);
}

static void who_asked(void **state)
{
    struct gpu_fixture f;
    struct gpu_memory m;
    struct table t;

    (void)state;
    world(&f);
    gpu_memory_init(&m, &f.s.store);
    gpu_memory_askers(&t, &m, 2);
    assert_int_equal(table_rows(&t), 2);
    assert_int_equal(t.left_out, 1);
    assert_string_equal(gpu_cell(&t, 0, "where")->text, "load");
    assert_int_equal(gpu_cell(&t, 0, "peak_bytes")->count, 1000);
    assert_int_equal(gpu_cell(&t, 0, "held_bytes")->count, 1200);
    assert_string_equal(gpu_cell(&t, 1, "where")->text, "step");
    assert_int_equal(gpu_cell(&t, 1, "allocations")->count, 2);
    assert_int_equal(gpu_cell(&t, 1, "frees")->count, 2);
    assert_int_equal(gpu_cell(&t, 1, "bytes")->count, 800);
    assert_int_equal(gpu_cell(&t, 1, "peak_bytes")->count, 500);
    assert_int_equal(gpu_cell(&t, 1, "held_bytes")->count, 0);
    assert_int_equal((int)(gpu_cell(&t, 1, "peak_share")->share * 300 + 0.5), 100);
    table_release(&t);
    gpu_memory_release(&m);
    gpu_fixture_release(&f);
}

static void lanes(void **state)
{
    static const uint64_t points[][2] = {{100, 1000}, {200, 1300}, {300, 1000},
                                         {400, 1500}, {500, 1000}, {600, 1200}};
    struct gpu_fixture f;
    struct timeline t;
    unsigned found = 0;

    (void)state;
    world(&f);
    timeline_build(&t, &f.s, &(struct timeline_opts){0});
    for (size_t i = 0; i < t.lanes.n; i++) {
        const struct timeline_lane *l = &t.lanes.a[i];
        const char *name = strtab_get(&t.stacks.strings, l->name);

        if (!strcmp(name, "allocated")) { /* of the device that something ran on */
            assert_true(t.processes.a[l->process].device);
            assert_int_equal(l->n, ARRAY_SIZE(points));
            for (size_t k = 0; k < ARRAY_SIZE(points); k++) {
                assert_int_equal(t.points.a[l->first + k].ts, points[k][0]);
                assert_int_equal(t.points.a[l->first + k].value, points[k][1]);
            }
            found++;
        } else if (!strcmp(name, "allocated: GPU 1")) {
            assert_int_equal(l->process, 0);
            assert_int_equal(l->n, 1);
            found++;
        }
    }
    assert_int_equal(found, 2);
    timeline_release(&t);
    gpu_fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_in_numbers),
        cmocka_unit_test(who_asked),
        cmocka_unit_test(lanes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
