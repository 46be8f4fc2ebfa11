/* SPDX-License-Identifier: Apache-2.0 */
/* What devices did and why they didn't, in numbers that are known beforehand. */
#include "analyze/cut.h"
#include "analyze/fold.h"
#include "analyze/gpu_busy.h"
#include "analyze/gpu_calls.h"
#include "analyze/gpu_kernels.h"
#include "analyze/gpu_ranges.h"
#include "gpu_fixture.h"

#include <math.h>

#define KERNEL(s, ...)                                                                                       \
    ((struct gpu_work){.op = GPU_KERNEL, .device = 1, .context = 1, .stream = (s), __VA_ARGS__})

static void unions_of_time(void **state)
{
    struct gpu_ranges a = {0}, b = {0}, gaps = {0};

    gpu_ranges_add(&a, 50, 60);
    gpu_ranges_add(&a, 10, 20);
    gpu_ranges_add(&a, 15, 15);
    gpu_ranges_add(&a, 18, 30);
    gpu_ranges_add(&a, 30, 31);
    gpu_ranges_add(&a, 11, 12);
    gpu_ranges_settle(&a);
    assert_int_equal(a.list.n, 2);
    assert_int_equal(gpu_ranges_sum(&a), 31);
    gpu_ranges_add(&b, 0, 11);
    gpu_ranges_add(&b, 30, 55);
    assert_int_equal(gpu_ranges_common(&a, &b), 1 + 1 + 5);
    assert_int_equal(gpu_ranges_common(&b, &a), 7);
    gpu_ranges_gaps(&gaps, &a, (struct gpu_range){5, 70});
    assert_int_equal(gaps.list.n, 3);
    assert_int_equal(gpu_ranges_sum(&gaps), 65 - 31);
    assert_int_equal(gpu_ranges_find(&a, 31), 1);
    assert_int_equal(gpu_ranges_find(&a, 60), 2);
    gpu_ranges_release(&gaps);
    gpu_ranges_release(&a);
    gpu_ranges_release(&b);
    gpu_ranges_settle(&a);
    assert_int_equal(gpu_ranges_sum(&a), 0);
}

/*
 * us:      100   200   300   400          500
 * stream 7 [a      ]                [b     ][a]   a 100..250, b 400..500, a 510..520
 * stream 9     [nccl     ]                        150..300
 * stream 9                                  [H2D]  515..535
 */
static void world(struct gpu_fixture *f)
{
    uint32_t main;

    gpu_fixture_init(f, 0, 1000000);
    main = gpu_fixture_task(f, "python3", 0);
    gpu_fixture_launch(f, "a", KERNEL(7, .occupancy = 501), main, 80000, 5000, 100000, 250000)->stack =
        gpu_fixture_stack(f, "main;step");
    gpu_fixture_launch(f, "ncclKernel_AllReduce", KERNEL(9), main, 90000, 5000, 150000, 300000);
    gpu_fixture_launch(f, "b", KERNEL(7, .graph = 3, .node = 4), main, 390000, 4000, 400000, 500000)->stack =
        gpu_fixture_stack(f, "main;evaluate");
    gpu_fixture_launch(f, "a", KERNEL(7, .occupancy = 1001), main, 395000, 4000, 510000, 520000);
    gpu_fixture_launch(f, "Memcpy HtoD",
                       ((struct gpu_work){.op = GPU_COPY,
                                          .device = 1,
                                          .context = 1,
                                          .stream = 9,
                                          .from = GPU_PINNED,
                                          .to = GPU_DEVICE,
                                          .bytes = 200000}),
                       main, 396000, 4000, 515000, 535000);
}

static void devices_in_numbers(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;

    world(&f);
    gpu_trace_init(&x, &f.s);
    gpu_devices_table(&t, &x, 0, 0);
    assert_int_equal(table_rows(&t), 1);
    assert_string_equal(gpu_cell(&t, 0, "device")->text, "GPU 0");
    assert_int_equal(gpu_cell(&t, 0, "id")->count, 0);
    assert_int_equal(gpu_cell(&t, 0, "rank")->count, TABLE_NONE);
    assert_int_equal(gpu_cell(&t, 0, "span_ns")->count, 435000);
    assert_int_equal(gpu_cell(&t, 0, "busy_ns")->count, 200000 + 100000 + 25000);
    assert_int_equal(gpu_cell(&t, 0, "idle_ns")->count, 110000);
    assert_int_equal(gpu_cell(&t, 0, "compute_ns")->count, 260000);
    assert_int_equal(gpu_cell(&t, 0, "comm_ns")->count, 150000);
    assert_int_equal(gpu_cell(&t, 0, "overlap_ns")->count, 100000);
    assert_int_equal(gpu_cell(&t, 0, "exposed_ns")->count, 50000);
    assert_int_equal(gpu_cell(&t, 0, "copy_ns")->count, 20000);
    assert_int_equal(gpu_cell(&t, 0, "copy_overlap_ns")->count, 5000);
    assert_int_equal(gpu_cell(&t, 0, "idle_host_ns")->count, 100000); /* asked for at 390, idle from 300 */
    assert_int_equal(gpu_cell(&t, 0, "idle_kernel_ns")->count, 10000);
    assert_int_equal(gpu_cell(&t, 0, "idle_other_ns")->count, 0);
    assert_int_equal(gpu_cell(&t, 0, "kernel_count")->count, 4);
    assert_int_equal(gpu_cell(&t, 0, "copy_count")->count, 1);
    assert_int_equal(gpu_cell(&t, 0, "latency_median_ns")->count, 55000); /* 6, 15, 55, 111, 115 us */
    assert_int_equal(gpu_cell(&t, 0, "latency_max_ns")->count, 115000);
    assert_int_equal(gpu_cell(&t, 0, "before_ns")->count, 100000);
    assert_int_equal(gpu_cell(&t, 0, "after_ns")->count, 465000);
    assert_float_equal(gpu_cell(&t, 0, "busy_share")->share, 325.0 / 435, 1e-9);
    table_release(&t);
    gpu_devices_table(&t, &x, 1, 0);
    assert_int_equal(gpu_cell(&t, 0, "idle_ns")->count, 110000);
    table_release(&t);
    assert_int_equal(x.odd.unlaunched + x.odd.early + x.odd.no_time + x.odd.no_device + x.odd.no_work, 0);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

static void streams_in_numbers(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;

    world(&f);
    gpu_trace_init(&x, &f.s);
    gpu_streams_table(&t, &x, 0, 0);
    assert_int_equal(table_rows(&t), 2);
    assert_int_equal(gpu_cell(&t, 0, "stream")->count, 7);
    assert_int_equal(gpu_cell(&t, 0, "pid")->count, 100);
    assert_int_equal(gpu_cell(&t, 0, "busy_ns")->count, 260000);
    assert_int_equal(gpu_cell(&t, 0, "idle_ns")->count, 160000);
    assert_int_equal(gpu_cell(&t, 0, "idle_host_ns")->count, 150000);
    assert_int_equal(gpu_cell(&t, 0, "queue_max")->count, 2);
    /* one from 80 to 100, from 390 to 395, from 400 to 510; two from 395 to 400; of 430 us */
    assert_float_equal(gpu_cell(&t, 0, "queue_mean")->share, (20 + 5 + 110 + 2 * 5) / 430.0, 1e-9);
    assert_int_equal(gpu_cell(&t, 1, "stream")->count, 9);
    assert_int_equal(gpu_cell(&t, 1, "idle_ns")->count, 215000);
    table_release(&t);
    gpu_streams_table(&t, &x, UINT32_MAX, 0);
    assert_int_equal(table_rows(&t), 2);
    table_release(&t);
    gpu_streams_table(&t, &x, UINT32_MAX, 1); /* the busier one */
    assert_int_equal(table_rows(&t), 1);
    assert_int_equal(t.left_out, 1);
    assert_int_equal(gpu_cell(&t, 0, "stream")->count, 7);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

static void kernels_in_numbers(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;

    world(&f);
    gpu_trace_init(&x, &f.s);
    gpu_kernels_table(&t, &x, 0, 2);
    assert_int_equal(table_rows(&t), 2);
    assert_int_equal(t.left_out, 1);
    assert_string_equal(gpu_cell(&t, 0, "name")->text, "a");
    assert_int_equal(gpu_cell(&t, 0, "count")->count, 2);
    assert_int_equal(gpu_cell(&t, 0, "total_ns")->count, 160000);
    assert_int_equal(gpu_cell(&t, 0, "self_ns")->count, 50000 + 5000);
    assert_int_equal(gpu_cell(&t, 0, "max_ns")->count, 150000);
    assert_float_equal(gpu_cell(&t, 0, "sm_util")->share, (0.5 * 150 + 1.0 * 10) / 160, 1e-9);
    assert_string_equal(gpu_cell(&t, 1, "name")->text, "ncclKernel_AllReduce");
    assert_int_equal(gpu_cell(&t, 1, "self_ns")->count, 50000);
    assert_true(isnan(gpu_cell(&t, 1, "sm_util")->share));
    table_release(&t);
    gpu_copies_table(&t, &x, UINT32_MAX);
    assert_int_equal(table_rows(&t), 1);
    assert_string_equal(gpu_cell(&t, 0, "what")->text, "copy pinned -> device");
    assert_string_equal(gpu_cell(&t, 0, "rate")->text, "10.00 GB/s");
    assert_int_equal(gpu_cell(&t, 0, "small")->count, 0);
    table_release(&t);
    gpu_nodes_table(&t, &x, 0);
    assert_int_equal(table_rows(&t), 1);
    assert_int_equal(gpu_cell(&t, 0, "graph")->count, 3);
    assert_int_equal(gpu_cell(&t, 0, "node")->count, 4);
    assert_string_equal(gpu_cell(&t, 0, "name")->text, "b");
    assert_string_equal(gpu_cell(&t, 0, "where")->text, "evaluate");
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* Copies whose bytes are not told, as in AMD's traces, have no rate; copies to another device are apart. */
static void copies_of_unknown_size(void **state)
{
    const struct gpu_work host = {.op = GPU_COPY, .device = 1, .from = GPU_HOST, .to = GPU_DEVICE},
                          dtod = {.op = GPU_COPY,
                                  .device = 1,
                                  .from = GPU_DEVICE,
                                  .to = GPU_DEVICE,
                                  .bytes = 4000};
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;

    gpu_fixture_init(&f, 0, 100000);
    gpu_fixture_gpu(&f, "Memcpy HtoD (Host -> Device)", host, 0, 1000, 31000);
    gpu_fixture_gpu(&f, "Memcpy DtoD (Device -> Device)", dtod, 0, 40000, 50000);
    gpu_fixture_gpu(&f, "Memcpy PtoP (Device -> Device)", dtod, 0, 60000, 80000);
    gpu_trace_init(&x, &f.s);
    gpu_copies_table(&t, &x, UINT32_MAX);
    assert_int_equal(table_rows(&t), 3);
    assert_string_equal(gpu_cell(&t, 0, "what")->text, "copy host -> device");
    assert_int_equal(gpu_cell(&t, 0, "bytes")->count, TABLE_NONE);
    assert_int_equal(gpu_cell(&t, 0, "mean_bytes")->count, TABLE_NONE);
    assert_int_equal(gpu_cell(&t, 0, "small")->count, TABLE_NONE);
    assert_null(gpu_cell(&t, 0, "rate")->text);
    assert_string_equal(gpu_cell(&t, 1, "what")->text, "copy device -> another device");
    assert_string_equal(gpu_cell(&t, 1, "rate")->text, "0.20 GB/s");
    assert_string_equal(gpu_cell(&t, 2, "what")->text, "copy device -> device");
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

/* cudaStreamSynchronize and what CUPTI tells of the same wait are one. */
static void stalls_count_once(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    uint32_t main;

    gpu_fixture_init(&f, 0, 1000);
    main = gpu_fixture_task(&f, "python3", 0);
    gpu_fixture_gpu(&f, "Stream Synchronize", (struct gpu_work){.op = GPU_SYNC, .stream = 7}, main, 110, 190)
        ->stack = gpu_fixture_stack(&f, "main;item");
    gpu_fixture_gpu(&f, "cudaStreamSynchronize", (struct gpu_work){.op = GPU_RUNTIME}, main, 100, 200)
        ->stack = gpu_fixture_stack(&f, "main;item");
    gpu_fixture_gpu(&f, "cudaDeviceSynchronize", (struct gpu_work){.op = GPU_RUNTIME, .result = 1}, main, 400,
                    450);
    gpu_fixture_gpu(&f, "Stream Wait Event", (struct gpu_work){.op = GPU_SYNC}, main, 600, 650);
    gpu_trace_init(&x, &f.s);
    assert_int_equal(x.calls, 4);
    gpu_stalls_table(&t, &x, 0);
    assert_int_equal(table_rows(&t), 2);
    assert_string_equal(gpu_cell(&t, 0, "name")->text, "cudaStreamSynchronize");
    assert_string_equal(gpu_cell(&t, 0, "where")->text, "item");
    assert_int_equal(gpu_cell(&t, 0, "ns")->count, 100);
    assert_int_equal(gpu_cell(&t, 0, "tid")->count, 100);
    assert_float_equal(gpu_cell(&t, 0, "share")->share, 0.1, 1e-9);
    table_release(&t);
    gpu_calls_table(&t, &x, 3);
    assert_int_equal(table_rows(&t), 3);
    assert_int_equal(t.left_out, 1);
    assert_int_equal(gpu_cell(&t, 2, "total_ns")->count, 50);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

static void odd_records_are_counted(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;

    gpu_fixture_init(&f, 0, 1000);
    gpu_fixture_event(&f, EVENT_GPU, 0, 1, 2)->attr = 99;
    gpu_fixture_gpu(&f, "?", (struct gpu_work){.op = 200}, 0, 5, 6);
    gpu_fixture_gpu(&f, "instant", KERNEL(7), 0, 100, 100);
    gpu_fixture_gpu(&f, "nowhere", (struct gpu_work){.op = GPU_KERNEL}, 0, 100, 110);
    gpu_fixture_launch(&f, "early", KERNEL(7), 0, 500, 10, 400, 420);
    gpu_trace_init(&x, &f.s);
    assert_int_equal(x.odd.no_work, 1);
    assert_int_equal(x.odd.unknown, 1);
    assert_int_equal(x.odd.no_time, 1);
    assert_int_equal(x.odd.no_device, 1);
    assert_int_equal(x.odd.unlaunched, 2);
    assert_int_equal(x.odd.early, 1);
    gpu_devices_table(&t, &x, 0, 0);
    assert_int_equal(table_rows(&t), 2);
    assert_string_equal(gpu_cell(&t, 0, "device")->text, "GPU ?");
    assert_int_equal(gpu_cell(&t, 0, "id")->count, TABLE_NONE);
    assert_int_equal(gpu_cell(&t, 1, "kernel_count")->count, 2);
    assert_int_equal(gpu_cell(&t, 1, "busy_ns")->count, 20);
    table_release(&t);
    gpu_kernels_table(&t, &x, 1, 0);
    assert_int_equal(table_rows(&t), 2);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
    gpu_fixture_init(&f, 0, 10);
    gpu_trace_init(&x, &f.s);
    gpu_kernels_table(&t, &x, UINT32_MAX, 0);
    assert_int_equal(table_rows(&t), 0);
    gpu_trace_release(&x);
}

/* Both number their calls from 1; each rank's GPU 0 is a device of its own. */
static void ranks_and_processes_apart(void **state)
{
    struct gpu_fixture f;
    struct gpu_trace x;
    struct table t;
    uint32_t a, b;

    gpu_fixture_init(&f, 0, 1000);
    a = gpu_fixture_task(&f, "rank0", 0);
    b = gpu_fixture_task(&f, "rank1", 0);
    gpu_fixture_launch(&f, "k", KERNEL(7, .rank = 1), a, 10, 10, 100, 200);
    f.correlation = 0;
    gpu_fixture_launch(&f, "k", KERNEL(7, .rank = 2), b, 50, 10, 150, 300);
    f.correlation = 0;
    gpu_fixture_launch(&f, "k", KERNEL(7, .rank = 2), a, 60, 10, 310, 320);
    gpu_trace_init(&x, &f.s);
    assert_true(x.ranks);
    gpu_devices_table(&t, &x, 0, 0);
    assert_int_equal(table_rows(&t), 2);
    assert_string_equal(gpu_cell(&t, 1, "device")->text, "rank 1 GPU 0");
    assert_int_equal(gpu_cell(&t, 0, "latency_max_ns")->count, 80);
    assert_int_equal(gpu_cell(&t, 1, "latency_max_ns")->count, 240);
    assert_int_equal(gpu_cell(&t, 1, "busy_ns")->count, 160);
    table_release(&t);
    gpu_streams_table(&t, &x, 1, 0); /* of two processes */
    assert_int_equal(table_rows(&t), 2);
    table_release(&t);
    gpu_trace_release(&x);
    gpu_fixture_release(&f);
}

static void flames_end_in_kernels(void **state)
{
    static const char expected[] = "python3;[no stack];CUDA:Memcpy HtoD 20000\n"
                                   "python3;[no stack];CUDA:a 10000\n"
                                   "python3;[no stack];CUDA:ncclKernel_AllReduce 150000\n"
                                   "python3;main (t.py);evaluate (t.py);CUDA:b 100000\n"
                                   "python3;main (t.py);step (t.py);CUDA:a 150000\n";
    struct gpu_fixture f;
    struct profile p;
    struct err e = {0};
    struct buf out = {0};

    world(&f);
    assert_true(fold_has(&f.s.store, "gpu"));
    assert_int_equal(fold_profile(&p, &f.s, &(struct fold_opts){.metric = "gpu"}, &e), 0);
    assert_string_equal(p.metrics.a[0].unit, "ns");
    fold_text(&p, 0, &out);
    assert_string_equal(buf_str(&out), expected);
    buf_release(&out);
    profile_release(&p);
    gpu_fixture_release(&f);
    gpu_fixture_init(&f, 0, 10); /* calls alone are no time on a GPU */
    gpu_fixture_gpu(&f, "cudaMalloc", (struct gpu_work){.op = GPU_RUNTIME}, 0, 1, 2);
    assert_false(fold_has(&f.s.store, "gpu"));
    gpu_fixture_release(&f);
}

/* What is cut in two keeps the number of its call. */
static void cut_pieces_keep_their_call(void **state)
{
    struct cut_scope scope = {0};
    struct store out = {0};
    struct event ev = {.ts = 10, .dur = 80, .value = 77, .kind = EVENT_GPU};

    *vec_push(&scope.ranges) = (struct cut_range){0, 20};
    *vec_push(&scope.ranges) = (struct cut_range){50, 60};
    cut_event(&scope, &ev, 0, &out);
    assert_int_equal(out.events.n, 2);
    assert_int_equal(out.events.a[1].ts, 50);
    assert_int_equal(out.events.a[1].dur, 10);
    assert_int_equal(out.events.a[1].value, 77);
    vec_release(&scope.ranges);
    store_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_of_time),          cmocka_unit_test(devices_in_numbers),
        cmocka_unit_test(streams_in_numbers),      cmocka_unit_test(kernels_in_numbers),
        cmocka_unit_test(copies_of_unknown_size),  cmocka_unit_test(stalls_count_once),
        cmocka_unit_test(odd_records_are_counted), cmocka_unit_test(ranks_and_processes_apart),
        cmocka_unit_test(flames_end_in_kernels),   cmocka_unit_test(cut_pieces_keep_their_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
