/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that looks at CPUs and waits: a session that it is silent on, one that it speaks of. */
#include "rules_fixture.h"

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
                        "The main thread waits for its pool's workers, which are in slow_transform");
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

/* The workers' own loop is nothing to make cheaper: the user's function is named that takes most. */
static void loader_machinery(void **state)
{
    struct rules_case *x = *state;
    uint32_t worker = case_task(x, 20, 20, x->lead, "python3");
    uint32_t next = PY({"_next_data", "/x/torch/utils/data/dataloader.py"});
    const struct at loop = {"_worker_loop", "/x/torch/utils/data/_utils/worker.py"};

    case_wait(x, x->lead, next, 0, 4000, (struct waiting){.reason = WAIT_FUTEX, .waker = worker});
    case_samples(x, worker, PY(loop), 0, 130);
    case_samples(x, worker, PY(loop, {"crop", "/x/data.py"}), 1300, 130);
    case_samples(x, worker, PY(loop, {"flip", "/x/data.py"}), 2600, 140);
    assert_string_equal(case_found(x, "loader-wait")->title,
                        "The main thread waits for its data loader, whose workers are in flip");
    case_samples(x, worker, PY(loop), 0, 400);
    assert_string_equal(case_found(x, "loader-wait")->title, "The main thread waits for its data loader");
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
    assert_string_equal(f->title, "The main thread waits for another process, server, which is in sort");
    assert_int_equal(f->cost_ns, 1900 * MS);
}

/* A disk's waits are the disk's, though kernel threads, or other processes, end them. */
static void disk_is_no_process(void **state)
{
    struct rules_case *x = *state;
    uint32_t worker = case_task(x, 30, 30, 0, "kworker/u8:1"), other = case_task(x, 31, 31, 0, "fio");
    uint32_t thread = KERNEL({"ret_from_fork_asm", NULL}, {"ret_from_fork", NULL}, {"kthread", NULL},
                             {"worker_thread", NULL});
    const struct finding *f;

    case_wait(x, x->lead, PY({"save", "a.py"}), 0, 2000,
              (struct waiting){.reason = WAIT_DISK, .waker = other});
    case_wait(x, x->lead, PY({"tty", "a.py"}), 2000, 2000,
              (struct waiting){.reason = WAIT_OTHER, .waker = worker, .waker_stack = thread});
    case_is(x, "process-wait", CHECK_CLEAN);
    case_is(x, "blocked", CHECK_FOUND);
    assert_int_equal(x->f.list.n, 2);
    f = x->f.list.a[0].title[16] == 'w' ? &x->f.list.a[0] : &x->f.list.a[1];
    assert_string_equal(f->title, "The main thread waits for a disk, in save");
}

/* Who ended the waits was not seen; what it was in is told all the same, less surely. */
static void process_wait_inferred(void **state)
{
    struct rules_case *x = *state;
    uint32_t server = case_task(x, 30, 30, 0, "server");
    struct frame mark = {.kind = FRAME_MARKER, .func = case_str(x, "[inferred]")};
    struct frame slow = {.kind = FRAME_PYTHON, .func = case_str(x, "slow_producer")};
    uint32_t at = stacks_push(&x->s.store.stacks, 0, frames_add(&x->s.store.frames, &mark));
    const struct finding *f;

    at = stacks_push(&x->s.store.stacks, at, frames_add(&x->s.store.frames, &slow));
    case_wait(x, x->lead, PY({"recv", "a.py"}), 0, 3000,
              (struct waiting){.reason = WAIT_PIPE, .waker = server, .waker_stack = at});
    f = case_found(x, "process-wait");
    assert_string_equal(f->title,
                        "The main thread waits for another process, server, which is in slow_producer");
    assert_int_equal(f->certainty, FINDING_LIKELY);
    assert_non_null(f->why);
}

/* What lock-wait tells is not told again: `blocked` tells of the others, by their own place and number. */
static void waits_beside_the_lock(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 10, 11, 0, "worker");
    const struct finding *f;

    for (unsigned i = 0; i < 10; i++)
        case_wait(x, x->lead, PY({"step", "a.py"}), i * 400, 300,
                  (struct waiting){.reason = WAIT_FUTEX, .waker = other, .what = "futex 0x10 (mutex)"});
    case_wait(x, x->lead, PY({"finish", "a.py"}), 5000, 1500,
              (struct waiting){.reason = WAIT_FUTEX, .waker = other, .what = "futex 0x90"});
    f = case_found(x, "blocked");
    assert_string_equal(f->title, "The main thread waits for other threads, in finish");
    assert_non_null(strstr(f->evidence, "1 wait, 1.50 s in all"));
    assert_int_equal(f->cost_ns, 1500 * MS);
}

/* Hot is what is another one's: who calls it is what can be changed. */
static void hot_for_whom(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead,
                 PY({"render", "/app/mixed.py"}, {"dumps", "/usr/lib/python3.11/json/__init__.py"},
                    {"iterencode", "/usr/lib/python3.11/json/encoder.py"}),
                 0, 500);
    assert_string_equal(case_found(x, "hot-function")->title,
                        "Much of the CPU time is in iterencode, called by render (mixed.py:7)");
}

/* A Python function's own time is told with what the interpreter or a library does for it. */
static void hot_native_part(void **state)
{
    struct rules_case *x = *state;
    uint32_t validate = PY({"validate", "a.py"}), leaf = validate, none = validate;
    struct frame regex = {.kind = FRAME_NATIVE, .func = case_str(x, "sre_ucs1_match.lto_priv.0")};
    struct frame eval = {.kind = FRAME_NATIVE, .func = case_str(x, "_PyEval_EvalFrameDefault")};

    leaf = stacks_push(&x->s.store.stacks, leaf, frames_add(&x->s.store.frames, &regex));
    none = stacks_push(&x->s.store.stacks, none, frames_add(&x->s.store.frames, &eval));
    case_samples(x, x->lead, leaf, 0, 300);
    case_samples(x, x->lead, validate, 3000, 100);
    assert_non_null(strstr(case_found(x, "hot-function")->evidence, ", 75.0 % of them in sre_ucs1_match."));
    case_samples(x, x->lead, none, 4000, 400); /* its own code: nothing to name */
    assert_null(strstr(case_found(x, "hot-function")->evidence, "of them in"));
}

static void hot_imports(void **state)
{
    struct rules_case *x = *state;

    case_samples(
        x, x->lead,
        PY({"<module>", "/app/a.py"}, {"_call_with_frames_removed", "<frozen importlib._bootstrap>"}), 0,
        300);
    assert_string_equal(case_found(x, "hot-function")->title,
                        "Much of the CPU time is in imports, _call_with_frames_removed, called by <module> "
                        "(a.py:7)");
    assert_non_null(strstr(case_found(x, "hot-function")->advice, "importtime"));
}

/* A thread with half of a CPU: its samples stand for what it ran, and not for the time in which it queued. */
static void shared_cpu(void **state)
{
    struct rules_case *x = *state;
    uint32_t hot = PY({"hot", "a.py"});
    uint64_t hot_ns = 0, queue_ns = 0;

    for (unsigned i = 0; i < 2500; i++)
        case_wait(x, x->lead, 0, i * 4 + 2, 2, (struct waiting){.kind = EVENT_RUNQ});
    for (unsigned i = 0; i < 500; i++)
        case_samples(x, x->lead, hot, i * 20 + 1, 1);
    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 5 * SEC;
    for (unsigned i = 0; i < 10; i++) {
        case_metric(x, METRIC_ID_SCHED_RUNNING, 0, i, 9);
        case_metric(x, METRIC_ID_SCHED_DELAY, x->lead, i, 500 * MS);
    }
    case_all(x);
    for (size_t i = 0; i < x->f.list.n; i++) {
        hot_ns += strcmp(x->f.list.a[i].id, "hot-function") ? 0 : x->f.list.a[i].cost_ns;
        queue_ns += strcmp(x->f.list.a[i].id, "oversubscribed") ? 0 : x->f.list.a[i].cost_ns;
    }
    assert_int_equal(queue_ns, 5 * SEC);
    assert_true(hot_ns > 4999 * MS && hot_ns <= 5 * SEC);
}

/* Children in turn: the command's own time is the run's, and who they are is told together. */
static void children_in_turn(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    for (unsigned i = 0; i < 20; i++) {
        uint32_t child = case_task(x, 50 + i, 50 + i, x->lead, "cc1");
        struct task *t = tasks_get(&x->s.store.tasks, child);

        t->first_ns = START + i * 500 * MS;
        t->last_ns = t->first_ns + 480 * MS;
        case_samples(x, child, NATIVE({"_start", NULL}, {"parse", NULL}), i * 500, 48);
        case_wait(x, x->lead, NATIVE({"wait4", NULL}), i * 500, 480,
                  (struct waiting){.reason = WAIT_CHILD, .waker = child});
    }
    f = case_found(x, "process-wait");
    assert_string_equal(f->process, "python3[10]");
    assert_int_equal(f->cost_ns, 9600 * MS);
    assert_string_equal(f->title, "The main thread waits for another process, cc1, which is in parse");
    assert_non_null(strstr(f->evidence, "20 of cc1 were what ended the waits"));
}

/* The one child that is there while the command waits: its time is the run's. */
static void launcher(void **state)
{
    struct rules_case *x = *state;
    uint32_t child = case_task(x, 50, 50, x->lead, "train");

    case_wait(x, x->lead, NATIVE({"wait4", NULL}), 0, 9900,
              (struct waiting){.reason = WAIT_CHILD, .waker = child});
    case_wait(x, child, PY({"nap", "a.py"}), 1000, 5000, (struct waiting){.reason = WAIT_SLEEP});
    assert_string_equal(case_found(x, "blocked")->process, "train[50]");
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

/* What the functions of the program's own modules do while these are imported is no import. */
static void late_imports(void **state)
{
    struct rules_case *x = *state;
    const struct at loader = {"_find_and_load", "<frozen importlib._bootstrap>"};
    const struct finding *f;

    case_samples(x, x->lead,
                 PY({"step", "/x/a.py"}, loader, {"<module>", "/x/heavy.py"}, {"table", "/x/heavy.py"}), 5000,
                 200);
    case_samples(x, x->lead, PY({"step", "/x/a.py"}, loader, {"<module>", "/x/heavy.py"}), 7000, 50);
    case_is(x, "late-compile", CHECK_CLEAN);
    case_samples(x, x->lead,
                 PY({"step", "/x/a.py"}, loader, {"get_code", "<frozen importlib._bootstrap_external>"}),
                 8000, 50);
    case_is(x, "late-compile", CHECK_CLEAN); /* so far it has done nothing else: it is the start */
    case_samples(x, x->lead, PY({"step", "/x/a.py"}), 3000, 60);
    f = case_found(x, "late-compile");
    assert_string_equal(f->title, "heavy is imported long after the start, in step");
    assert_string_equal(f->line, "step (a.py:7)");
    assert_int_equal(f->total_ns, 1000 * MS);
}

/* Of a library all that its import does, and who of the program asked for it, whoever is between. */
static void late_library(void **state)
{
    struct rules_case *x = *state;
    const struct at loader = {"_find_and_load", "<frozen importlib._bootstrap>"};
    const struct at torch = {"<module>", "/usr/lib/python3/dist-packages/torch/__init__.py"};
    uint32_t import = PY({"<module>", "/x/a.py"}, {"handler", "/x/a.py"},
                         {"lazy", "/usr/lib/python3/dist-packages/lib/util.py"}, loader, torch, loader,
                         {"<module>", "/usr/lib/python3/dist-packages/torch/_C.py"},
                         {"register", "/usr/lib/python3/dist-packages/torch/_C.py"});
    const struct finding *f;

    case_samples(x, x->lead, PY({"work", "/x/a.py"}), 0, 100);
    case_samples(x, x->lead, import, 3000, 50);
    case_wait(x, x->lead, import, 4000, 200, (struct waiting){.reason = WAIT_FAULT});
    f = case_found(x, "late-compile");
    assert_string_equal(f->title, "torch is imported long after the start, in handler");
    assert_string_equal(f->line, "handler (a.py:7)");
    assert_non_null(strstr(f->evidence, "50 samples and 1 wait "));
    assert_true(f->total_ns >= 700 * MS);
}

static void checkpoint(void **state)
{
    struct rules_case *x = *state;
    struct err e = {0};

    case_wait(x, x->lead, PY({"save", "/x/torch/serialization.py"}), 0, 900,
              (struct waiting){.reason = WAIT_DISK});
    assert_int_equal(rule_set(&x->set, "checkpoint.seconds", "1", &e), 0);
    case_is(x, "checkpoint", CHECK_CLEAN);
    assert_int_equal(rule_set(&x->set, "checkpoint.share", "5%", &e), 0);
    case_is(x, "checkpoint", CHECK_FOUND);
    assert_int_equal(rule_set(&x->set, "checkpoint.share", "90%", &e), 0);
    case_samples(x, x->lead, PY({"save", "/x/torch/serialization.py"}), 1010, 20);
    /* The wait, 190 ms between the samples, and at each end what a sample stands for at most. */
    assert_int_equal(case_found(x, "checkpoint")->cost_ns, (900 + 190 + 2 * 40) * MS);
}

static void data_parallel(void **state)
{
    struct rules_case *x = *state;

    case_samples(x, x->lead, PY({"forward", "/x/torch/nn/parallel/distributed.py"}), 0, 10);
    case_is(x, "data-parallel", CHECK_CLEAN);
    case_samples(x, x->lead, PY({"<module>", "/x/torch/nn/parallel/data_parallel.py"}), 100, 10);
    case_is(x, "data-parallel", CHECK_CLEAN); /* it is only imported */
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

    case_samples(x, x->lead, PY({"step", "a.py"}), 0, 1);
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

/* What a tier doesn't see is no function that could be made cheaper. */
static void hot_marker(void **state)
{
    struct rules_case *x = *state;
    struct frame mark = {.kind = FRAME_MARKER, .func = case_str(x, "[native, not seen]")};

    case_samples(x, x->lead, stacks_push(&x->s.store.stacks, 0, frames_add(&x->s.store.frames, &mark)), 0,
                 300);
    case_is(x, "hot-function", CHECK_NOT_DONE);
}

/* What the kernel does for a function is no work of its own; of a few samples nothing is said. */
static void hot_kernel(void **state)
{
    struct rules_case *x = *state;
    uint32_t touch = NATIVE({"main", NULL}, {"touch", NULL});
    struct frame fault = {.kind = FRAME_KERNEL, .func = case_str(x, "clear_page")};
    const struct finding *f;

    case_samples(x, x->lead, touch, 10, 5);
    case_is(x, "hot-function", CHECK_CLEAN);
    case_samples(x, x->lead, stacks_push(&x->s.store.stacks, touch, frames_add(&x->s.store.frames, &fault)),
                 100, 300);
    f = case_found(x, "hot-function");
    assert_non_null(strstr(f->evidence, "98.4 % of them in what the kernel does for it"));
    assert_non_null(strstr(f->advice, "the kernel's work"));
}

/* Own rules are matched with the folder of a file, and cost what the main thread ran in them. */
static void own_rule(void **state)
{
    struct rules_case *x = *state;
    struct err e = {0};

    assert_int_equal(rule_set(&x->set, "own.json", "[(]json/.*[.]py[)] > 5% : less of it", &e), 0);
    case_samples(x, x->lead, PY({"step", "/json/lib/a.py"}), 10, 100);
    case_wait(x, x->lead, PY({"<module>", "/x/json/decoder.py"}), 3000, 3000,
              (struct waiting){.reason = WAIT_SLEEP});
    case_all(x);
    for (size_t i = 0; i < x->f.list.n; i++)
        assert_string_not_equal(x->f.list.a[i].id, "own.json");
    case_samples(x, x->lead, PY({"step", "/y/a.py"}, {"loads", "/x/json/__init__.py"}), 2000, 50);
    case_all(x);
    for (size_t i = 0; i <= x->f.list.n; i++) {
        assert_true(i < x->f.list.n);
        if (!strcmp(x->f.list.a[i].id, "own.json"))
            break;
    }
    for (size_t i = 0; i < x->f.list.n; i++)
        if (!strcmp(x->f.list.a[i].id, "own.json"))
            assert_true(x->f.list.a[i].total_ns >= 500 * MS && x->f.list.a[i].total_ns < 600 * MS);
}

/* The command ended before the recording began. */
static void nothing_recorded(void **state)
{
    struct rules_case *x = *state;

    x->s.meta.end_mono = x->s.meta.start_mono;
    case_is(x, "hot-function", CHECK_NOT_DONE);
    case_is(x, "io-bound", CHECK_NOT_DONE);
    case_is(x, "cgroup-throttled", CHECK_NOT_DONE);
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

    case_samples(x, a, PY({"step", "a.py"}), 0, 1);
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
    const struct CMUnitTest tests[] = {
        T(loader_wait),
        T(loader_wait_without_wakers),
        T(loader_machinery),
        T(loader_in_the_main_thread),
        T(lock_wait),
        T(process_wait),
        T(blocked),
        T(children_in_turn),
        T(launcher),
        T(disk_is_no_process),
        T(process_wait_inferred),
        T(waits_beside_the_lock),
        T(hot_for_whom),
        T(hot_native_part),
        T(hot_imports),
        T(shared_cpu),
        T(sched_delay),
        T(gil_wait),
        T(gil_wait_of_others),
        T(python_gc),
        T(late_compile),
        T(late_imports),
        T(late_library),
        T(checkpoint),
        T(data_parallel),
        T(fork_after_threads),
        T(debug_switches),
        T(disturbed),
        T(swapping),
        T(hot_function),
        T(hot_marker),
        T(hot_kernel),
        T(own_rule),
        T(nothing_recorded),
        T(cuda_launches),
        T(hot_thread),
        T(one_thread),
        T(load_gap),
        T(step_outlier),
        T(too_few_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
