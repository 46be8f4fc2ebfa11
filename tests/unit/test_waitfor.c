/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of waits: ways, roots and circles; then answers of made-up dumps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyze/waitfor.h"

#include <string.h>

/* ---- the graph ---- */

static uint32_t node(struct waitfor *w, uint32_t cost)
{
    *vec_push(&w->cost) = cost;
    return (uint32_t)w->cost.n - 1;
}

static void edge(struct waitfor *w, uint32_t from, uint32_t to)
{
    *vec_push(&w->edges) = (struct waitfor_edge){from, to};
}

static void chain_leads_to_who_runs(void **state)
{
    struct waitfor w = {0};
    uint32_t a = node(&w, WAITFOR_BLOCKED), b = node(&w, WAITFOR_BLOCKED), c = node(&w, 0);

    edge(&w, a, b);
    edge(&w, b, c);
    waitfor_solve(&w);
    assert_int_equal(w.next.a[a], b + 1);
    assert_int_equal(w.next.a[b], c + 1);
    assert_int_equal(w.next.a[c], 0);
    assert_int_equal(w.root.a[a], c + 1);
    assert_int_equal(w.circles, 0);
    waitfor_release(&w);
}

static void of_several_the_cheapest(void **state)
{
    struct waitfor w = {0};
    uint32_t a = node(&w, WAITFOR_BLOCKED), sleeps = node(&w, 1000), far = node(&w, WAITFOR_BLOCKED),
             runs = node(&w, 0);

    edge(&w, a, sleeps);
    edge(&w, a, far);
    edge(&w, far, runs);
    waitfor_solve(&w);
    assert_int_equal(w.root.a[a], runs + 1);
    assert_int_equal(w.next.a[a], far + 1);
    waitfor_release(&w);
}

static void circle_and_who_leads_into_it(void **state)
{
    struct waitfor w = {0};
    uint32_t out = node(&w, WAITFOR_BLOCKED), a = node(&w, WAITFOR_BLOCKED), b = node(&w, WAITFOR_BLOCKED);

    edge(&w, out, a);
    edge(&w, a, b);
    edge(&w, b, a);
    waitfor_solve(&w);
    assert_int_equal(w.circles, 1);
    assert_int_equal(w.circle.a[a], 1);
    assert_int_equal(w.circle.a[b], 1);
    assert_int_equal(w.circle.a[out], 0);
    assert_int_equal(w.root.a[out], 0);
    waitfor_release(&w);
}

static void no_circle_where_one_can_go_on(void **state)
{
    struct waitfor w = {0};
    uint32_t a = node(&w, WAITFOR_BLOCKED), b = node(&w, WAITFOR_BLOCKED), c = node(&w, 5);

    edge(&w, a, b);
    edge(&w, b, a);
    edge(&w, b, c); /* any of them lets b go on */
    waitfor_solve(&w);
    assert_int_equal(w.circles, 0);
    assert_int_equal(w.root.a[a], c + 1);
    waitfor_release(&w);
}

static void two_circles_and_one_with_itself(void **state)
{
    struct waitfor w = {0};
    uint32_t a = node(&w, WAITFOR_BLOCKED), b = node(&w, WAITFOR_BLOCKED), c = node(&w, WAITFOR_BLOCKED),
             d = node(&w, WAITFOR_BLOCKED), self = node(&w, WAITFOR_BLOCKED);

    edge(&w, a, b);
    edge(&w, b, a);
    edge(&w, c, d);
    edge(&w, d, c);
    edge(&w, self, self);
    waitfor_solve(&w);
    assert_int_equal(w.circles, 3);
    assert_int_equal(w.circle.a[a], w.circle.a[b]);
    assert_int_equal(w.circle.a[c], w.circle.a[d]);
    assert_int_not_equal(w.circle.a[a], w.circle.a[c]);
    assert_int_not_equal(w.circle.a[self], 0);
    waitfor_release(&w);
}

static void blocked_for_nothing_is_its_own_root(void **state)
{
    struct waitfor w = {0};
    uint32_t a = node(&w, WAITFOR_BLOCKED), b = node(&w, WAITFOR_BLOCKED);

    edge(&w, a, b);
    waitfor_solve(&w);
    assert_int_equal(w.circles, 0);
    assert_int_equal(w.root.a[a], b + 1);
    waitfor_release(&w);
}

static void empty(void **state)
{
    struct waitfor w = {0};

    waitfor_solve(&w);
    assert_int_equal(w.circles, 0);
    waitfor_release(&w);
}

/* ---- dumps ---- */

static void process(struct dump *d, uint32_t pid, int asked)
{
    *vec_push(&d->processes) =
        (struct dump_process){.pid = pid, .first = (uint32_t)d->threads.n, .asked = (uint8_t)asked};
}

/* Of the process that came last. */
static struct dump_thread *thread(struct dump *d, uint32_t tid, char state, uint8_t reason)
{
    struct dump_process *p = &d->processes.a[d->processes.n - 1];

    *vec_push(&d->threads) =
        (struct dump_thread){.pid = p->pid, .tid = tid, .state = state, .reason = reason};
    p->n++;
    return &d->threads.a[d->threads.n - 1];
}

static void waits(struct dump *d, struct dump_thread *t, uint32_t pid, uint32_t tid, enum dump_how how)
{
    if (!t->edges)
        t->edge = (uint32_t)d->edges.n;
    *vec_push(&d->edges) = (struct dump_edge){pid, tid, (uint8_t)how};
    t->edges++;
}

static uint32_t step(const struct dump *d, size_t answer, uint32_t i)
{
    const struct dump_step *s = &d->path.a[d->answers.a[answer].first + i];

    return s->thread ? d->threads.a[s->thread - 1].tid : s->pid;
}

static void loader_with_one_slow_worker(void **state)
{
    struct dump d = {0};
    struct dump_thread *t;

    process(&d, 1, 1);
    t = thread(&d, 1, 'S', WAIT_PIPE);
    for (uint32_t w = 10; w < 14; w++)
        waits(&d, t, w, 0, DUMP_PIPE);
    for (uint32_t w = 10; w < 14; w++) {
        process(&d, w, 0);
        t = thread(&d, w, w == 12 ? 'R' : 'S', w == 12 ? WAIT_UNKNOWN : WAIT_PIPE);
        if (w != 12)
            waits(&d, t, 1, 0, DUMP_PIPE);
        thread(&d, w + 100, 'S', WAIT_FUTEX); /* a feeder's, which waits for who knows what */
    }
    waitfor_dump(&d);
    assert_int_equal(d.answers.n, 1);
    assert_int_equal(d.answers.a[0].kind, DUMP_ROOT);
    assert_int_equal(d.answers.a[0].waiting, 4);
    assert_int_equal(d.answers.a[0].n, 2);
    assert_int_equal(step(&d, 0, 0), 1);
    assert_int_equal(step(&d, 0, 1), 12);
    dump_release(&d);
}

static void locks_make_a_deadlock_and_pipes_a_circle(void **state)
{
    for (int pipe = 0; pipe < 2; pipe++) {
        struct dump d = {0};

        process(&d, 1, 1);
        waits(&d, thread(&d, 1, 'S', WAIT_CHILD), 2, 0, DUMP_CHILD);
        process(&d, 2, 0);
        waits(&d, thread(&d, 2, 'S', WAIT_FUTEX), 1, 1, pipe ? DUMP_PIPE : DUMP_MUTEX);
        waitfor_dump(&d);
        assert_int_equal(d.answers.n, 1);
        assert_int_equal(d.answers.a[0].kind, pipe ? DUMP_CIRCLE : DUMP_DEADLOCK);
        assert_int_equal(d.answers.a[0].n, 2); /* steps through processes are none */
        assert_int_equal(d.answers.a[0].waiting, 2);
        dump_release(&d);
    }
}

static void process_that_is_not_in_the_dump(void **state)
{
    struct dump d = {0};

    process(&d, 1, 1);
    waits(&d, thread(&d, 1, 'S', WAIT_SOCKET), 99, 0, DUMP_SOCKET);
    waitfor_dump(&d);
    assert_int_equal(d.answers.n, 1);
    assert_int_equal(step(&d, 0, 1), 99);
    assert_int_equal(d.path.a[d.answers.a[0].first + 1].thread, 0);
    dump_release(&d);
}

static void who_ran_meanwhile_is_in_no_circle(void **state)
{
    struct dump d = {0};

    process(&d, 1, 1);
    waits(&d, thread(&d, 1, 'S', WAIT_FUTEX), 1, 2, DUMP_MUTEX);
    waits(&d, thread(&d, 2, 'S', WAIT_FUTEX), 1, 1, DUMP_MUTEX);
    d.threads.a[1].flags |= DUMP_MOVED;
    waitfor_dump(&d);
    assert_int_equal(d.answers.n, 1);
    assert_int_equal(d.answers.a[0].kind, DUMP_ROOT);
    dump_release(&d);
}

static void nobody_waits(void **state)
{
    struct dump d = {0};

    process(&d, 1, 1);
    thread(&d, 1, 'S', WAIT_SLEEP);
    waitfor_dump(&d);
    assert_int_equal(d.answers.n, 0);
    dump_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_leads_to_who_runs),
        cmocka_unit_test(of_several_the_cheapest),
        cmocka_unit_test(circle_and_who_leads_into_it),
        cmocka_unit_test(no_circle_where_one_can_go_on),
        cmocka_unit_test(two_circles_and_one_with_itself),
        cmocka_unit_test(blocked_for_nothing_is_its_own_root),
        cmocka_unit_test(empty),
        cmocka_unit_test(loader_with_one_slow_worker),
        cmocka_unit_test(locks_make_a_deadlock_and_pipes_a_circle),
        cmocka_unit_test(process_that_is_not_in_the_dump),
        cmocka_unit_test(who_ran_meanwhile_is_in_no_circle),
        cmocka_unit_test(nobody_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
