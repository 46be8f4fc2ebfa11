/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose main thread only waits: the report is about the threads that work. */
#include "rules_fixture.h"

#include "analyze/report.h"
#include "analyze/waits_top.h"

/* "A worker ..." */
static const struct finding *titled(const struct rules_case *x, const char *title)
{
    for (size_t i = 0; i < x->f.list.n; i++)
        if (!strcmp(x->f.list.a[i].title, title))
            return &x->f.list.a[i];
    for (size_t i = 0; i < x->f.list.n; i++)
        print_message("# %s\n", x->f.list.a[i].title);
    fail_msg("no finding \"%s\"", title);
    return NULL;
}

static uint32_t worker(struct rules_case *x, uint32_t tid)
{
    return case_task(x, 10, tid, 0, "work");
}

/* Four threads, joined: each waits 7 s for a mutex that another one holds asleep, sleeps 2 s, computes 1 s.
 */
static void convoy(struct rules_case *x)
{
    uint32_t lock = PY({"_bootstrap", "/usr/lib/python3.11/threading.py"}, {"work", "app.py"});
    uint32_t flush = PY({"work", "app.py"}, {"flush_log", "app.py"}), w[4];

    for (unsigned i = 0; i < 4; i++)
        w[i] = worker(x, 11 + i);
    for (unsigned i = 0; i < 4; i++) {
        case_wait(x, w[i], lock, 0, 7000,
                  (struct waiting){.reason = WAIT_FUTEX,
                                   .waker = w[(i + 1) % 4],
                                   .waker_stack = flush,
                                   .what = "futex 0x10 (mutex, held by work[12])"});
        case_wait(x, w[i], flush, 7000, 2000, (struct waiting){.reason = WAIT_SLEEP});
        case_samples(x, w[i], PY({"work", "app.py"}, {"handle", "app.py"}), 9000, 100);
    }
    case_wait(x, x->lead, PY({"join", "/usr/lib/python3.11/threading.py"}), 0, 10000,
              (struct waiting){.reason = WAIT_FUTEX, .waker = w[0], .what = "futex 0x20"});
}

static void joined(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    convoy(x);
    case_all(x);
    f = titled(x, "A worker waits for a lock, held up in work (app.py:7)");
    assert_string_equal(f->id, "lock-wait");
    assert_int_equal(f->cost_ns, 7 * SEC); /* 28 s of four threads */
    assert_non_null(strstr(f->evidence, "4 waits for futex 0x10 (mutex): 28.00 s"));
    assert_non_null(strstr(f->evidence, "sums over 4 threads, of which 4 at a time"));
    f = titled(x, "A worker sleeps, in flush_log");
    assert_int_equal(f->cost_ns, 2 * SEC);
    for (size_t i = 0; i < x->f.list.n; i++) /* that it is joined is no fault */
        assert_null(strstr(x->f.list.a[i].title, "The main thread"));
    assert_true(x->f.told_ns <= x->f.wall_ns);
}

/* The second bar: thread-seconds. */
static void bars(void **state)
{
    struct rules_case *x = *state;
    struct quality q = {0};
    struct report r = {0};
    struct report_opts o = {.rules = &x->set};
    struct err e = {0};
    uint64_t sum = 0;

    convoy(x);
    assert_int_equal(report_make(&r, &x->s, &q, &o, &e), 0);
    assert_string_equal(r.lead, "python3[10]");
    assert_string_equal(r.wall.a[0].key, "futex");
    assert_int_equal(r.wall.a[0].ns, 10 * SEC);
    assert_string_equal(r.crew, "4 threads (work)");
    assert_int_equal(r.crew_ns, 40 * SEC);
    for (size_t i = 0; i < r.crew_wall.n; i++) {
        if (!strcmp(r.crew_wall.a[i].key, "futex"))
            assert_int_equal(r.crew_wall.a[i].ns, 28 * SEC);
        if (!strcmp(r.crew_wall.a[i].key, "sleep"))
            assert_int_equal(r.crew_wall.a[i].ns, 8 * SEC);
        sum += r.crew_wall.a[i].ns;
    }
    assert_int_equal(sum, 40 * SEC);
    report_release(&r);
}

/* Handlers of a server: what they wait for a request is no time that anything costs. */
static void server(void **state)
{
    struct rules_case *x = *state;
    uint32_t recv = PY({"readinto", "/usr/lib/python3.11/socket.py"}),
             query = PY({"do_GET", "srv.py"}, {"query_db", "srv.py"});
    uint32_t other = case_task(x, 20, 20, 0, "client");

    case_wait(x, x->lead, PY({"select", "/usr/lib/python3.11/selectors.py"}), 0, 9900,
              (struct waiting){.reason = WAIT_POLL, .waker = other, .what = "tcp 0.0.0.0:80"});
    for (unsigned i = 0; i < 2; i++) {
        uint32_t handler = worker(x, 11 + i);

        case_wait(x, handler, recv, 0, 6000,
                  (struct waiting){.reason = WAIT_SOCKET,
                                   .irq = 1,
                                   .waker = other,
                                   .what = "tcp 10.0.0.1:80 - 10.0.0.2:4000 client[20]"});
        case_wait(x, handler, query, 6000, 3000, (struct waiting){.reason = WAIT_SLEEP});
        case_wait(x, handler, PY({"do_GET", "srv.py"}), 9000, 600, (struct waiting){.reason = WAIT_GIL});
        case_samples(x, handler, PY({"do_GET", "srv.py"}, {"encode", "srv.py"}), 9600, 40);
    }
    case_all(x);
    /* Each had 4 s of work in ten: on average one at a time. */
    assert_int_equal(titled(x, "A worker sleeps, in query_db")->cost_ns, 6 * SEC);
    assert_int_equal(titled(x, "A worker waits for Python's GIL, in do_GET")->cost_ns, 1200 * MS);
    for (size_t i = 0; i < x->f.list.n; i++) {
        assert_null(strstr(x->f.list.a[i].title, "poll"));
        assert_null(strstr(x->f.list.a[i].title, "process"));
    }
}

/* Waits for the GIL of all workers are claimed by their time. */
static void workers_gil(void **state)
{
    struct rules_case *x = *state;
    uint32_t encode = PY({"do_GET", "srv.py"}, {"encode", "srv.py"}), w[2];
    const struct finding *f;

    case_wait(x, x->lead, PY({"accept", "/usr/lib/python3.11/socket.py"}), 0, 10000,
              (struct waiting){.reason = WAIT_SOCKET, .irq = 1, .what = "tcp 0.0.0.0:80"});
    for (unsigned i = 0; i < 2; i++)
        w[i] = worker(x, 11 + i);
    for (unsigned i = 0; i < 2; i++) {
        struct waiting how = {.kind = EVENT_GIL, .reason = WAIT_GIL, .waker = w[!i], .waker_stack = encode};

        case_wait(x, w[i], encode, i * 5000, 5000, how);
        how.kind = 0;
        case_wait(x, w[i], encode, i * 5000, 5000, how);
        case_samples(x, w[i], encode, !i * 5000, 500);
    }
    f = case_found(x, "gil-wait");
    assert_string_equal(f->title, "Threads wait for Python's GIL, held in encode");
    assert_int_equal(f->cost_ns, 5 * SEC);
    assert_int_equal(f->certainty, FINDING_MEASURED);
}

/* A pool's threads that have nothing to do wait for a condition in the function that they loop in. */
static void idle_pool(void **state)
{
    struct rules_case *x = *state;
    uint32_t get = PY({"run", "/usr/lib/python3.11/threading.py"},
                      {"_worker", "/usr/lib/python3.11/concurrent/futures/thread.py"});
    uint32_t w[3];

    for (unsigned i = 0; i < 3; i++)
        w[i] = worker(x, 11 + i);
    for (unsigned i = 0; i < 3; i++) {
        case_wait(x, w[i], get, 0, 5000, (struct waiting){.reason = WAIT_FUTEX, .waker = w[(i + 1) % 3]});
        case_samples(x, w[i], PY({"crunch", "a.py"}), 5000, 300);
        case_wait(x, w[i], PY({"crunch", "a.py"}, {"read", "a.py"}), 8000, 2000,
                  (struct waiting){.reason = WAIT_DISK});
    }
    case_wait(x, x->lead, PY({"result", "/usr/lib/python3.11/concurrent/futures/_base.py"}), 0, 10000,
              (struct waiting){.reason = WAIT_FUTEX, .waker = w[0]});
    case_is(x, "lock-wait", CHECK_CLEAN);
    /* 15 s of work in ten: two at a time. */
    assert_int_equal(case_found(x, "io-bound")->cost_ns, 3 * SEC);
}

/* What works are processes that it started: its own threads only move what these make. */
static void processes_work(void **state)
{
    struct rules_case *x = *state;
    uint32_t pin = worker(x, 11), child = case_task(x, 20, 20, x->lead, "python3");
    uint32_t next = PY({"_next_data", "torch/utils/data/dataloader.py"});

    case_samples(x, child, PY({"slow_transform", "train.py"}), 0, 1000);
    case_samples(x, pin, PY({"do_one_step", "torch/utils/data/_utils/pin_memory.py"}), 0, 200);
    case_wait(x, x->lead, next, 0, 9500, (struct waiting){.reason = WAIT_FUTEX, .waker = pin});
    case_all(x);
    titled(x, "The main thread waits for its data loader, whose workers are in slow_transform");
}

/* What the main thread asks for, or sleeps for again and again, is its own doing, whoever works beside it. */
static void own_waits(void **state)
{
    struct rules_case *x = *state;
    uint32_t nap = PY({"pace", "a.py"}), watch = worker(x, 11);

    for (unsigned i = 0; i < 90; i++)
        case_wait(x, x->lead, nap, i * 100, 95, (struct waiting){.reason = WAIT_SLEEP, .irq = 1});
    case_samples(x, watch, PY({"watch", "a.py"}), 0, 50);
    case_wait(x, watch, PY({"watch", "a.py"}), 1000, 9000, (struct waiting){.reason = WAIT_SLEEP});
    assert_string_equal(case_found(x, "blocked")->title, "The main thread sleeps, in pace");
}

/* Processes that were forked before the first request: the main thread sleeps. */
static void forked(void **state)
{
    struct rules_case *x = *state;
    uint32_t query = PY({"handle", "srv.py"}, {"query_db", "srv.py"}), t;

    case_wait(x, x->lead, PY({"main", "srv.py"}), 0, 10000, (struct waiting){.reason = WAIT_SLEEP, .irq = 1});
    for (unsigned i = 0; i < 3; i++) {
        t = case_task(x, 20 + i, 20 + i, x->lead, "worker");
        case_wait(x, t, query, 0, 8000, (struct waiting){.reason = WAIT_SLEEP, .irq = 1});
        case_samples(x, t, PY({"handle", "srv.py"}, {"encode", "srv.py"}), 8000, 200);
    }
    assert_string_equal(case_found(x, "blocked")->title, "A worker sleeps, in query_db");
    assert_int_equal(x->f.list.a[0].cost_ns, 8 * SEC);
    /* What it gets from them is told of it. */
    case_wait(x, x->lead, PY({"main", "srv.py"}), 0, 10000,
              (struct waiting){.reason = WAIT_PIPE, .waker = t});
    x->s.store.events.a[0].dur = 0;
    case_all(x);
    titled(x, "The main thread waits for another process, worker, which is in query_db, asleep");
}

/* Threads that hardly work, one that the main thread wakes and one that sleeps and looks now and then, make
 * no crew; nor do others where the main thread is at work, too. */
static void no_crew(void **state)
{
    struct rules_case *x = *state;
    uint32_t pool = worker(x, 11), watch = worker(x, 12), busy;
    uint32_t ask = PY({"ask", "a.py"});

    case_wait(x, pool, NATIVE({"gomp_team_barrier_wait_end", NULL}), 0, 9000,
              (struct waiting){.reason = WAIT_FUTEX, .waker = x->lead});
    case_samples(x, pool, NATIVE({"gomp_thread_start", NULL}), 9000, 10);
    case_wait(x, watch, PY({"watch", "a.py"}), 0, 10000, (struct waiting){.reason = WAIT_SLEEP});
    case_samples(x, watch, PY({"watch", "a.py"}), 9000, 1);
    case_wait(x, x->lead, ask, 0, 9000, (struct waiting){.reason = WAIT_SOCKET, .irq = 1});
    assert_string_equal(case_found(x, "blocked")->title, "The main thread waits for a socket, in ask");
    busy = worker(x, 13);
    case_samples(x, busy, PY({"crunch", "a.py"}), 0, 1000);
    assert_string_equal(case_found(x, "hot-function")->title,
                        "Much of the CPU time is in crunch"); /* a crew */
    case_samples(x, x->lead, PY({"step", "a.py"}), 0, 900);
    x->s.store.events.a[x->s.store.events.n - 1].ts = START;
    for (size_t i = 0; i < x->s.store.events.n; i++) /* the main thread waits for half as long */
        if (x->s.store.events.a[i].stack == ask)
            x->s.store.events.a[i].dur = 4 * SEC;
    assert_string_equal(case_found(x, "blocked")->title, "The main thread waits for a socket, in ask");
}

/* A thread for each request, one after the other, of 20 ms each; the ends of some were not seen. */
static void short_threads(void **state)
{
    struct rules_case *x = *state;
    uint32_t join = NATIVE({"main", "a.c"}, {"pthread_join", NULL});
    const struct finding *f;

    x->s.store.tasks.list.a[x->lead - 1].cpu_ns = SEC; /* CPU times are known */
    for (unsigned i = 0; i < 400; i++) {
        uint32_t t = worker(x, 1000 + i);

        x->s.store.tasks.list.a[t - 1].first_ns = START + (i * 25 + 1) * MS;
        if (i % 2) {
            x->s.store.tasks.list.a[t - 1].last_ns = START + (i * 25 + 21) * MS;
            x->s.store.tasks.list.a[t - 1].cpu_ns = 5 * MS;
        }
        case_samples(x, t, NATIVE({"start_thread", NULL}, {"compute_reply", "a.c"}), i * 25 + 10, 1);
        case_wait(x, x->lead, join, i * 25, 20,
                  (struct waiting){.reason = WAIT_FUTEX, .waker = t, .what = "futex 0x10"});
    }
    f = case_found(x, "short-tasks");
    assert_non_null(strstr(f->title, "The main thread waits for threads that it starts, "));
    assert_non_null(strstr(f->title, " each, which are in compute_reply"));
    assert_non_null(strstr(f->evidence, "400 threads (work) were started"));
    assert_non_null(strstr(f->evidence, "each with 5 ms on a CPU"));
    assert_int_equal(f->cost_ns, 8 * SEC);
    assert_non_null(strstr(f->advice, "a pool"));
    case_all(x); /* the same time is no other finding's */
    assert_string_equal(x->f.list.a[0].id, "short-tasks");
    for (size_t i = 0; i < x->f.list.n; i++)
        assert_string_not_equal(x->f.list.a[i].id, "lock-wait");
}

/* What many of one name end, and what many of one name wait for, is a row each. */
static void rows_of_many(void **state)
{
    struct rules_case *x = *state;
    struct table t;

    for (unsigned i = 0; i < 40; i++) {
        uint32_t w = worker(x, 1000 + i);

        case_wait(x, x->lead, NATIVE({"main", "a.c"}), i * 100, 50,
                  (struct waiting){.reason = WAIT_FUTEX, .waker = w, .what = "futex 0x10"});
        if (i < 30)
            case_wait(x, w, NATIVE({"work", "a.c"}), i * 100, 10, (struct waiting){.reason = WAIT_SLEEP});
    }
    waits_top(&t, &x->s, 0);
    assert_int_equal(table_rows(&t), 2);
    assert_string_equal(t.cells.a[0].text, "python3");
    assert_int_equal(t.cells.a[1].count, 10);
    assert_int_equal(t.cells.a[2].count, 2 * SEC);
    assert_string_equal(t.cells.a[8].text, "work, 40 threads");
    assert_int_equal(t.cells.a[9].count, 0);
    assert_string_equal(t.cells.a[t.ncolumns + 0].text, "work, 30 threads");
    assert_int_equal(t.cells.a[t.ncolumns + 4].count, 30);
    table_release(&t);
}

/* The same of processes, which are mostly in becoming one; and few of them, or long ones, are none. */
static void short_processes(void **state)
{
    struct rules_case *x = *state;
    uint32_t exec = case_stack_of(x, (const struct at[]){{"_dl_start", NULL}, {NULL, NULL}}, FRAME_NATIVE,
                                  "/usr/lib/ld-linux-x86-64.so.2");
    uint32_t wait = PY({"main", "a.py"}, {"wait", "/usr/lib/python3.11/subprocess.py"});
    const struct finding *f;

    for (unsigned i = 0; i < 60; i++) {
        uint32_t t = case_task(x, 1000 + i, 1000 + i, x->lead, "sed");

        x->s.store.tasks.list.a[t - 1].first_ns = START + (i * 100 + 1) * MS;
        x->s.store.tasks.list.a[t - 1].last_ns = START + (i * 100 + 4) * MS;
        case_samples(x, t, exec, i * 100 + 3, 1);
        case_wait(x, x->lead, wait, i * 100, 80, (struct waiting){.reason = WAIT_CHILD, .waker = t});
        if (i == 40)
            case_is(x, "short-tasks", CHECK_CLEAN);
    }
    f = case_found(x, "short-tasks");
    assert_string_equal(f->title, "The main thread waits for processes that it starts, 3 ms each");
    assert_non_null(strstr(f->evidence, "60 processes (sed)"));
    assert_non_null(strstr(f->evidence, "100.0 % of 60 samples"));
    for (size_t i = 0; i < x->s.store.tasks.list.n; i++)
        if (x->s.store.tasks.list.a[i].last_ns)
            x->s.store.tasks.list.a[i].last_ns += 50 * MS;
    case_is(x, "short-tasks", CHECK_CLEAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(joined),    T(bars),           T(server),       T(workers_gil),
                                       T(idle_pool), T(processes_work), T(no_crew),      T(forked),
                                       T(own_waits), T(short_threads),  T(rows_of_many), T(short_processes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
