/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that looks at accelerators: a session that it is silent on, one that it speaks of. */
#include "rules_fixture.h"

#define US 1000ull

static void add(struct rules_case *x, struct gpu_work w, uint64_t at_us, uint64_t us, uint64_t id)
{
    *vec_push(&x->s.store.events) = (struct event){.kind = EVENT_GPU,
                                                   .ts = START + at_us * US,
                                                   .dur = us * US,
                                                   .value = id,
                                                   .task = x->lead,
                                                   .stack = PY({"step", "a.py"}),
                                                   .attr = gpu_works_add(&x->s.store.gpus, &w)};
}

static void kernel(struct rules_case *x, const char *name, uint64_t at_us, uint64_t us, uint64_t id)
{
    struct gpu_work w = {.name = case_str(x, name), .stream = 7, .device = 1, .op = GPU_KERNEL};

    add(x, w, at_us, us, id);
}

static void call(struct rules_case *x, const char *name, uint64_t at_us, uint64_t us, uint64_t id)
{
    struct gpu_work w = {.name = case_str(x, name), .op = GPU_RUNTIME};

    add(x, w, at_us, us, id);
}

static void copy(struct rules_case *x, uint8_t from, uint8_t to, uint64_t bytes, uint64_t at_us, uint64_t us,
                 uint64_t id)
{
    struct gpu_work w = {.name = case_str(x, "Memcpy"),
                         .stream = 8,
                         .device = 1,
                         .op = GPU_COPY,
                         .from = from,
                         .to = to,
                         .bytes = bytes};

    add(x, w, at_us, us, id);
}

/* A launch of 5 us, `before` us ahead of the kernel. */
static void launched(struct rules_case *x, const char *name, uint64_t at_us, uint64_t us, uint64_t before,
                     uint64_t id)
{
    call(x, "cudaLaunchKernel", at_us - before, 5, id);
    kernel(x, name, at_us, us, id);
}

/* Busy from 1 ms on for two seconds, launched well ahead. */
static void busy(struct rules_case *x)
{
    for (unsigned i = 0; i < 200; i++)
        launched(x, "work", 1000 + i * 10000, 10000, 50, 1000 + i);
}

static void quiet(void **state)
{
    static const char *const ids[] = {
        "gpu-gap",        "gpu-low-use",         "gpu-bursts",        "gpu-host-wait",    "gpu-kernel-gaps",
        "gpu-idle-other", "gpu-short-kernels",   "gpu-slow-launch",   "gpu-launch-delay", "gpu-queue",
        "gpu-sync",       "gpu-pageable",        "gpu-blocking-copy", "gpu-copy-overlap", "comm-exposed",
        "comm-overlap",   "gpu-no-tensor-cores", "gpu-fp32"};
    struct rules_case *x = *state;

    case_is(x, "gpu-gap", CHECK_NOT_DONE);
    assert_non_null(strstr(case_run(x, "gpu-gap")->detail, "needs gpu"));
    busy(x);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        case_is(x, ids[i], CHECK_CLEAN);
    case_is(x, "gpu-item", CHECK_NOT_DONE); /* no steps are marked */
    case_is(x, "gpu-malloc", CHECK_NOT_DONE);
    case_is(x, "late-rank", CHECK_NOT_DONE);
}

/* 600 ms in which nothing was launched. */
static void gaps(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    busy(x);
    launched(x, "work", 2601000, 1000, 20, 2000);
    f = case_found(x, "gpu-gap");
    assert_int_equal(f->cost_ns, 600 * MS);
    assert_string_equal(f->device, "GPU 0");
    case_is(x, "gpu-low-use", CHECK_FOUND);
    f = case_found(x, "gpu-host-wait");
    assert_int_equal(f->cost_ns, 600 * MS);
    case_is(x, "gpu-idle-other", CHECK_CLEAN);
    case_is(x, "gpu-bursts", CHECK_FOUND);
}

/* One call launches all kernels of a graph: it is not as long as each of them. */
static void kernels_of_a_graph(void **state)
{
    struct rules_case *x = *state;

    call(x, "cudaGraphLaunch", 99000, 500, 1);
    for (unsigned i = 0; i < 1000; i++)
        kernel(x, "tiny", 100000 + i * 10, 4, 1);
    launched(x, "work", 200000, 10000, 50, 2);
    case_is(x, "gpu-short-kernels", CHECK_CLEAN);
}

/* What is said of a gap is what the thread did in it, not that it had asked in time for what ran next
 * elsewhere, and the advice fits that. */
static void what_the_thread_did(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    busy(x);
    call(x, "cudaDeviceSynchronize", 2002000, 590000, 0);
    launched(x, "work", 2601000, 1000, 20, 2000);
    launched(x, "work", 4000000, 1000, 1900000, 2001); /* asked long before: the longest gap of all */
    f = case_found(x, "gpu-gap");
    assert_null(strstr(f->evidence, "asked in time"));
    f = case_found(x, "gpu-gap");
    assert_non_null(strstr(f->evidence, "was in a call in cudaDeviceSynchronize"));
}

/* What is to be done is told by what the thread was in, where its name says that. */
static void expect_advice(struct rules_case *x, const char *name, const char *advice)
{
    busy(x);
    call(x, name, 2002000, 590000, 0);
    launched(x, "work", 2601000, 1000, 20, 2000);
    assert_non_null(strstr(case_found(x, "gpu-host-wait")->advice, advice));
}

static void advice_for_a_loader(void **state)
{
    expect_advice(*state, "enumerate(DataLoader)#_Iter.__next__", "num_workers");
}

static void advice_for_saving(void **state)
{
    expect_advice(*state, "torch.save(state)", "Save less often");
}

static void advice_for_activation_checkpoints(void **state)
{
    expect_advice(*state, "torch.utils.checkpoint", "CUDA graphs");
}

/* A device that is done while the other one computes on; one alone has nobody to be compared with. */
static void no_work(void **state)
{
    struct rules_case *x = *state;
    struct gpu_work other = {.name = case_str(x, "work"), .stream = 7, .device = 2, .op = GPU_KERNEL};
    const struct finding *f;

    busy(x); /* to 2,001 ms */
    case_is(x, "gpu-no-work", CHECK_CLEAN);
    add(x, other, 1000, 6000000, 9000);
    f = case_found(x, "gpu-no-work");
    assert_string_equal(f->device, "GPU 0");
    assert_int_equal(f->cost_ns, 4000 * MS);
    assert_int_equal(x->f.list.n, 1);
}

static void launched_but_idle(void **state)
{
    struct rules_case *x = *state;

    busy(x);
    launched(x, "work", 2601000, 1000, 700000, 2000);
    case_is(x, "gpu-host-wait", CHECK_CLEAN);
    assert_int_equal(case_found(x, "gpu-idle-other")->cost_ns, 600 * MS);
}

static void many_short_kernels(void **state)
{
    struct rules_case *x = *state;

    for (unsigned i = 0; i < 1000; i++) /* 4 us busy, 6 us idle, launched long before */
        launched(x, "tiny", 100000 + i * 10, 4, 50000, 1 + i);
    assert_int_equal(case_found(x, "gpu-kernel-gaps")->cost_ns, 999 * 6 * US);
    case_is(x, "gpu-short-kernels", CHECK_FOUND);
    case_is(x, "gpu-launch-delay", CHECK_FOUND);
    case_is(x, "gpu-queue", CHECK_CLEAN);
    for (unsigned i = 0; i < 1500; i++) {
        call(x, "cudaLaunchKernel", 200000 + i * 5, 5, 5000 + i);
        kernel(x, "tiny", 300000 + i * 10, 4, 5000 + i);
    }
    case_is(x, "gpu-queue", CHECK_FOUND);
}

static void slow_launches_and_waits(void **state)
{
    struct rules_case *x = *state;

    busy(x);
    call(x, "cudaLaunchKernel", 5000000, 150000, 9000);
    assert_int_equal(case_found(x, "gpu-slow-launch")->cost_ns, 150 * MS);
    call(x, "cudaStreamSynchronize", 6000000, 400000, 9001);
    case_is(x, "gpu-sync", CHECK_CLEAN);
    call(x, "cudaDeviceSynchronize", 7000000, 400000, 9002);
    assert_int_equal(case_found(x, "gpu-sync")->cost_ns, 800 * MS);
}

/* A wait costs what the device was idle for meanwhile: while it was busy, that is its own time. */
static void waits_of_a_busy_device(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    busy(x); /* from 1 ms to 2,001 ms */
    call(x, "cudaDeviceSynchronize", 1001000, 1500000, 9000);
    f = case_found(x, "gpu-sync");
    assert_int_equal(f->cost_ns, 500 * MS);
    assert_non_null(strstr(f->evidence, "for 1.00 s of it a device was busy"));
}

/* Each value that is read back leaves the device without work until the host has asked for more; a copy from
 * pageable memory costs what nothing is computed during. */
static void what_copies_cost(void **state)
{
    struct rules_case *x = *state;
    char step[16];

    for (unsigned i = 0; i < 10; i++) {
        snprintf(step, sizeof(step), "step %u", i);
        case_mark(x, step, i * 100, 100);
        launched(x, "work", i * 100000, 40000, 50, 100 + i);
        call(x, "cudaMemcpyAsync", i * 100000 + 100, 5, 200 + i);
        copy(x, GPU_DEVICE, GPU_PINNED, 4, i * 100000 + 40000, 1000, 200 + i);
        launched(x, "work", i * 100000 + 60000, 40000, 50, 300 + i);
    }
    assert_int_equal(case_found(x, "gpu-item")->cost_ns, 10 * 19 * MS);
    call(x, "cudaMemcpyAsync", 300000, 5, 9001);
    copy(x, GPU_PAGEABLE, GPU_DEVICE, 1 << 20, 330000, 20000, 9001); /* from 340 ms to 350 ms alone */
    assert_int_equal(case_found(x, "gpu-pageable")->cost_ns, 10 * MS);
}

static void copies(void **state)
{
    struct rules_case *x = *state;

    busy(x);
    call(x, "cudaMemcpyAsync", 900, 5, 9000);
    copy(x, GPU_PINNED, GPU_DEVICE, 1 << 20, 1000, 100, 9000);
    case_is(x, "gpu-pageable", CHECK_CLEAN);
    call(x, "cudaMemcpyAsync", 1900, 5, 9001);
    copy(x, GPU_PAGEABLE, GPU_DEVICE, 1 << 20, 2000, 100, 9001);
    case_is(x, "gpu-pageable", CHECK_FOUND);
    call(x, "cudaMemcpy", 2900, 5, 9002);
    copy(x, GPU_PAGEABLE, GPU_DEVICE, 1024, 3000, 1, 9002); /* small: taken over at once */
    case_is(x, "gpu-blocking-copy", CHECK_CLEAN);
    call(x, "cudaMemcpy", 3900, 5, 9003);
    copy(x, GPU_DEVICE, GPU_PAGEABLE, 1 << 20, 4000, 100, 9003);
    case_is(x, "gpu-blocking-copy", CHECK_FOUND);
    assert_non_null(strstr(case_found(x, "gpu-blocking-copy")->evidence, "1 of them, 1"));
    call(x, "hipMemcpyWithStream", 4900, 5, 9005);
    copy(x, GPU_PLACE_UNKNOWN, GPU_DEVICE, 0, 5000, 1, 9005); /* nobody tells how large */
    assert_non_null(strstr(case_found(x, "gpu-blocking-copy")->evidence, "1 of them, 1"));
    call(x, "cudaMemcpy", 5900, 5, 9006);
    copy(x, GPU_DEVICE, GPU_PINNED, 0, 6000, 1, 9006);
    assert_non_null(strstr(case_found(x, "gpu-blocking-copy")->evidence, "and some of unknown size"));
    case_is(x, "gpu-copy-overlap", CHECK_CLEAN); /* kernels run meanwhile */
    copy(x, GPU_DEVICE, GPU_DEVICE, 1 << 28, 2093000, 90000, 9007);
    case_is(x, "gpu-copy-overlap", CHECK_CLEAN); /* not to the device */
    copy(x, GPU_PINNED, GPU_DEVICE, 1 << 28, 2002000, 90000, 9004);
    case_is(x, "gpu-copy-overlap", CHECK_FOUND);
}

/* 16 MiB in 1 ms: 16.8 GB/s. */
static void copy_rate(void **state)
{
    struct rules_case *x = *state;
    struct graph_node *n =
        graph_add(&x->g, &(struct graph_id){.kind = GRAPH_GPU, .field = {"0", "0000:01:00.0"}});

    busy(x);
    copy(x, GPU_PINNED, GPU_DEVICE, 16 << 20, 2000, 1000, 9000);
    copy(x, GPU_PINNED, GPU_DEVICE, 1 << 10, 5000, 1000, 9001); /* small ones tell nothing */
    copy(x, GPU_DEVICE, GPU_PINNED, 16 << 20, 7000, 9000, 9002);
    case_is(x, "gpu-copy-rate", CHECK_NOT_DONE);
    graph_set_int(&x->g, &n->attrs, "pcie_max_gen", 3);
    graph_set_int(&x->g, &n->attrs, "pcie_width", 16); /* 15.8 GB/s */
    case_is(x, "gpu-copy-rate", CHECK_CLEAN);
    graph_set_int(&x->g, &n->attrs, "pcie_max_gen", 5); /* 63 GB/s: it would have taken 266 us */
    assert_in_range(case_found(x, "gpu-copy-rate")->cost_ns, 732 * US, 735 * US);
}

static void items_and_allocations(void **state)
{
    struct rules_case *x = *state;

    busy(x);
    case_mark(x, "step 0", 0, 1000);
    case_mark(x, "step 1", 1000, 1000);
    case_mark(x, "step 2", 2000, 1000);
    copy(x, GPU_DEVICE, GPU_PINNED, 4, 2000, 1, 9000);
    copy(x, GPU_DEVICE, GPU_PINNED, 4, 3000, 1, 9001);
    case_is(x, "gpu-item", CHECK_CLEAN);
    copy(x, GPU_DEVICE, GPU_PINNED, 4, 4000, 1, 9002);
    case_is(x, "gpu-item", CHECK_FOUND);
    for (unsigned i = 0; i < 5; i++)
        call(x, "cudaMalloc", 10 + i, 1, 0); /* warming up */
    case_is(x, "gpu-malloc", CHECK_CLEAN);
    for (unsigned i = 0; i < 5; i++)
        call(x, "cudaMalloc", 4000000 + i * 100, 50, 0);
    case_is(x, "gpu-malloc", CHECK_FOUND);
}

static void communication(void **state)
{
    struct rules_case *x = *state;
    struct gpu_work w = {
        .name = case_str(x, "ncclKernel_AllReduce"), .stream = 9, .device = 1, .op = GPU_KERNEL};

    busy(x);
    add(x, w, 1000, 100000, 0); /* hidden */
    case_is(x, "comm-exposed", CHECK_CLEAN);
    case_is(x, "comm-overlap", CHECK_CLEAN);
    add(x, w, 2001000, 500000, 0);
    case_is(x, "comm-exposed", CHECK_FOUND);
    case_is(x, "comm-overlap", CHECK_FOUND);
}

static void precision(void **state)
{
    struct rules_case *x = *state;

    kernel(x, "elementwise", 0, 1000, 0);
    kernel(x, "ampere_fp16_s16816gemm_fp16_128x64", 1000, 1000, 0);
    case_is(x, "gpu-no-tensor-cores", CHECK_CLEAN);
    case_is(x, "gpu-fp32", CHECK_CLEAN);
    kernel(x, "ampere_sgemm_128x64_nn", 2000, 1000, 0);
    case_is(x, "gpu-fp32", CHECK_FOUND);
    case_is(x, "gpu-no-tensor-cores", CHECK_CLEAN);
}

static void no_tensor_cores(void **state)
{
    struct rules_case *x = *state;

    kernel(x, "ampere_sgemm_128x64_nn", 0, 1000, 0);
    case_is(x, "gpu-no-tensor-cores", CHECK_FOUND);
}

/* Two ranks with the same 20 collectives, which end together: rank 0's take 30 ms, rank 1's so long. */
static void collectives(struct rules_case *x, uint64_t even, uint64_t odd)
{
    for (unsigned rank = 0; rank < 2; rank++) {
        for (unsigned i = 0; i < 20; i++) {
            struct gpu_work w = {.name = case_str(x, "ncclKernel_AllReduce"),
                                 .stream = 9,
                                 .device = (uint16_t)(rank + 1),
                                 .rank = (uint16_t)(rank + 1),
                                 .op = GPU_KERNEL};
            uint64_t us = !rank ? 30000 : i % 2 ? odd : even;

            add(x, w, 200000 + i * 100000 - us, us, 0);
        }
    }
}

/* Whose kernels are short came last. */
static void late_rank(void **state)
{
    struct rules_case *x = *state;

    collectives(x, 1000, 1000);
    assert_string_equal(case_found(x, "late-rank")->device, "rank 1");
    /* each of 20 took 29 ms longer on the other one */
    assert_int_equal(x->f.list.a[0].cost_ns, 20 * 29 * MS);
}

/* Now the one is last and now the other: nobody is to blame. */
static void ranks_in_turn(void **state)
{
    struct rules_case *x = *state;

    collectives(x, 1000, 59000);
    case_is(x, "late-rank", CHECK_CLEAN);
}

/* A hundred kernels of 10 ms, and one `gap` us after them, launched only then. */
static void one_of_many(struct rules_case *x, uint16_t device, uint64_t gap)
{
    struct gpu_work w = {.name = case_str(x, "work"), .stream = 7, .device = device, .op = GPU_KERNEL};
    uint64_t id = device * 1000u;

    for (unsigned i = 0; i <= 100; i++) {
        uint64_t at = 1000 + i * 10000 + (i == 100 ? gap : 0);

        call(x, "cudaLaunchKernel", at - 50, 5, id + i);
        add(x, w, at, 10000, id + i);
    }
}

/* One finding of many devices: what they lose on average, who loses most, and what of that one is said. */
static void many_devices(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    one_of_many(x, 1, 600000);
    one_of_many(x, 2, 600000);
    f = case_found(x, "gpu-gap");
    assert_string_equal(f->title, "GPU 0 stands idle for long");
    assert_int_equal(x->f.list.n, 2);
    one_of_many(x, 3, 600000);
    one_of_many(x, 4, 600000);
    one_of_many(x, 5, 3000000);
    one_of_many(x, 6, 0);
    f = case_found(x, "gpu-gap");
    assert_int_equal(x->f.list.n, 1);
    assert_string_equal(f->title, "5 of 6 GPUs stand idle for long, GPU 4 most (30.0 %)");
    assert_string_equal(f->device, "5 of 6 GPUs");
    assert_int_equal(f->total_ns, (4 * 600 + 3000) * MS / 5);
    assert_non_null(strstr(f->evidence,
                           "10.8 % of the run on average, the most on GPU 4, 30.0 %, the least on "
                           "GPU 0, 6.0 %. Far above the others: GPU 4 (30.0 %). Of GPU 4: 1 gap"));
    /* the same time, of the same devices, is not counted again */
    case_all(x);
    for (size_t i = 0; i < x->f.list.n; i++)
        if (!strcmp(x->f.list.a[i].id, "gpu-host-wait"))
            f = &x->f.list.a[i];
    assert_string_equal(f->id, "gpu-host-wait");
    assert_int_equal(f->total_ns, 1080 * MS);
    assert_int_equal(f->cost_ns, 0);
    assert_int_equal(f->within, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(quiet),
        T(gaps),
        T(advice_for_a_loader),
        T(advice_for_saving),
        T(advice_for_activation_checkpoints),
        T(no_work),
        T(launched_but_idle),
        T(kernels_of_a_graph),
        T(what_the_thread_did),
        T(many_short_kernels),
        T(slow_launches_and_waits),
        T(waits_of_a_busy_device),
        T(what_copies_cost),
        T(copies),
        T(copy_rate),
        T(communication),
        T(precision),
        T(no_tensor_cores),
        T(items_and_allocations),
        T(late_rank),
        T(ranks_in_turn),
        T(many_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
