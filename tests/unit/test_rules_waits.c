/* SPDX-License-Identifier: Apache-2.0 */
/* What rules say of waits: for whom, held up in what. */
#include "rules_fixture.h"

#include "analyze/waits_top.h"
#include "render/text.h"

/* A pool of threads is no loader; its workers' own work may be what is sent to them. */
static void pool_workers(void **state)
{
    struct rules_case *x = *state;
    uint32_t thread = case_task(x, 10, 11, 0, "python3"), worker = case_task(x, 20, 20, x->lead, "python3");
    uint32_t result = PY({"result_iterator", "/usr/lib/python3.11/concurrent/futures/_base.py"});
    uint32_t next = PY({"IMapIterator.next", "/usr/lib/python3.11/multiprocessing/pool.py"});
    uint32_t get = PY({"worker", "/usr/lib/python3.11/multiprocessing/pool.py"},
                      {"SimpleQueue.get", "/usr/lib/python3.11/multiprocessing/queues.py"});
    const struct finding *f;

    case_samples(x, thread, PY({"call_api", "a.py"}), 0, 300);
    case_wait(x, x->lead, result, 0, 3000, (struct waiting){.reason = WAIT_FUTEX, .waker = thread});
    case_is(x, "loader-wait", CHECK_CLEAN);
    assert_string_equal(case_found(x, "lock-wait")->title,
                        "The main thread waits for another thread, held up in call_api (a.py:7)");
    case_samples(x, worker, get, 3000, 400);
    case_wait(x, x->lead, next, 3000, 4000, (struct waiting){.reason = WAIT_FUTEX, .waker = worker});
    f = case_found(x, "loader-wait");
    assert_string_equal(f->title, "The main thread waits for its pool's workers");
    assert_non_null(strstr(f->advice, "chunksize"));
    assert_null(strstr(f->evidence, "on the CPU"));
}

/* Waits in libc are those of who calls it, and code without a name is its program's. */
static void native_places(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 10, 11, 0, "worker");
    uint32_t lookup = NATIVE({"main", NULL}, {"lookup", "lock.c"}),
             work = NATIVE({"rebuild_index", "lock.c"});
    struct module libc = {.kind = MODULE_FILE, .fd = -1, .path = case_str(x, "/usr/lib/libc.so.6")};
    struct module gzip = {.kind = MODULE_FILE, .fd = -1, .path = case_str(x, "/usr/bin/gzip")};
    struct frame futex = {.kind = FRAME_NATIVE, .func = case_str(x, "__futex_abstimed_wait_common")};
    struct frame nap = {.kind = FRAME_NATIVE, .func = case_str(x, "clock_nanosleep")}, start = nap,
                 code = nap;
    uint32_t at;

    futex.module = nap.module = start.module = frames_add_module(&x->s.store.frames, &libc);
    code.module = frames_add_module(&x->s.store.frames, &gzip);
    lookup = stacks_push(&x->s.store.stacks, lookup, frames_add(&x->s.store.frames, &futex));
    work = stacks_push(&x->s.store.stacks, work, frames_add(&x->s.store.frames, &nap));
    case_wait(x, other, work, 0, 3000, (struct waiting){.reason = WAIT_SLEEP});
    case_wait(x, x->lead, lookup, 0, 3000, (struct waiting){.reason = WAIT_FUTEX, .waker = other});
    assert_string_equal(case_found(x, "lock-wait")->title,
                        "The main thread waits for another thread, held up in rebuild_index (lock.c:7)");
    assert_string_equal(x->f.list.a[0].line, "lookup (lock.c:7)");
    start.func = case_str(x, "__libc_start_call_main");
    at = stacks_push(&x->s.store.stacks, 0, frames_add(&x->s.store.frames, &start));
    for (unsigned i = 0; i < 4; i++) { /* none of them has a third */
        char name[32];

        snprintf(name, sizeof(name), "[gzip+0x%u]", 1000 + i);
        code.func = case_str(x, name);
        case_samples(x, x->lead, stacks_push(&x->s.store.stacks, at, frames_add(&x->s.store.frames, &code)),
                     4000 + i * 400, 40);
    }
    assert_string_equal(case_found(x, "hot-function")->title,
                        "Much of the CPU time is in gzip, whose functions have no names");
}

/* The other end of a connection is a thread of the same process, or of several. */
static void other_end(void **state)
{
    struct rules_case *x = *state;
    uint32_t ask = PY({"ask", "a.py"}), serve = PY({"do_GET", "net.py"});
    const struct finding *f;

    for (unsigned i = 0; i < 20; i++) {
        uint32_t server = case_task(x, 10, 11 + i, 0, "python3");

        case_wait(x, server, serve, i * 200, 180, (struct waiting){.reason = WAIT_SLEEP});
        case_wait(x, x->lead, ask, i * 200 + 1, 185,
                  (struct waiting){.reason = WAIT_SOCKET, .waker = server, .waker_stack = serve});
    }
    f = case_found(x, "blocked");
    assert_string_equal(f->title, "The main thread waits for a socket, held up in do_GET (net.py:7), asleep");
    assert_string_equal(f->line, "ask (a.py:7)");
    assert_non_null(strstr(f->evidence,
                           "20 of python3 were what ended the waits, mostly in do_GET (net.py:7), "
                           "asleep."));
    assert_non_null(strstr(f->advice, "other end"));
}

/* An interrupt brought what another process had sent, as far as can be told. */
static void sent_by_interrupt(void **state)
{
    struct rules_case *x = *state;
    uint32_t server = case_task(x, 30, 30, 0, "server"), serve = PY({"do_GET", "net.py"});
    struct frame mark = {.kind = FRAME_MARKER, .func = case_str(x, "[inferred]")};
    uint32_t at = stacks_push(&x->s.store.stacks, 0, frames_add(&x->s.store.frames, &mark));
    const struct finding *f;

    case_wait(x, server, serve, 0, 2900, (struct waiting){.reason = WAIT_SLEEP, .irq = 1});
    case_wait(x, x->lead, PY({"ask", "a.py"}), 0, 3000,
              (struct waiting){.reason = WAIT_SOCKET, .waker = server, .waker_stack = at, .irq = 1});
    f = case_found(x, "process-wait");
    assert_string_equal(f->title,
                        "The main thread waits for another process, server, which is in do_GET, asleep");
    assert_int_equal(f->certainty, FINDING_LIKELY);
    assert_non_null(f->why);
}

/* Nobody knows who ended most of the waits: they are told as before. */
static void far_end(void **state)
{
    struct rules_case *x = *state;
    uint32_t server = case_task(x, 10, 11, 0, "python3"), serve = PY({"do_GET", "net.py"});

    case_wait(x, server, serve, 0, 480, (struct waiting){.reason = WAIT_SLEEP});
    case_wait(x, x->lead, PY({"ask", "a.py"}), 0, 500,
              (struct waiting){.reason = WAIT_SOCKET, .waker = server, .waker_stack = serve});
    case_wait(x, x->lead, PY({"ask", "a.py"}), 1000, 2000, (struct waiting){.reason = WAIT_SOCKET});
    assert_string_equal(case_found(x, "blocked")->title, "The main thread waits for a socket, in ask");
}

/* Others connect to it. */
static void listening_loop(void **state)
{
    struct rules_case *x = *state;
    uint32_t select = PY({"BaseEventLoop._run_once", "/usr/lib/python3.11/asyncio/base_events.py"},
                         {"EpollSelector.select", "/usr/lib/python3.11/selectors.py"});
    struct graph_id id = {.kind = GRAPH_SOCKET, .field = {"10.0.0.1", "80", "TCP"}};
    struct graph_node *other = graph_process(&x->g, 11, 1, 10), *process = graph_process(&x->g, 10, 1, 10);

    graph_set_int(&x->g, &process->attrs, "pid", 10);
    graph_set_int(&x->g, &other->attrs, "pid", 11);
    case_wait(x, x->lead, select, 0, 5000, (struct waiting){.reason = WAIT_POLL});
    graph_edge(&x->g, GRAPH_EDGE_LISTEN, other, graph_add(&x->g, &id));
    case_is(x, "blocked", CHECK_FOUND);
    graph_edge(&x->g, GRAPH_EDGE_LISTEN, process, graph_add(&x->g, &id));
    case_is(x, "blocked", CHECK_CLEAN);
}

/* A server's event loop that waits for what comes next, where its requests are marked. */
static void idle_loop(void **state)
{
    struct rules_case *x = *state;
    uint32_t select = PY({"BaseEventLoop._run_once", "/usr/lib/python3.11/asyncio/base_events.py"},
                         {"EpollSelector.select", "/usr/lib/python3.11/selectors.py"});

    case_wait(x, x->lead, select, 0, 5000, (struct waiting){.reason = WAIT_POLL});
    case_is(x, "blocked", CHECK_FOUND);
    case_mark(x, "request 1", 5000, 100);
    case_is(x, "blocked", CHECK_CLEAN);
}

/* Python's lock is a lock; waiting for a condition with it is none. */
static void python_lock(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 10, 11, 0, "worker");
    uint32_t wait = PY({"step", "a.py"});
    struct frame f = {.kind = FRAME_NATIVE, .func = case_str(x, "PyThread_acquire_lock_timed")};

    wait = stacks_push(&x->s.store.stacks, wait, frames_add(&x->s.store.frames, &f));
    case_samples(x, other, PY({"hog", "a.py"}), 0, 300);
    case_wait(x, x->lead, wait, 0, 3000, (struct waiting){.reason = WAIT_FUTEX, .waker = other});
    assert_string_equal(case_found(x, "lock-wait")->title,
                        "The main thread waits for a lock, held up in hog (a.py:7)");
    assert_string_equal(x->f.list.a[0].line, "step (a.py:7)");
}

/* One lock, whoever holds it. */
static void lock_of_many(void **state)
{
    struct rules_case *x = *state;
    char what[64];
    const struct finding *f;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t other = case_task(x, 10, 11 + i, 0, "worker");

        snprintf(what, sizeof(what), "futex 0x10 (mutex, held by worker[%u])", 11 + i);
        case_samples(x, other, PY({"hog", "a.py"}), i * 1000, 100);
        case_wait(x, x->lead, PY({"step", "a.py"}), i * 1000, 900,
                  (struct waiting){.reason = WAIT_FUTEX, .waker = other, .what = what});
    }
    f = case_found(x, "lock-wait");
    assert_int_equal(x->f.list.n, 1);
    assert_int_equal(f->cost_ns, 3600 * MS);
    assert_non_null(strstr(f->evidence, "4 waits for futex 0x10 (mutex): 3.6"));
    assert_non_null(strstr(f->evidence, "worker[11], worker[12], worker[13] and 1 more"));
}

/* Waits that were only summed up cost what they took, between the listed ones. */
static void short_waits(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    case_wait(x, x->lead, PY({"ask", "a.py"}), 0, 400, (struct waiting){.reason = WAIT_PIPE});
    case_is(x, "blocked", CHECK_CLEAN);
    case_short(x, x->lead, WAIT_PIPE, 3000, 50000);
    f = case_found(x, "blocked");
    assert_true(f->cost_ns > 3399 * MS && f->cost_ns <= 3400 * MS);
    assert_string_equal(f->title, "The main thread waits for a pipe, in ask");
    assert_non_null(strstr(f->evidence, "1 wait and 50,000 shorter ones, 3.40 s in all"));
    assert_int_equal(f->certainty, FINDING_LIKELY);
}

/* A lock of a file that another process has. */
static void file_lock(void **state)
{
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 30, 30, 0, "worker"), work = PY({"write_log", "log.py"});
    const struct finding *f;

    case_wait(x, other, work, 0, 1900, (struct waiting){.reason = WAIT_SLEEP});
    case_wait(
        x, x->lead, PY({"write_log", "log.py"}), 0, 2000,
        (struct waiting){.reason = WAIT_LOCK, .waker = other, .waker_stack = work, .what = "/x/log.txt"});
    f = case_found(x, "process-wait");
    assert_string_equal(
        f->title,
        "The main thread waits for a file lock, of log.txt, held up in write_log (log.py:7), asleep");
    assert_non_null(strstr(f->advice, "Hold the lock for less"));
}

/* A server that was there before and was not recorded, with a thread for each connection. */
static void not_recorded(void **state)
{
    struct rules_case *x = *state;
    uint32_t leader = case_task(x, 30, 30, 0, "server"), serve = PY({"serve", "srv.py"});
    const struct finding *f;

    assert_true(leader > 0);
    for (unsigned i = 0; i < 20; i++)
        case_wait(x, x->lead, PY({"ask", "a.py"}), i * 200, 150,
                  (struct waiting){.reason = WAIT_SOCKET,
                                   .waker = case_task(x, 30, 31 + i, 0, "server"),
                                   .waker_stack = serve});
    f = case_found(x, "process-wait");
    assert_string_equal(f->title, "The main thread waits for another process, server, which is in serve");
    assert_non_null(strstr(f->evidence, "For 3.00 s of it server[30] was what ended the waits"));
    assert_int_equal(f->certainty, FINDING_LIKELY);
}

/* Waits of such lengths, in us, that interrupts ended. */
static void timed_waits(struct rules_case *x, const unsigned *us, unsigned n, uint32_t sender)
{
    struct wait w = {.reason = WAIT_POLL, .irq = 1, .waker_task = sender, .what = case_str(x, "udp :53")};

    for (unsigned i = 0; i < n; i++)
        *vec_push(&x->s.store.events) = (struct event){.kind = EVENT_OFFCPU,
                                                       .ts = START + i * SEC,
                                                       .dur = us[i] * 1000ull,
                                                       .value = 1,
                                                       .task = x->lead,
                                                       .stack = PY({"resolve", "dns.py"}),
                                                       .attr = waits_add(&x->s.store.waits, &w)};
}

static int ended_by(struct rules_case *x, const char *who)
{
    struct table t;
    int found = 0;

    waits_top(&t, &x->s, 0);
    for (size_t i = 0; i < t.cells.n; i++)
        if (t.columns[i % t.ncolumns].type == TABLE_TEXT && t.cells.a[i].text)
            found |= !strcmp(t.cells.a[i].text, who);
    table_release(&t);
    return found;
}

static void timeouts(void **state)
{
    static const unsigned same[] = {800090, 801200, 800300, 801500, 90000};
    struct rules_case *x = *state;
    const struct finding *f;

    timed_waits(x, same, 5, 0);
    f = case_found(x, "blocked");
    assert_string_equal(f->title, "The main thread waits in poll or select, in resolve, until it times out");
    assert_non_null(strstr(f->evidence, "4 waits ran into a timeout of 800 ms, 3.20 s in all, for udp :53."));
    assert_int_equal(f->certainty, FINDING_LIKELY);
    assert_true(ended_by(x, "[timer]") && ended_by(x, "[irq]")); /* the fifth */
}

/* Answers take as long as they take; two of the same length are chance; somebody sent what came. */
static void answers(void **state)
{
    static const unsigned differ[] = {803000, 617000, 948000, 805500, 702000}, two[] = {800090, 800200};
    static const unsigned same[] = {800090, 801200, 800300};
    struct rules_case *x = *state;
    uint32_t other = case_task(x, 20, 20, 0, "server");

    timed_waits(x, differ, 5, 0);
    timed_waits(x, two, 2, 0);
    timed_waits(x, same, 3, other);
    assert_null(strstr(case_found(x, "blocked")->title, "times out"));
    assert_false(ended_by(x, "[timer]"));
}

/* In a terminal of 80 columns who and where stay, tids go. */
static void waits_on_80_columns(void **state)
{
    struct text_style style = {.width = 80};
    struct rules_case *x = *state;
    uint32_t worker = case_task(x, 20, 20, 0, "pt_data_worker"),
             work = PY({"slow_transform_of_a_batch", "a.py"});
    struct table t;
    struct buf out = {0};

    case_wait(x, x->lead, PY({"DataLoader.__next__", "t.py"}), 0, 2000,
              (struct waiting){.reason = WAIT_PIPE,
                               .waker = worker,
                               .waker_stack = work,
                               .what = "pipe:[1234567] <- pt_data_worker[20]"});
    case_samples(x, worker, work, 0, 190);
    waits_top(&t, &x->s, 0);
    text_table(&t, "Waits", &style, &out);
    for (const char *line = buf_str(&out), *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(end - line <= 80);
    assert_non_null(strstr(buf_str(&out), "DataLoader.__next__"));
    assert_non_null(strstr(buf_str(&out), "slow_transform_of_a_"));
    assert_non_null(strstr(buf_str(&out), "left out to fit the terminal: "));
    buf_release(&out);
    table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(pool_workers), T(native_places),  T(other_end),   T(sent_by_interrupt), T(far_end),
        T(idle_loop),    T(listening_loop), T(python_lock), T(lock_of_many),      T(short_waits),
        T(file_lock),    T(not_recorded),   T(timeouts),    T(answers),           T(waits_on_80_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
