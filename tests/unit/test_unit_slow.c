/* SPDX-License-Identifier: Apache-2.0 */
/* Slow requests against typical ones: whose doing the time of each was, where requests overlap on several
 * threads. */
#include "rules_fixture.h"

#include "analyze/unit_tables.h"

enum { TYPICAL = 40, SLOW_ONES = 2 };

static void thread_mark(struct rules_case *x, uint32_t task, const char *text, uint64_t from, uint64_t ms,
                        int joined)
{
    struct event *ev;

    case_mark(x, text, from, ms);
    ev = &x->s.store.events.a[x->s.store.events.n - 1];
    ev->task = task;
    ev->flags = joined ? EVENT_JOINED : 0;
}

struct server {
    uint32_t reader, other, tokenizer; /* threads; the main one runs the model */
    uint32_t tokenize, forward, wait;  /* stacks */
};

static void server_init(struct server *v, struct rules_case *x)
{
    v->reader = case_task(x, 10, 11, 0, "python3");
    v->other = case_task(x, 10, 12, 0, "python3");
    v->tokenizer = case_task(x, 10, 13, 0, "python3");
    v->tokenize = PY({"handler", "serve.py"}, {"tokenize", "serve.py"});
    v->forward = PY({"run_model", "serve.py"}, {"forward", "serve.py"});
    v->wait = PY({"handler", "serve.py"}, {"wait", "serve.py"});
}

/* The reader has it for 2 ms, then it is queued for `queued` ms, in which the model is at other work, then in
 * a batch, in which the model waits for the GIL for `gil` ms and computes for 6 ms. */
static void request(struct rules_case *x, const struct server *v, unsigned number, uint64_t at,
                    uint64_t queued, uint64_t gil)
{
    uint64_t whole = 2 + queued + gil + 6;
    char name[32];

    snprintf(name, sizeof(name), "request %u", number);
    thread_mark(x, v->reader, name, at, whole, 0);
    thread_mark(x, x->lead, name, at + 2 + queued, gil + 6, 1);
    case_wait(x, v->reader, v->wait, at + 2, whole - 2,
              (struct waiting){.reason = WAIT_FUTEX, .waker = x->lead});
    if (gil)
        case_wait(x, x->lead, v->forward, at + 2 + queued, gil,
                  (struct waiting){EVENT_GIL, WAIT_GIL, v->tokenizer, v->tokenize, NULL});
    case_samples(x, x->lead, v->forward, at + whole - 3, 1);
}

static void fill(struct rules_case *x, struct server *v)
{
    server_init(v, x);
    for (unsigned i = 0; i < TYPICAL; i++)
        request(x, v, i, i * 100, 2, 0);
    for (unsigned i = 0; i < SLOW_ONES; i++)
        request(x, v, TYPICAL + i, 5000 + i * 200, 12, 80);
}

struct looked {
    struct units u;
    struct units_choice choice;
    struct unit_slow slow;
    struct places places;
};

static int look(struct looked *l, const struct rules_case *x, const char *kind)
{
    *l = (struct looked){0};
    units_collect(&l->u, &x->s);
    assert_int_equal(units_choose_kind(&l->choice, &l->u, kind, NULL), 0);
    places_init(&l->places, &x->s.store);
    return unit_slow_init(&l->slow, &x->s, &l->u, &l->choice);
}

static void looked_release(struct looked *l)
{
    places_release(&l->places);
    unit_slow_release(&l->slow);
    units_choice_release(&l->choice);
    units_release(&l->u);
}

static uint64_t each(const struct looked *l, int side, unsigned cause)
{
    return (uint64_t)(unit_slow_each(&l->slow, side, l->slow.side[side].cause[cause]) / 1e6 + 0.5);
}

static void held_up_by_the_gil(void **state)
{
    struct rules_case *x = *state;
    struct server v;
    struct looked l;
    struct buf words = {0};

    fill(x, &v);
    assert_int_equal(look(&l, x, "request"), 1);
    assert_int_equal(l.slow.figures.n, TYPICAL + SLOW_ONES);
    assert_int_equal(l.slow.figures.median, 10 * MS);
    assert_int_equal(l.slow.figures.p95, 10 * MS);
    assert_int_equal(l.slow.figures.p99, 100 * MS);
    assert_int_equal(l.slow.figures.max, 100 * MS);
    assert_int_equal(l.slow.side[COMPARISON_NEW].units.n, SLOW_ONES);
    assert_int_equal(l.slow.side[COMPARISON_BASE].units.n, TYPICAL);
    assert_int_equal(l.slow.side[COMPARISON_NEW].ns, SLOW_ONES * 100 * MS); /* every ns has a cause */
    assert_int_equal(l.slow.side[COMPARISON_BASE].ns, TYPICAL * 10 * MS);
    assert_int_equal(l.slow.order[0], UNIT_GIL);
    assert_int_equal(each(&l, COMPARISON_NEW, UNIT_GIL), 80);
    assert_int_equal(each(&l, COMPARISON_BASE, UNIT_GIL), 0);
    assert_int_equal(each(&l, COMPARISON_NEW, UNIT_RAN), 8); /* 2 of the reader's, 6 of the model's */
    assert_int_equal(each(&l, COMPARISON_NEW, UNIT_OTHER),
                     12); /* queued while the model did something else */
    assert_int_equal(l.slow.side[COMPARISON_NEW].queued, SLOW_ONES * 12 * MS);
    assert_int_equal(l.slow.side[COMPARISON_BASE].queued, TYPICAL * 2 * MS);
    assert_int_equal(unit_slow_task(&l.slow, UNIT_GIL), v.tokenizer);
    unit_slow_words(&l.slow, &l.places, "request", UNIT_GIL, &words);
    assert_string_equal(
        buf_str(&words),
        "The slowest 2 of 42 requests take 100 ms on average, typical ones 10 ms (p50 10 ms, p95 10 ms, "
        "p99 100 ms). 88.9 % of what they take more: waits for the GIL, held in tokenize (serve.py:7), "
        "80 ms each instead of 0 ns. Before a thread took it up: 12 ms of a slow one, 2 ms of a typical "
        "one.");
    buf_release(&words);
    looked_release(&l);
}

/* Slow ones compute ten times as much, and queue for it on a busy machine: that follows. Where they compute
 * no more, it is that they get no CPU. */
static void queueing_follows(void **state)
{
    struct rules_case *x = *state;
    struct looked l;
    uint32_t work = PY({"slow_path", "app.py"});
    char name[32];

    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < 42; i++) {
            uint64_t ran = i < 40 ? 4 : k ? 4 : 40, queued = i < 40 ? 6 : 150;
            uint64_t at = k * 5000 + (i < 40 ? i * 50 : 2000 + (i - 40) * 300);

            snprintf(name, sizeof(name), "%s %u", k ? "call" : "request", i);
            case_mark(x, name, at, ran + queued);
            case_wait(x, x->lead, 0, at, queued, (struct waiting){.kind = EVENT_RUNQ});
            case_samples(x, x->lead, work, at + queued, 1);
        }
        assert_int_equal(look(&l, x, k ? "call" : "request"), 1);
        assert_int_equal(unit_slow_queue_follows(&l.slow), !k);
        assert_int_equal(l.slow.order[0], k ? UNIT_NO_CPU : UNIT_RAN);
        looked_release(&l);
    }
    assert_string_equal(case_found(x, "slow-units")->title,
                        "Slow requests spend it on the CPU, in slow_path");
    assert_non_null(strstr(x->f.list.a[0].evidence, "So they wait for a CPU longer, too"));
}

/* Two at a time on two threads: each has its own thread's time. The second is of an old program: its mark
 * names none. */
static void overlapping(void **state)
{
    struct rules_case *x = *state;
    struct server v;
    struct looked l;
    char name[32];

    server_init(&v, x);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "request %u", 2 * i);
        thread_mark(x, v.reader, name, i * 100, 10, 0);
        snprintf(name, sizeof(name), "request %u", 2 * i + 1);
        thread_mark(x, v.other, name, i * 100 + 5, 10, 0);
    }
    thread_mark(x, v.other, "request 40", 5000, 200, 0);
    thread_mark(x, v.reader, "request 41", 5000, 210, 0);
    case_wait(x, v.other, v.wait, 5000, 190, (struct waiting){.reason = WAIT_DISK});
    case_samples(x, v.reader, v.tokenize, 5005, 20);
    assert_int_equal(look(&l, x, "request"), 1);
    assert_int_equal(l.slow.side[COMPARISON_NEW].units.n, 2);
    assert_int_equal(l.slow.side[COMPARISON_NEW].cause[UNIT_BLOCKED + WAIT_DISK], 190 * MS);
    assert_int_equal(l.slow.side[COMPARISON_NEW].cause[UNIT_RAN], 220 * MS);
    assert_int_equal(l.slow.side[COMPARISON_NEW].queued, 0);
    looked_release(&l);
}

/* Nobody joins it: who ended the wait is who held it up, and who held that one up ... */
static void followed(void **state)
{
    struct rules_case *x = *state;
    struct server v;
    struct looked l;
    char name[32];

    server_init(&v, x);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "request %u", i);
        thread_mark(x, v.reader, name, i * 100, 10, 0);
    }
    thread_mark(x, v.reader, "request 20", 5000, 200, 0);
    case_wait(x, v.reader, v.wait, 5000, 200, (struct waiting){.reason = WAIT_FUTEX, .waker = v.other});
    case_wait(x, v.other, v.forward, 5000, 150,
              (struct waiting){EVENT_GIL, WAIT_GIL, v.tokenizer, v.tokenize, NULL});
    case_samples(x, v.other, v.forward, 5155, 5);
    assert_int_equal(look(&l, x, "request"), 1);
    assert_int_equal(l.slow.side[COMPARISON_NEW].cause[UNIT_GIL], 150 * MS);
    assert_int_equal(l.slow.side[COMPARISON_NEW].cause[UNIT_OTHER], 50 * MS);
    looked_release(&l);
}

static void joined_units(void **state)
{
    struct rules_case *x = *state;
    uint32_t process = case_task(x, 20, 20, 0, "worker"), thread;
    struct server v;
    struct units u;

    server_init(&v, x);
    thread = v.other;
    thread_mark(x, v.reader, "request 1", 100, 50, 0);
    thread_mark(x, process, "request 1", 100, 50, 0);
    thread_mark(x, thread, "request 1", 110, 500, 1); /* never left: it ends with the request */
    thread_mark(x, process, "request 1", 120, 10, 1); /* of its own process's */
    thread_mark(x, thread, "request 1", 300, 10, 1);  /* it is over */
    thread_mark(x, thread, "request 2", 100, 10, 1);  /* there is none */
    units_collect(&u, &x->s);
    assert_int_equal(u.list.n, 2);
    assert_int_equal(u.joins.n, 2);
    for (size_t i = 0; i < u.joins.n; i++) {
        const struct unit_join *j = &u.joins.a[i];
        int own = u.list.a[j->unit].task == process;

        assert_int_equal(j->task, own ? process : thread);
        assert_int_equal(j->start, START + (own ? 120 : 110) * MS);
        assert_int_equal(j->end, START + (own ? 130 : 150) * MS);
        assert_int_equal(units_first_join(&u, j->unit), i);
    }
    units_release(&u);
}

static void as_a_profile(void **state)
{
    struct rules_case *x = *state;
    struct comparison c;
    struct server v;
    struct looked l;
    struct table t;

    fill(x, &v);
    look(&l, x, "request");
    unit_slow_compare(&l.slow, &x->s, "request", &c);
    assert_int_equal(c.tree.metrics.a[COMPARISON_BASE].sum, TYPICAL * 10 * MS);
    assert_int_equal(c.tree.metrics.a[COMPARISON_NEW].sum, SLOW_ONES * 100 * MS);
    for (size_t i = 1; i < c.tree.nodes.n; i++)
        assert_true(c.tree.nodes.a[i].parent < i);
    unit_stacks_table(&t, &c, 1);
    assert_string_equal(t.cells.a[2].text, "[waits for the GIL];handler (serve.py);tokenize (serve.py)");
    assert_int_equal(t.cells.a[0].count, 80 * MS);
    assert_int_equal(t.cells.a[1].count, 0);
    assert_true(t.left_out > 0);
    table_release(&t);
    unit_causes_table(&t, &l.slow, &l.places);
    assert_string_equal(t.cells.a[0].text, "all");
    assert_string_equal(t.cells.a[t.ncolumns].text, "gil");
    assert_string_equal(t.cells.a[t.ncolumns + 6].text, "tokenize (serve.py:7)");
    table_release(&t);
    comparison_release(&c);
    looked_release(&l);
}

static void none_slow(void **state)
{
    struct rules_case *x = *state;
    struct server v;
    struct looked l;
    struct table t;

    server_init(&v, x);
    for (unsigned i = 0; i < 12; i++)
        request(x, &v, i, i * 100, 2 + i % 3, 0);
    assert_int_equal(look(&l, x, "request"), 0);
    assert_int_equal(l.slow.figures.n, 12);
    assert_int_equal(l.slow.ncauses, 0);
    unit_causes_table(&t, &l.slow, &l.places);
    assert_int_equal(table_rows(&t), 0);
    table_release(&t);
    unit_kinds_table(&t, &l.u, 0);
    assert_int_equal(table_rows(&t), 1);
    table_release(&t);
    looked_release(&l);
    case_is(x, "slow-units", CHECK_CLEAN);
}

static void the_rule(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;
    struct server v;

    fill(x, &v);
    f = case_found(x, "slow-units");
    assert_string_equal(f->title, "Slow requests wait for Python's GIL, held in tokenize");
    assert_int_equal(f->cost_ns, SLOW_ONES * 80 * MS);
    assert_string_equal(f->line, "tokenize (serve.py:7)");
    assert_int_equal(f->certainty, FINDING_LIKELY); /* of two nothing is sure */
    assert_non_null(strstr(f->advice, "tokenize"));
    assert_int_equal(x->f.list.n, 1); /* queued for 10 ms more is not what makes them slow */
}

/* A loader's worker has a batch ready, and the thread that would send it waits for the worker's GIL. */
static void in_another_process(void **state)
{
    struct rules_case *x = *state;
    uint32_t worker = case_task(x, 20, 20, 0, "worker"), feeder = case_task(x, 20, 21, 0, "worker");
    uint32_t wait = PY({"train", "train.py"}), work = PY({"transform", "train.py"}),
             feed = PY({"feed", "q.py"});
    const struct finding *f;
    char name[32];

    for (unsigned i = 0; i < TYPICAL + SLOW_ONES; i++) {
        uint64_t at = i * 200, gil = i < TYPICAL ? 0 : 150;

        snprintf(name, sizeof(name), "step %u", i);
        case_mark(x, name, at, 10 + gil);
        x->s.store.events.a[x->s.store.events.n - 1].task = x->lead;
        if (gil) {
            case_wait(x, x->lead, wait, at + 5, gil,
                      (struct waiting){.reason = WAIT_SOCKET, .waker = feeder});
            case_wait(x, feeder, feed, at + 5, gil,
                      (struct waiting){EVENT_GIL, WAIT_GIL, worker, work, NULL});
        }
    }
    f = case_found(x, "slow-units");
    assert_string_equal(f->title, "Slow steps wait for Python's GIL, held in transform, in worker[20]");
    assert_string_equal(f->process, "worker[20]");
    assert_null(strstr(f->advice, "process of its own")); /* it is in one */
    assert_non_null(strstr(f->advice, "worker[20]"));
}

/* Of one thread that has several at a time nobody can tell for which it worked. */
static void of_one_thread(void **state)
{
    struct rules_case *x = *state;
    struct server v;
    char name[32];

    server_init(&v, x);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "request %u", i);
        case_mark(x, name, i * 100, 10 + i % 2 * 95); /* each other one lasts into the next */
    }
    for (unsigned i = 40; i < 44; i++) {
        snprintf(name, sizeof(name), "request %u", i);
        case_mark(x, name, 5000 + i, 900);
    }
    case_wait(x, x->lead, v.wait, 5040, 900, (struct waiting){.reason = WAIT_DISK});
    assert_int_equal(case_found(x, "slow-units")->certainty, FINDING_LIKELY);
    assert_non_null(strstr(x->f.list.a[0].why, "in one thread"));
}

static void few_units(void **state)
{
    struct rules_case *x = *state;

    case_mark(x, "request 1", 0, 10);
    case_is(x, "slow-units", CHECK_NOT_DONE);
}

/* The main thread of a server waits for requests most of the time: that costs nobody anything. Of a training
 * run it does, whatever is marked. */
static void idle_servers(void **state)
{
    struct rules_case *x = *state;
    struct server v;
    char name[32];

    server_init(&v, x);
    case_wait(x, x->lead, v.wait, 0, 9000, (struct waiting){.reason = WAIT_POLL});
    for (unsigned i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "step %u", i);
        thread_mark(x, i % 2 ? v.reader : v.other, name, i * 900, 400, 0);
    }
    assert_int_equal(case_found(x, "blocked")->cost_ns, 9000 * MS);
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "request %u", i);
        thread_mark(x, i % 2 ? v.reader : v.other, name, i * 400, 200, 0);
    }
    assert_int_equal(case_found(x, "blocked")->cost_ns, 12 * 200 * MS);
}

/* One after the other in one thread: no server. */
static void phases(void **state)
{
    struct rules_case *x = *state;
    struct server v;

    server_init(&v, x);
    case_wait(x, x->lead, v.wait, 0, 9000, (struct waiting){.reason = WAIT_POLL});
    for (unsigned i = 0; i < 9; i++)
        case_mark(x, "epoch", i * 900, 400);
    assert_int_equal(case_found(x, "blocked")->cost_ns, 9000 * MS);
}

static int setup(void **state)
{
    struct rules_case *x = mem_calloc(1, sizeof(*x));

    case_init(x);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    case_release(*state);
    free(*state);
    return 0;
}

#define SLOW(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SLOW(held_up_by_the_gil),
        SLOW(overlapping),
        SLOW(queueing_follows),
        SLOW(followed),
        SLOW(joined_units),
        SLOW(as_a_profile),
        SLOW(none_slow),
        SLOW(the_rule),
        SLOW(in_another_process),
        SLOW(few_units),
        SLOW(of_one_thread),
        SLOW(idle_servers),
        SLOW(phases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
