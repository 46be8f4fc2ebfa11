/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the window of a ring, its figures, and that nothing else stays in the store. */
#include "model/store_compact.h"
#include "model/store_visit.h"
#include "record/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define S 1000000000ull

/* One new function and stack for each event. */
static void sample(struct store *s, uint64_t ts)
{
    char name[32];
    struct frame f = {.kind = FRAME_PYTHON};

    snprintf(name, sizeof(name), "f%llu", (unsigned long long)ts);
    f.func = strtab_add(&s->strings, name);
    *vec_push(&s->events) = (struct event){.ts = ts,
                                           .value = 1,
                                           .task = 1,
                                           .stack = stacks_push(&s->stacks, 0, frames_add(&s->frames, &f)),
                                           .kind = EVENT_SAMPLE};
}

static void turn(struct ring *r, struct store *s, uint64_t now)
{
    ring_take(r, s, 0);
    vec_clear(&s->events);
    ring_note(r, s, now);
}

static void fill(struct ring *r, struct store *s, unsigned seconds)
{
    struct task t = {.pid = 7, .tid = 7};

    tasks_add(&s->tasks, &t);
    ring_note(r, s, 100 * S);
    for (unsigned i = 0; i < seconds; i++) {
        sample(s, (100 + i) * S + S / 2);
        store_set_counter(s, "cpu.taken", i + 1);
        store_set_counter(s, "cpu.expected", 2 * (i + 1));
        tasks_get(&s->tasks, 1)->cpu_ns = (i + 1) * S;
        turn(r, s, (101 + i) * S);
    }
}

static void test_window(void **state)
{
    struct ring r = {.length = 3 * S};
    struct store s = {0};
    struct meta m = {.start_mono = 100 * S, .start_ts = 1000, .end_mono = 110 * S};
    uint64_t from;

    fill(&r, &s, 10);
    from = ring_cut(&r, &s, 110 * S);
    assert_int_equal(from, 107 * S);
    assert_int_equal(s.events.n, 3);
    assert_int_equal(r.outside, 7);
    ring_settle(&r, &s, &m, from);
    assert_int_equal(store_counter(&s, "cpu.taken", 0), 3);
    assert_int_equal(store_counter(&s, "cpu.expected", 0), 6);
    assert_int_equal(store_counter(&s, "ring.outside", 0), 7);
    assert_int_equal(tasks_get(&s.tasks, 1)->cpu_ns, 3 * S);
    assert_int_equal(m.start_mono, 107 * S);
    assert_true(m.start_ts > 1006.99 && m.start_ts < 1007.01);
    assert_non_null(strstr(m.notes.a[0], "7 older events are outside the ring"));
    store_keep_used(&s);
    assert_int_equal(s.stacks.nodes.n, 3);
    assert_int_equal(s.frames.list.n, 3);
    ring_release(&r);
    store_release(&s);
    meta_release(&m);
}

/* A signal ended it before the last turn, at which a new log was made. */
static void test_end_before_the_last_turn(void **state)
{
    struct ring r = {.length = 3 * S};
    struct store s = {0};
    struct meta m = {.start_mono = 107 * S, .start_ts = 1007, .end_mono = 110 * S - S / 4};
    uint64_t from;

    (void)state;
    fill(&r, &s, 10);
    assert_int_equal(ring_cut(&r, &s, 110 * S), 107 * S);
    ring_keep(&r, &s);
    from = ring_cut(&r, &s, m.end_mono);
    assert_int_equal(from, 107 * S);
    assert_int_equal(s.events.n, 3);
    ring_settle(&r, &s, &m, from);
    assert_int_equal(m.start_mono, 107 * S);
    assert_true(m.start_ts > 1006.99 && m.start_ts < 1007.01);
    assert_true(m.duration_s > 2.74 && m.duration_s < 2.76);
    assert_int_equal(store_counter(&s, "cpu.taken", 0), 3);
    ring_release(&r);
    store_release(&s);
    meta_release(&m);
}

static void test_shorter_than_the_ring(void **state)
{
    struct ring r = {.length = 60 * S};
    struct store s = {0};
    struct meta m = {.start_mono = 100 * S, .end_mono = 104 * S};

    fill(&r, &s, 4);
    assert_int_equal(ring_cut(&r, &s, 104 * S), 0);
    assert_int_equal(s.events.n, 4);
    ring_settle(&r, &s, &m, 0);
    assert_int_equal(store_counter(&s, "cpu.taken", 0), 4);
    assert_int_equal(m.start_mono, 100 * S);
    ring_release(&r);
    store_release(&s);
    meta_release(&m);
}

static void test_spans_are_cut(void **state)
{
    struct ring r = {.length = 2 * S};
    struct store s = {0};

    fill(&r, &s, 4); /* the window begins at 102 */
    vec_clear(&r.events);
    *vec_push(&s.events) = (struct event){.ts = 101 * S, .dur = 2 * S, .kind = EVENT_OFFCPU};
    *vec_push(&s.events) = (struct event){.ts = 101 * S, .dur = S, .kind = EVENT_OFFCPU};
    *vec_push(&s.events) =
        (struct event){.ts = 101 * S, .dur = 2 * S, .kind = EVENT_OFFCPU, .flags = EVENT_SHORT};
    *vec_push(&s.events) = (struct event){.ts = 103 * S, .dur = S, .kind = EVENT_RUNQ};
    ring_take(&r, &s, 0);
    vec_clear(&s.events);
    assert_int_equal(ring_cut(&r, &s, 104 * S), 102 * S);
    assert_int_equal(s.events.n, 2);
    assert_int_equal(s.events.a[0].ts, 102 * S);
    assert_int_equal(s.events.a[0].dur, S);
    assert_int_equal(s.events.a[1].dur, S);
    assert_int_equal(r.outside, 2);
    ring_release(&r);
    store_release(&s);
}

static void test_no_room(void **state)
{
    struct ring r = {.length = 1000 * S};
    struct store s = {0};
    uint64_t from;

    ring_note(&r, &s, 100 * S);
    for (unsigned i = 0; i < RING_EVENTS_MAX; i++) {
        *vec_push(&s.events) =
            (struct event){.ts = 100 * S + (uint64_t)i * 1000, .value = 1, .kind = EVENT_SAMPLE};
        if (i % 65536 == 65535)
            turn(&r, &s, 100 * S + (uint64_t)i * 1000 + 500);
    }
    assert_true(ring_is_due(&r, 102 * S));
    from = ring_cut(&r, &s, 102 * S);
    assert_true(from > 100 * S + 400000000);
    assert_true(s.events.n <= RING_EVENTS_MAX / 2);
    assert_true(s.events.n > RING_EVENTS_MAX / 4);
    assert_int_equal(r.outside, RING_EVENTS_MAX - s.events.n);
    assert_int_equal(r.early, r.outside);
    ring_release(&r);
    store_release(&s);
}

static void hold(void *arg, struct store_visit *v)
{
    store_visit_stack(v, arg);
}

/* However long it runs, the store has what the window needs and what others hold. */
static void test_bounded(void **state)
{
    struct ring r = {.length = 5 * S};
    struct store s = {0};
    struct store_visit v = {0};
    size_t renewals = 0;
    uint32_t held;

    fill(&r, &s, 1);
    held = 1;
    for (unsigned i = 1; i < 5000; i++) {
        struct store small = {0};

        sample(&s, (100 + i) * S + S / 2);
        turn(&r, &s, (101 + i) * S);
        if (!ring_is_due(&r, (101 + i) * S))
            continue;
        renewals++;
        ring_cut(&r, &s, (101 + i) * S);
        store_visit_begin(&v, &small, &s, hold, &held);
        store_visit_move(&v, &small, &s, hold, &held);
        assert_int_equal(s.events.n, 5);
        assert_int_equal(s.stacks.nodes.n, 6);
        assert_int_equal(s.frames.list.n, 6);
        assert_true(strtab_count(&s.strings) < 12);
        ring_keep(&r, &s);
    }
    assert_true(renewals > 500);
    assert_true(r.notes.n <= 8);
    /* The one that was held is still the first of all. */
    assert_string_equal(
        strtab_get(&s.strings, frames_get(&s.frames, stacks_get(&s.stacks, held)->frame)->func),
        "f100500000000");
    ring_release(&r);
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_end_before_the_last_turn),
        cmocka_unit_test(test_shorter_than_the_ring),
        cmocka_unit_test(test_spans_are_cut),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
