/* SPDX-License-Identifier: Apache-2.0 */
/* Time off the CPU out of looks: a thread whose every moment is known, and figures as the kernel counts them.
 */
#include "collect/look_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS    1000000ull
#define LOOK  (10 * MS)
#define START (1000 * MS)

enum what { RUN, QUEUE, WAIT_A, WAIT_B, WHATS };

/* What a thread did: truth, and what its figures say so far. */
struct life {
    uint64_t now, next_look;
    uint64_t spent[WHATS], seen[WHATS], unseen; /* seen: spans, by the place they were seen in */
    uint64_t run, delay;                        /* figures */
    uint64_t last_run, last_delay;              /* at the last look */
    enum what at;                               /* the wait that was seen last */
    struct look_times times;
};

static void take(struct life *x, const struct look_spans *s)
{
    x->seen[x->at] += s->wait_ns;
    x->unseen += s->unseen_ns;
    assert_true(s->wait_ts >= START || !s->wait_ns);
    assert_true(s->wait_ts + s->wait_ns <= x->now && s->unseen_ts + s->unseen_ns <= x->now);
}

static void look(struct life *x, enum what doing)
{
    struct look_figures f = {x->run - x->last_run, x->delay - x->last_delay, doing >= WAIT_A};
    struct look_spans s;

    x->next_look += LOOK;
    if (!f.run_ns && !f.delay_ns && look_times_waits(&x->times)) {
        look_times_same(&x->times, x->now);
        return;
    }
    look_times_add(&x->times, x->now, &f, &s);
    take(x, &s);
    x->last_run = x->run;
    x->last_delay = x->delay;
    if (f.blocked)
        x->at = doing;
}

/* Time in the queue is counted when it is over, the rest of `doing` as it goes by. */
static void spend(struct life *x, enum what doing, uint64_t ns)
{
    uint64_t end = x->now + ns;

    x->spent[doing] += ns;
    while (x->now < end) {
        uint64_t to = x->next_look < end ? x->next_look : end;

        x->run += doing == RUN ? to - x->now : 0;
        x->now = to;
        if (to == x->next_look && to < end)
            look(x, doing);
    }
    x->delay += doing == QUEUE ? ns : 0;
}

static void begin(struct life *x)
{
    *x = (struct life){.now = START, .next_look = START + 3 * MS};
    look_times_begin(&x->times, START);
}

static void end(struct life *x)
{
    struct look_spans s;

    look_times_end(&x->times, x->now, 0, &s);
    take(x, &s);
}

static uint64_t truth(const struct life *x)
{
    return x->spent[WAIT_A] + x->spent[WAIT_B];
}

static uint64_t spans(const struct life *x)
{
    return x->seen[WAIT_A] + x->seen[WAIT_B] + x->unseen;
}

static void assert_near(uint64_t got, uint64_t want, uint64_t by)
{
    if (got > want + by || want > got + by)
        fail_msg("%.3f ms, which is not near %.3f", (double)got / 1e6, (double)want / 1e6);
}

static void test_queue_is_no_wait(void **state)
{
    struct life x;

    (void)state;
    begin(&x);
    for (int i = 0; i < 200; i++) { /* preempted again and again */
        spend(&x, RUN, 3 * MS);
        spend(&x, QUEUE, 17 * MS + (uint64_t)i * 77777);
    }
    assert_int_equal(spans(&x), 0);
}

static void test_sleeps_under_load(void **state)
{
    struct life x;

    (void)state;
    srand(1);
    begin(&x);
    for (int i = 0; i < 300; i++) {
        for (int j = 0; j < 10; j++) {
            spend(&x, RUN, 3 * MS);
            spend(&x, QUEUE, (uint64_t)(rand() % 30) * MS);
        }
        spend(&x, WAIT_A, 20 * MS);
        spend(&x, QUEUE, (uint64_t)(rand() % 12) * MS);
    }
    end(&x);
    assert_near(spans(&x), truth(&x), LOOK);
    assert_near(x.seen[WAIT_A], truth(&x), truth(&x) / 50);
}

/* Two places by turns, with next to no time on a CPU between them: each has its own. */
static void test_turns(void **state)
{
    struct life x;

    (void)state;
    begin(&x);
    for (int i = 0; i < 300; i++) {
        spend(&x, RUN, 50000);
        spend(&x, WAIT_A, 50 * MS + (uint64_t)(i % 7) * MS);
        spend(&x, RUN, 20000);
        spend(&x, WAIT_B, 30 * MS);
    }
    end(&x);
    assert_near(spans(&x), truth(&x), LOOK);
    assert_near(x.seen[WAIT_A], x.spent[WAIT_A], x.spent[WAIT_A] / 50);
    assert_near(x.seen[WAIT_B], x.spent[WAIT_B], x.spent[WAIT_B] / 50);
}

/* Waits that no look meets, of a thread that is always found runnable: they are there, unseen. */
static void test_never_met(void **state)
{
    struct life x;

    (void)state;
    begin(&x);
    for (int i = 0; i < 500; i++) { /* looks come 3 ms after a turn's begin */
        spend(&x, RUN, 5 * MS);
        spend(&x, WAIT_A, 4 * MS);
        spend(&x, RUN, MS);
    }
    end(&x);
    assert_int_equal(x.seen[WAIT_A], 0);
    assert_true(spans(&x) <= truth(&x));
    assert_near(spans(&x), truth(&x), 2 * LOOK);
}

/* Whatever it does, the sum is the kernel's. */
static void test_sums(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct life x;

        srand(seed);
        begin(&x);
        for (int i = 0; i < 400; i++) {
            unsigned longest = 1u << rand() % 25;

            spend(&x, (enum what)(rand() % WHATS), (uint64_t)rand() % longest + 1);
            spend(&x, RUN, 1000 + (uint64_t)rand() % MS);
        }
        spend(&x, WAIT_A, 3 * LOOK);
        end(&x);
        assert_near(spans(&x), truth(&x), 10);
    }
}

static void test_open_and_ended(void **state)
{
    struct look_figures blocked = {0, 0, 1};
    struct look_times t;
    struct look_spans s;

    (void)state;
    look_times_begin(&t, START);
    look_times_add(&t, START + LOOK, &blocked, &s);
    look_times_same(&t, START + 5 * LOOK);
    assert_true(look_times_waits(&t));
    look_times_end(&t, START + 6 * LOOK, 0, &s);
    assert_int_equal(s.wait_ts, START);
    assert_int_equal(s.wait_ns, 6 * LOOK);

    look_times_begin(&t, START);
    look_times_add(&t, START + LOOK, &blocked, &s);
    look_times_same(&t, START + 5 * LOOK);
    look_times_end(&t, START + 6 * LOOK, 1, &s); /* between the two */
    assert_int_equal(s.wait_ns, 5 * LOOK + LOOK / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_is_no_wait),
        cmocka_unit_test(test_sleeps_under_load),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_never_met),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_open_and_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
