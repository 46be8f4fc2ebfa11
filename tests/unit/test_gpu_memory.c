/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on devices: how much there was at a time, and who asked for it. */
#include "analyze/gpu_memory.h"

#include "analyze/fold.h"
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

static void folded(const struct gpu_fixture *f, const char *metric, const char *expected)
{
    struct fold_opts o = {.metric = metric};
    struct buf text = {0};
    struct profile p;
    struct err e;

    assert_true(fold_has(&f->s.store, metric));
    assert_int_equal(fold_profile(&p, &f->s, &o, &e), 0);
    fold_text(&p, 0, &text);
    assert_string_equal(buf_str(&text), expected);
    assert_string_equal(p.metrics.a[0].unit, "bytes");
    profile_release(&p);
    buf_release(&text);
}

/* Bytes by stack: all that was allocated, and what was there when each device had the most. */
static void flames(void **state)
{
    struct gpu_fixture f;

    (void)state;
    world(&f);
    folded(&f, "alloc",
           "python3;main (t.py);load (t.py);[GPU 0 device memory] 1200\n"
           "python3;main (t.py);step (t.py);[GPU 0 device memory] 800\n"
           "python3;main (t.py);step (t.py);[GPU 1 device memory] 50\n");
    folded(&f, "alloc-peak",
           "python3;main (t.py);load (t.py);[GPU 0 device memory] 1000\n"
           "python3;main (t.py);step (t.py);[GPU 0 device memory] 500\n"
           "python3;main (t.py);step (t.py);[GPU 1 device memory] 50\n");
    gpu_fixture_release(&f);
}

/* Where no addresses are told, what is given back is the last of that size. */
static void flames_by_size(void **state)
{
    struct gpu_fixture f;
    uint32_t load, step;

    (void)state;
    gpu_fixture_init(&f, 1000, 5000);
    gpu_fixture_task(&f, "python3", 0);
    load = gpu_fixture_stack(&f, "main;load");
    step = gpu_fixture_stack(&f, "main;step");
    act(&f, GPU_ALLOC, 1, 100, 0, load, 1100);
    act(&f, GPU_ALLOC, 1, 100, 0, step, 1200);
    act(&f, GPU_FREE, 1, 100, 0, 0, 1300);
    act(&f, GPU_FREE, 1, 64, 0, 0, 1350); /* of a size that was never allocated */
    act(&f, GPU_ALLOC, 1, 250, 0, step, 1400);
    folded(&f, "alloc",
           "python3;main (t.py);load (t.py);[GPU 0 device memory] 100\n"
           "python3;main (t.py);step (t.py);[GPU 0 device memory] 350\n");
    folded(&f, "alloc-peak",
           "python3;main (t.py);load (t.py);[GPU 0 device memory] 100\n"
           "python3;main (t.py);step (t.py);[GPU 0 device memory] 250\n");
    gpu_fixture_release(&f);
}

static void no_flames(void **state)
{
    struct fold_opts o = {.metric = "alloc"};
    struct gpu_fixture f;
    struct profile p;
    struct err e;

    (void)state;
    gpu_fixture_init(&f, 1000, 5000);
    gpu_fixture_task(&f, "python3", 0);
    gpu_fixture_launch(&f, "k", (struct gpu_work){.op = GPU_KERNEL, .device = 1, .stream = 7}, 1, 1800, 10,
                       1900, 2000);
    assert_false(fold_has(&f.s.store, "alloc"));
    assert_false(fold_has(&f.s.store, "alloc-peak"));
    assert_int_equal(fold_profile(&p, &f.s, &o, &e), -1);
    assert_string_equal(e.msg, "no metric 'alloc' in this session (it has: gpu)");
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
        cmocka_unit_test(pools_in_numbers), cmocka_unit_test(who_asked), cmocka_unit_test(flames),
        cmocka_unit_test(flames_by_size),   cmocka_unit_test(no_flames), cmocka_unit_test(lanes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
