/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that looks at CPUs and waits: a session that it is silent on, one that it speaks of. */
#include "rules_fixture.h"

static struct rules_case the_case;

static int setup(void **state)
{
    case_init(&the_case);
    *state = &the_case;
    return 0;
}

static int teardown(void **state)
{
    case_release(*state);
    return 0;
}

static void loader_wait(void **state)
{
    struct rules_case *x = *state;
    uint32_t worker = case_task(x, 20, 20, x->lead, "python3");
    uint32_t next =
        PY({"train", "app.py"}, {"IMapIterator.next", "/usr/lib/python3.11/multiprocessing/pool.py"});
    uint32_t slow =
        PY({"worker", "/usr/lib/python3.11/multiprocessing/pool.py"}, {"slow_transform", "/home/x/app.py"},
           {"slow_transform.<locals>.<listcomp>", "/home/x/app.py"});
    const struct finding *f;

    case_wait(x, x->lead, next, 0, 400, (struct waiting){.reason = WAIT_FUTEX, .waker = worker});
    case_samples(x, worker, slow, 0, 900);
    case_is(x, "loader-wait", CHECK_CLEAN);
    case_wait(x, x->lead, next, 1000, 5000, (struct waiting){.reason = WAIT_FUTEX, .waker = worker});
    f = case_found(x, "loader-wait");
    assert_string_equal(f->title,
                        "The main thread waits for its data loader, whose workers are in slow_transform");
    assert_string_equal(f->line, "slow_transform (app.py:7)");
    assert_string_equal(f->process, "python3[10]");
    assert_int_equal(f->cost_ns, 5400 * MS);
    assert_int_equal(f->severity, FINDING_HIGH);
    assert_int_equal(f->certainty, FINDING_MEASURED);
}

/* Who ended the waits is not known: what the children did tells. */
static void loader_wait_without_wakers(void **state)
{
    struct rules_case *x = *state;
    uint32_t worker = case_task(x, 20, 20, x->lead, "python3");
    const struct finding *f;

    case_wait(x, x->lead, PY({"_next_data", "/x/torch/utils/data/dataloader.py"}), 0, 3000,
              (struct waiting){.reason = WAIT_FUTEX});
    case_samples(x, worker, PY({"decode", "/x/jpeg.py"}), 0, 300);
    f = case_found(x, "loader-wait");
    assert_non_null(strstr(f->title, "workers are in decode"));
    assert_int_equal(f->certainty, FINDING_LIKELY);
}

static void loader_in_the_main_thread(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    case_samples(x, x->lead,
                 PY({"__next__", "/x/torch/utils/data/dataloader.py"},
                    {"fetch", "/x/torch/utils/data/_utils/fetch.py"}, {"crop", "/x/data.py"}),
                 10, 300);
    f = case_found(x, "loader-wait");
    assert_string_equal(f->title, "The main thread loads its data itself, in crop");
    assert_non_null(strstr(f->advice, "num_workers"));
}

static void lock_wait(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 10, 11, 0, "worker");
    const struct waiting held = {
        .reason = WAIT_FUTEX, .waker = other, .what = "futex 0x10 (mutex, held by worker[11])"};
    const struct finding *f;

    case_wait(x, x->lead, PY({"step", "a.py"}), 0, 400, held);
    case_samples(x, other, PY({"hog", "a.py"}), 0, 1000);
    case_is(x, "lock-wait", CHECK_CLEAN);
    case_wait(x, x->lead, PY({"step", "a.py"}), 500, 600, held);
    f = case_found(x, "lock-wait");
    assert_string_equal(f->title, "The main thread waits for a lock, held up in hog (a.py:7)");
    assert_int_equal(f->cost_ns, 1000 * MS);
}

static void process_wait(void **state)
{
    struct rules_case *x = *state;
    uint32_t server = case_task(x, 30, 30, 0, "server");
    const struct waiting answer = {.reason = WAIT_SOCKET, .waker = server};
    const struct finding *f;

    case_wait(x, x->lead, PY({"recv", "a.py"}), 0, 900, answer);
    case_samples(x, server, NATIVE({"serve", NULL}, {"sort", NULL}), 0, 1000);
    case_is(x, "process-wait", CHECK_CLEAN);
    case_wait(x, x->lead, PY({"recv", "a.py"}), 1000, 1000, answer);
    f = case_found(x, "process-wait");
    assert_string_equal(f->title, "The main thread waits for another process, which is in sort");
    assert_int_equal(f->cost_ns, 1900 * MS);
}

static void blocked(void **state)
{
    struct rules_case *x = *state;

    case_wait(x, x->lead, PY({"nap", "a.py"}), 0, 900, (struct waiting){.reason = WAIT_SLEEP});
    case_is(x, "blocked", CHECK_CLEAN);
    case_wait(x, x->lead, PY({"nap", "a.py"}), 1000, 900, (struct waiting){.reason = WAIT_SLEEP});
    assert_string_equal(case_found(x, "blocked")->title, "The main thread sleeps, in nap");
}

static void sched_delay(void **state)
{
    struct rules_case *x = *state;

    for (unsigned i = 0; i < 50; i++) /* 450 ms of short delays say nothing */
        case_wait(x, x->lead, 0, i * 100, 9, (struct waiting){.kind = EVENT_RUNQ});
    case_is(x, "sched-delay", CHECK_CLEAN);
    case_wait(x, x->lead, 0, 6000, 150, (struct waiting){.kind = EVENT_RUNQ});
    assert_int_equal(case_found(x, "sched-delay")->cost_ns, 150 * MS);
}

static void gil_wait(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 10, 11, 0, "cruncher");
    const struct waiting held = {EVENT_GIL, WAIT_GIL, other, PY({"crunch", "a.py"}), NULL};
    const struct finding *f;

    case_wait(x, x->lead, PY({"step", "a.py"}), 0, 1900, held);
    case_is(x, "gil-wait", CHECK_CLEAN);
    case_wait(x, x->lead, PY({"step", "a.py"}), 2000, 1000, held);
    f = case_found(x, "gil-wait");
    assert_string_equal(f->title, "The main thread waits for Python's GIL, held in crunch");
    assert_int_equal(f->cost_ns, 2900 * MS);
}

/* Threads wait for it, and the main thread for them: that time is what it may cost. */
static void gil_wait_of_others(void **state)
{
    struct rules_case *x = *state;
    uint32_t a = case_task(x, 10, 11, 0, "a"), b = case_task(x, 10, 12, 0, "b");
    const struct finding *f;

    case_wait(x, a, PY({"work", "a.py"}), 1000, 4000, (struct waiting){EVENT_GIL, WAIT_GIL, b, 0, NULL});
    case_wait(x, x->lead, PY({"join", "a.py"}), 2000, 6000,
              (struct waiting){.reason = WAIT_FUTEX, .waker = a});
    f = case_found(x, "gil-wait");
    assert_int_equal(f->cost_ns, 3000 * MS);
    assert_int_equal(f->certainty, FINDING_LIKELY);
}

static void python_gc(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead, NATIVE({"main", NULL}, {"gc_collect_main", NULL}), 100, 10);
    case_is(x, "python-gc", CHECK_CLEAN);
    case_samples(x, x->lead, NATIVE({"main", NULL}, {"gc_collect_main", NULL}, {"deduce_unreachable", NULL}),
                 1000, 10);
    assert_int_equal(case_found(x, "python-gc")->cost_ns, 200 * MS);
}

static void late_compile(void **state)
{
    struct rules_case *x = *state;
    uint32_t compile = PY({"step", "a.py"}, {"compile_fx", "/x/torch/_inductor/compile_fx.py"});

    case_samples(x, x->lead, compile, 10, 150); /* warming up */
    case_is(x, "late-compile", CHECK_CLEAN);
    case_samples(x, x->lead, compile, 5000, 50);
    assert_int_equal(case_found(x, "late-compile")->cost_ns, 500 * MS);
}

static void checkpoint(void **state)
{
    struct rules_case *x = *state;
    struct err e = {0};

    case_wait(x, x->lead, PY({"save", "/x/torch/serialization.py"}), 0, 900,
              (struct waiting){.reason = WAIT_DISK});
    assert_int_equal(rule_set(&x->set, "checkpoint.seconds", "1", &e), 0);
    case_is(x, "checkpoint", CHECK_CLEAN);
    case_samples(x, x->lead, PY({"save", "/x/torch/serialization.py"}), 1010, 20);
    assert_int_equal(case_found(x, "checkpoint")->cost_ns, 1100 * MS);
}

static void data_parallel(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead, PY({"forward", "/x/torch/nn/parallel/distributed.py"}), 0, 10);
    case_is(x, "data-parallel", CHECK_CLEAN);
    case_samples(x, x->lead, PY({"forward", "/x/torch/nn/parallel/data_parallel.py"}), 200, 10);
    case_is(x, "data-parallel", CHECK_FOUND);
}

static void fork_after_threads(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead,
                 case_stack_of(x, (const struct at[]){{"encode", NULL}, {NULL, NULL}}, FRAME_NATIVE,
                               "/x/tokenizers/tokenizers.abi3.so"),
                 0, 10);
    case_is(x, "fork-after-threads", CHECK_CLEAN);
    case_task(x, 20, 20, x->lead, "python3");
    case_is(x, "fork-after-threads", CHECK_FOUND);
}

static void debug_switches(void **state)
{
    struct rules_case *x = *state;

    case_env(x, "CUDA_LAUNCH_BLOCKING=0");
    case_is(x, "debug-switches", CHECK_CLEAN);
    case_env(x, "PYTHONMALLOC=debug");
    assert_string_equal(case_found(x, "debug-switches")->title, "PYTHONMALLOC=debug is set");
}

static void disturbed(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead, PY({"step", "a.py"}), 0, 500);
    case_samples(x, x->lead, KERNEL({"compact_zone", NULL}), 5000, 4);
    case_is(x, "disturbed", CHECK_CLEAN);
    case_samples(x, x->lead, KERNEL({"compact_zone", NULL}), 5100, 20);
    assert_string_equal(case_found(x, "disturbed")->title, "The kernel compacts memory for huge pages");
}

static void swapping(void **state)
{
    struct rules_case *x = *state;

    case_metric(x, METRIC_ID_MEMORY_SWAPPED_IN, 0, 1, 1 << 20); /* of others */
    case_is(x, "disturbed", CHECK_CLEAN);
    case_metric(x, METRIC_ID_MEMORY_SWAP, x->lead, 1, 1 << 20);
    case_is(x, "disturbed", CHECK_FOUND);
}

static void hot_function(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    for (unsigned i = 0; i < 4; i++)
        case_samples(x, x->lead, PY({(const char *[]){"a", "b", "c", "d"}[i], "a.py"}), i * 1000, 100);
    case_is(x, "hot-function", CHECK_CLEAN);
    case_samples(x, x->lead, PY({"b", "a.py"}, {"<listcomp>", "a.py"}), 5000, 100);
    f = case_found(x, "hot-function");
    assert_string_equal(f->line, "b (a.py:7)");
    assert_int_equal(f->cost_ns, 2000 * MS);
}

static void cuda_launches(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead, PY({"step", "a.py"}), 0, 96);
    case_is(x, "cuda-launches", CHECK_NOT_DONE); /* no such frames at all */
    case_samples(x, x->lead, NATIVE({"CUDA:gemm", NULL}), 1000, 4);
    case_is(x, "cuda-launches", CHECK_CLEAN);
    case_samples(x, x->lead, NATIVE({"CUDA:gemm", NULL}), 2000, 4);
    case_is(x, "cuda-launches", CHECK_FOUND);
}

static void hot_thread(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead, PY({"spin", "a.py"}), 0, 900);
    case_is(x, "hot-thread", CHECK_CLEAN); /* 2 of 3 */
    for (unsigned i = 0; i < 100; i++) {
        struct event ev = {
            .kind = EVENT_OFFCPU, .ts = START, .task = x->lead, .flags = EVENT_SHORT, .value = 600};

        *vec_push(&x->s.store.events) = ev;
    }
    case_is(x, "hot-thread", CHECK_FOUND);
}

static void one_thread(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 20, 20, x->lead, "other");

    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 9 * SEC;
    tasks_get(&x->s.store.tasks, other)->cpu_ns = 9 * SEC;
    case_wait(x, x->lead, 0, 0, 1000, (struct waiting){.reason = WAIT_POLL});
    case_is(x, "one-thread", CHECK_CLEAN);
    tasks_get(&x->s.store.tasks, other)->cpu_ns = SEC;
    case_is(x, "one-thread", CHECK_FOUND);
}

static void load_gap(void **state)
{
    struct rules_case *x = *state;
    uint32_t a = case_task(x, 20, 20, x->lead, "rank"), b = case_task(x, 21, 21, x->lead, "rank");

    tasks_get(&x->s.store.tasks, a)->cpu_ns = 8 * SEC;
    tasks_get(&x->s.store.tasks, b)->cpu_ns = 7 * SEC;
    case_is(x, "load-gap", CHECK_CLEAN);
    tasks_get(&x->s.store.tasks, b)->cpu_ns = 2 * SEC;
    assert_string_equal(case_found(x, "load-gap")->process, "rank[20]");
}

static void step_outlier(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;
    char name[32];

    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "step %u", i);
        case_mark(x, name, i * 300, 200 + i % 3);
    }
    case_is(x, "step-outlier", CHECK_CLEAN);
    case_mark(x, "step 20", 6000, 1201);
    case_wait(x, x->lead, PY({"read", "a.py"}), 6100, 900, (struct waiting){.reason = WAIT_DISK});
    f = case_found(x, "step-outlier");
    assert_string_equal(f->title, "1 of 21 steps take far longer than the others");
    assert_non_null(strstr(f->evidence, "blocked, disk"));
    assert_int_equal(f->cost_ns / MS, 1000);
    assert_int_equal(f->from, 6000 * MS);
}

static void too_few_steps(void **state)
{
    struct rules_case *x = *state;

    case_mark(x, "step 1", 0, 10);
    case_is(x, "step-outlier", CHECK_NOT_DONE);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(loader_wait),
        T(loader_wait_without_wakers),
        T(loader_in_the_main_thread),
        T(lock_wait),
        T(process_wait),
        T(blocked),
        T(sched_delay),
        T(gil_wait),
        T(gil_wait_of_others),
        T(python_gc),
        T(late_compile),
        T(checkpoint),
        T(data_parallel),
        T(fork_after_threads),
        T(debug_switches),
        T(disturbed),
        T(swapping),
        T(hot_function),
        T(cuda_launches),
        T(hot_thread),
        T(one_thread),
        T(load_gap),
        T(step_outlier),
        T(too_few_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
