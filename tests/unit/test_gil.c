/* SPDX-License-Identifier: Apache-2.0 */
/* Spans on the GIL's futexes become waits: which belong together, how long, who held it, where. */
#include "base/mem.h"
#include "collect/gil.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000, US = 1000 };

struct fixture {
    struct store s;
    struct gils g;
    struct wire_task who[3];
    uint32_t task[3];
};

static int begin(void **state)
{
    static const char *const names[] = {"main", "worker", "third"};
    struct fixture *f = mem_calloc(1, sizeof(*f));

    gils_init(&f->g, &f->s);
    for (uint32_t i = 0; i < 3; i++) {
        struct task t = {
            .pid = 10, .tid = 10 + i, .start_ns = 1, .comm = strtab_add(&f->s.strings, names[i])};

        f->task[i] = tasks_add(&f->s.tasks, &t);
        f->who[i] = (struct wire_task){.tgid = 10, .tid = 10 + i, .thread_id = 0x7000 + i};
        gils_note(&f->g, &f->who[i], f->task[i]);
    }
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;

    gils_release(&f->g);
    store_release(&f->s);
    free(f);
    return 0;
}

/* Thread `who` sleeps from ts for dur ns; `holder` has the GIL, -1: nobody; it has changed hands so often. */
static void part(struct fixture *f, uint32_t who, uint64_t ts, uint64_t dur, int holder, uint32_t switches,
                 struct wait w)
{
    struct gil_part p = {.ts = ts,
                         .end = ts + dur,
                         .task = f->task[who],
                         .stack = 7,
                         .gil = {.switches = switches, .locked = holder >= 0},
                         .woken = ts + dur - US,
                         .wait = w};

    if (holder >= 0)
        p.gil.holder = f->who[holder].thread_id;
    gils_part(&f->g, &f->who[who], &p);
}

static const struct event *event(struct fixture *f, size_t n, size_t i)
{
    gils_turn(&f->g, UINT64_MAX);
    assert_int_equal(f->s.events.n, n);
    assert_int_equal(f->s.events.a[i].kind, EVENT_GIL);
    return &f->s.events.a[i];
}

static const struct wait *wait_of(struct fixture *f, const struct event *ev)
{
    return waits_get(&f->s.waits, ev->attr);
}

static const struct wait nobody;

static void spans_of_one_wait_are_one(void **state)
{
    struct fixture *f = *state;
    struct wait woken = {.waker_task = f->task[1], .waker_stack = 9};
    const struct event *ev;

    part(f, 0, 100 * MS, 5 * MS, 1, 4, nobody);
    part(f, 0, 105 * MS + 20 * US, 5 * MS, 1, 4, nobody);
    part(f, 0, 110 * MS + 40 * US, 2 * MS, 1, 4, woken);
    ev = event(f, 1, 0);
    assert_int_equal(ev->ts, 100 * MS);
    assert_int_equal(ev->dur, 12 * MS + 40 * US);
    assert_int_equal(ev->task, f->task[0]);
    assert_int_equal(ev->stack, 7);
    assert_int_equal(wait_of(f, ev)->reason, WAIT_GIL);
    assert_int_equal(wait_of(f, ev)->waker_task, f->task[1]);
    assert_int_equal(wait_of(f, ev)->waker_stack, 9);
    assert_string_equal(strtab_get(&f->s.strings, wait_of(f, ev)->what), "the GIL (held by worker[11])");
    assert_int_equal(f->g.ns, ev->dur);
}

static void having_had_it_ends_a_wait(void **state)
{
    struct fixture *f = *state;

    part(f, 0, 100 * MS, 5 * MS, 1, 4, nobody);
    part(f, 0, 110 * MS, 1 * MS, 0, 5, nobody); /* it gave it away: the last holder is itself */
    part(f, 0, 111 * MS, 5 * MS, 1, 6, nobody); /* which goes on with waiting for it */
    assert_int_equal(event(f, 2, 0)->dur, 5 * MS);
    assert_int_equal(event(f, 2, 1)->dur, 6 * MS);
    assert_int_equal(wait_of(f, event(f, 2, 1))->waker_task, f->task[1]);
}

static void others_change_hands_meanwhile(void **state)
{
    struct fixture *f = *state;
    struct wait woken = {.waker_task = f->task[1]};

    part(f, 0, 100 * MS, 5 * MS, 1, 4, nobody);
    part(f, 0, 105 * MS + 20 * US, 5 * MS, 2, 5, nobody); /* from 1 to 2 */
    part(f, 0, 110 * MS + 40 * US, 1 * MS, 2, 7, woken);  /* to 1 and back: nobody woke this one */
    part(f, 0, 111 * MS + 60 * US, 1 * MS, 2, 9, nobody); /* woken: it may well have been among them */
    part(f, 0, 113 * MS, 1 * MS, 1, 13, nobody);          /* and here it ran for long */
    assert_int_equal(event(f, 3, 0)->dur, 11 * MS + 40 * US);
    assert_int_equal(wait_of(f, event(f, 3, 0))->waker_task, f->task[2]); /* 6 of the 11 ms */
    assert_int_equal(event(f, 3, 1)->dur, 1 * MS);
    assert_int_equal(event(f, 3, 2)->dur, 1 * MS);
}

static void another_wait_ends_it(void **state)
{
    struct fixture *f = *state;
    struct event sleep = {.ts = 105 * MS + 10 * US, .dur = MS, .task = f->task[0], .kind = EVENT_OFFCPU};

    part(f, 0, 100 * MS, 5 * MS, 1, 4, nobody);
    gils_other(&f->g, &f->who[0], &sleep);
    part(f, 0, 107 * MS, 5 * MS, 1, 4, nobody);
    assert_int_equal(event(f, 2, 0)->dur, 5 * MS);
}

static void a_holder_that_sleeps_is_where_it_sleeps(void **state)
{
    struct fixture *f = *state;
    struct event sleep = {.ts = 99 * MS,
                          .dur = 900 * MS,
                          .task = f->task[1],
                          .stack = 33,
                          .kind = EVENT_OFFCPU,
                          .flags = EVENT_GIL_READ | EVENT_GIL_HELD};
    struct wait woken = {.waker_task = f->task[1], .waker_stack = 9};

    part(f, 0, 100 * MS, 5 * MS, 1, 4, nobody);
    gils_other(&f->g, &f->who[1], &sleep);
    part(f, 0, 105 * MS, 895 * MS, 1, 4, woken);
    part(f, 2, 900 * MS, 400 * MS, 1, 4, woken); /* 99 of them while it sleeps */
    gils_turn(&f->g, UINT64_MAX);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(wait_of(f, event(f, 2, i))->waker_stack,
                         f->s.events.a[i].task == f->task[0] ? 33 : 9);
}

static void unknown_holders_are_not_named(void **state)
{
    struct fixture *f = *state;
    struct gil_part p = {
        .ts = MS, .end = 2 * MS, .task = f->task[0], .gil = {.holder = 0xdead, .switches = 1, .locked = 1}};

    gils_part(&f->g, &f->who[0], &p);
    assert_int_equal(wait_of(f, event(f, 1, 0))->waker_task, 0);
    assert_string_equal(strtab_get(&f->s.strings, wait_of(f, event(f, 1, 0))->what), "the GIL");
}

static void waits_end_with_time_and_with_their_thread(void **state)
{
    struct fixture *f = *state;

    part(f, 0, 100 * MS, 5 * MS, 1, 4, nobody);
    part(f, 2, 100 * MS, 5 * MS, 1, 4, nobody);
    gils_turn(&f->g, 200 * MS);
    assert_int_equal(f->s.events.n, 0);
    gils_ended(&f->g, &f->who[2]);
    assert_int_equal(f->s.events.n, 1);
    gils_turn(&f->g, 1200ull * MS);
    assert_int_equal(f->s.events.n, 2);
}

static void the_frame_stands_on_top(void **state)
{
    struct fixture *f = *state;
    uint32_t below = gils_stack(&f->g, 0), id = gils_stack(&f->g, below);
    const struct frame *frame = frames_get(&f->s.frames, stacks_get(&f->s.stacks, id)->frame);

    assert_int_equal(stacks_get(&f->s.stacks, id)->parent, below);
    assert_int_equal(frame->kind, FRAME_GIL);
    assert_string_equal(strtab_get(&f->s.strings, frame->func), "[waiting for the GIL]");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(spans_of_one_wait_are_one),
        TEST(having_had_it_ends_a_wait),
        TEST(others_change_hands_meanwhile),
        TEST(another_wait_ends_it),
        TEST(a_holder_that_sleeps_is_where_it_sleeps),
        TEST(unknown_holders_are_not_named),
        TEST(waits_end_with_time_and_with_their_thread),
        TEST(the_frame_stands_on_top),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
