/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void build(struct world *w, struct timeline *t)
{
    timeline_build(t, &w->s, &(struct timeline_opts){0});
}

static const char *string(const struct timeline *t, uint32_t id)
{
    return strtab_get(&t->stacks.strings, id);
}

static const struct timeline_lane *lane(const struct timeline *t, unsigned kind, const char *name)
{
    for (size_t i = 0; i < t->lanes.n; i++)
        if (t->lanes.a[i].kind == kind && !strcmp(string(t, t->lanes.a[i].name), name))
            return &t->lanes.a[i];
    fail_msg("no lane '%s'", name);
    return NULL;
}

/* "running 0-20 futex 20-50 ..." of one depth, in ms; merged ones with their count. */
static char *say(const struct timeline *t, const struct timeline_lane *l, unsigned depth)
{
    struct buf out = {0};

    for (uint32_t i = l->first; i < l->first + l->n; i++) {
        const struct timeline_span *s = &t->spans.a[i];

        if (s->depth != depth)
            continue;
        buf_addf(&out, "%s%s %g-%g", out.len ? ", " : "", timeline_state_name(s->state),
                 (double)s->start / MS, (double)s->end / MS);
        if (s->merged)
            buf_addf(&out, " x%u", s->merged);
    }
    return out.data ? buf_detach(&out) : mem_strdup("");
}

static void expect(const struct timeline *t, const char *name, unsigned depth, const char *text)
{
    char *got = say(t, lane(t, TIMELINE_THREAD, name), depth);

    assert_string_equal(got, text);
    free(got);
}

static void what_is_no_wait_is_running(void **state)
{
    struct timeline t;
    struct world w;

    world_init(&w);
    world_run(&w);
    build(&w, &t);
    expect(&t, "python3", 0, "running 0-20, futex 20-50, runnable 50-55, running 55-100");
    expect(&t, "loader", 0, "preempted 0-5, running 5-100");
    assert_int_equal(t.processes.n, 2);
    assert_int_equal(t.lanes.n, 2);
    assert_int_equal(t.end, 100 * MS);
    timeline_release(&t);
    world_release(&w);
}

static void a_wait_has_stack_reason_and_waker(void **state)
{
    const struct timeline_span *s;
    struct buf place = {0};
    struct timeline t;
    struct world w;

    world_init(&w);
    world_run(&w);
    build(&w, &t);
    s = &t.spans.a[lane(&t, TIMELINE_THREAD, "python3")->first + 1];
    assert_string_equal(string(&t, s->name), "futex 0x7f00");
    assert_int_equal(t.tasks.a[s->waker - 1].tid, 101);
    assert_int_equal(t.tasks.a[s->waker - 1].lane, 2);
    /* The kernel's own frames say nothing of where one is. */
    timeline_place(&t, s->stack, &place);
    assert_string_equal(place.data, "Queue.get (queue.py)");
    buf_clear(&place);
    timeline_place(&t, s->waker_stack, &place);
    assert_string_equal(place.data, "slow_transform (train.py)");
    assert_int_equal(t.ticks.n, 2);
    assert_int_equal(t.ticks.a[0].ts, 12 * MS);
    buf_release(&place);
    timeline_release(&t);
    world_release(&w);
}

/* Sums are no spans, spans that overlap are cut, one that is open stays open; what began before is cut at 0.
 */
static void spans_are_put_in_order(void **state)
{
    struct timeline t;
    struct world w;

    world_init(&w);
    world_wait(&w, w.main, 60, 50, WAIT_SLEEP, NULL, 0);
    w.s.store.events.a[0].flags = EVENT_OPEN;
    world_wait(&w, w.main, -500, 510, WAIT_POLL, NULL, 0);
    w.s.store.events.a[1].ts = FIXTURE_START - 500 * MS;
    world_wait(&w, w.main, 5, 10, WAIT_PIPE, NULL, 0);
    world_event(&w, EVENT_OFFCPU, w.main, 70, 33)->flags = EVENT_SHORT;
    w.s.store.events.a[3].value = 40;
    world_event(&w, EVENT_RUNQ, w.main, 70, 11)->flags = EVENT_SHORT;
    build(&w, &t);
    expect(&t, "python3", 0, "poll 0-10, pipe 10-15, running 15-60, sleep 60-110");
    assert_int_equal(t.spans.a[3].flags, TIMELINE_OPEN);
    assert_int_equal(t.lanes.a[0].short_n, 41);
    assert_int_equal(t.lanes.a[0].short_wait_ns, 33 * MS);
    assert_int_equal(t.lanes.a[0].short_queued_ns, 11 * MS);
    timeline_release(&t);
    world_release(&w);
}

static void without_switches_there_are_ticks_alone(void **state)
{
    struct timeline t;
    struct world w;

    world_init(&w);
    world_event(&w, EVENT_SAMPLE, w.main, 12, 0)->stack = w.run_stack;
    world_event(&w, EVENT_SAMPLE, w.main, 5, 0)->stack = w.run_stack;
    build(&w, &t);
    assert_false(t.states);
    assert_int_equal(t.lanes.n, 1);
    assert_int_equal(t.spans.n, 0);
    assert_int_equal(t.lanes.a[0].nticks, 2);
    assert_int_equal(t.ticks.a[0].ts, 5 * MS);
    timeline_release(&t);
    world_release(&w);
}

/* A thread that executes another program is another task, and the same thread; one that is born later starts
 * then. */
static void a_thread_is_one_lane(void **state)
{
    struct timeline t;
    struct world w;
    uint32_t child, image;

    world_init(&w);
    world_run(&w);
    child = world_task(&w, 300, 300, "sh", 0);
    image = world_task(&w, 300, 301, "sleep", 0);
    w.s.store.tasks.list.a[image - 1].tid = 300;
    w.s.store.tasks.list.a[image - 1].leader = image;
    for (uint32_t i = child - 1; i < image; i++)
        w.s.store.tasks.list.a[i].start_ns = FIXTURE_START + 30 * MS;
    world_wait(&w, child, 40, 10, WAIT_FAULT, NULL, 0);
    world_wait(&w, image, 60, 20, WAIT_SLEEP, NULL, 0);
    w.s.store.tasks.list.a[image - 1].last_ns = FIXTURE_START + 85 * MS;
    build(&w, &t);
    expect(&t, "sleep", 0, "running 30-40, page fault 40-50, running 50-60, sleep 60-80, running 80-85");
    assert_int_equal(t.lanes.n, 3);
    assert_int_equal(t.processes.n, 3);
    timeline_release(&t);
    world_release(&w);
}

/* Of several recordings: nothing is known of a thread before its own began, nor of its clock but by that
 * one's. */
static void a_lane_begins_with_its_recording(void **state)
{
    struct timeline t;
    struct world w;
    uint32_t early, born;

    (void)state;
    world_init(&w);
    world_run(&w);
    *vec_push(&w.s.store.origins.list) = (struct origin){.host = strtab_add(&w.s.store.strings, "h"),
                                                         .session = strtab_add(&w.s.store.strings, "id"),
                                                         .offset_ns = -3600000 * (int64_t)MS,
                                                         .start_ns = FIXTURE_START + 30 * MS,
                                                         .end_ns = FIXTURE_START + 90 * MS};
    early = world_task(&w, 300, 300, "early", 0);
    born = world_task(&w, 301, 301, "born", 0);
    w.s.store.tasks.list.a[early - 1].start_ns = 3600000ull * MS + FIXTURE_START - 500 * MS;
    w.s.store.tasks.list.a[born - 1].start_ns = 3600000ull * MS + FIXTURE_START + 55 * MS;
    for (uint32_t id = early; id <= born; id++) {
        w.s.store.tasks.list.a[id - 1].origin = 1;
        w.s.store.tasks.list.a[id - 1].last_ns = FIXTURE_START + 90 * MS;
        world_wait(&w, id, 60, 20, WAIT_SLEEP, NULL, 0);
    }
    build(&w, &t);
    expect(&t, "early", 0, "running 30-60, sleep 60-80, running 80-90");
    expect(&t, "born", 0, "running 55-60, sleep 60-80, running 80-90");
    timeline_release(&t);
    world_release(&w);
}

static void waits_for_the_gil_lie_over_the_rest(void **state)
{
    struct timeline t;
    struct world w;

    world_init(&w);
    world_run(&w);
    world_event(&w, EVENT_GIL, w.main, 22, 8);
    build(&w, &t);
    expect(&t, "python3", 1, "GIL 22-30");
    expect(&t, "python3", 0, "running 0-20, futex 20-50, runnable 50-55, running 55-100");
    assert_int_equal(lane(&t, TIMELINE_THREAD, "python3")->depth, 2);
    timeline_release(&t);
    world_release(&w);
}

/* The look at the end comes 20 us after the one before: its one switch is no 50,000 a second. */
static void what_is_counted_in_no_time_is_no_rate(void **state)
{
    static const double from[] = {10, 110, 210, 210.02}, ms[] = {100, 100, 0.02, 1.1};
    static const unsigned switches[] = {20, 30, 1, 0};
    const struct timeline_lane *l;
    struct timeline t;
    struct world w;

    world_init(&w);
    world_run(&w);
    for (unsigned i = 0; i < 4; i++) {
        struct event *ev = world_event(&w, EVENT_METRIC, w.main, from[i], ms[i]);

        ev->metric = world_string(&w, "switches.voluntary");
        ev->value = switches[i];
    }
    build(&w, &t);
    l = lane(&t, TIMELINE_METRIC, "voluntary switches");
    assert_int_equal(l->n, 2);
    assert_int_equal(t.points.a[l->first].value, 200);
    assert_int_equal(t.points.a[l->first + 1].value, 307); /* 31 in 101.12 ms */
    timeline_release(&t);
    world_release(&w);
}

static void marks_and_metrics_have_lanes(void **state)
{
    const struct timeline_lane *l;
    struct timeline t;
    struct world w;
    char *got;

    world_init(&w);
    world_run(&w);
    world_measure(&w);
    world_event(&w, EVENT_MARKER, w.main, 20, 50)->metric = world_string(&w, "request 8");
    world_event(&w, EVENT_MARKER, w.main, 70, 10)->metric = world_string(&w, "request 9");
    build(&w, &t);
    l = lane(&t, TIMELINE_METRIC, "load");
    assert_int_equal(l->process, 0);
    assert_int_equal(l->n, 2);
    assert_int_equal(t.points.a[l->first + 1].value, 6);
    assert_int_equal(lane(&t, TIMELINE_METRIC, "rss")->process, 1);
    l = lane(&t, TIMELINE_MARKS, "");
    got = say(&t, l, 0);
    assert_string_equal(got, "mark 40-40"); /* the row of instants */
    free(got);
    got = say(&t, l, 1);
    assert_string_equal(got, "mark 5-60, mark 70-80");
    free(got);
    got = say(&t, l, 2);
    assert_string_equal(got, "mark 20-70");
    free(got);
    assert_string_equal(string(&t, t.spans.a[l->first + 1].name), "request 7");
    assert_int_equal(l->depth, 3);
    timeline_release(&t);
    world_release(&w);
}

/* A thread that switches 10,000 times; one wait is long. */
static void the_size_is_bounded(void **state)
{
    struct timeline_opts o = {.max_spans = 100, .max_ticks = 50};
    uint64_t seen = 0, merged = 0, covered = 0;
    struct timeline t;
    struct world w;

    world_init(&w);
    for (unsigned i = 0; i < 10000; i++) {
        if (i < 3000 || i >= 5000)
            world_wait(&w, w.main, i * 0.01, 0.004, WAIT_PIPE, NULL, 0);
        world_event(&w, EVENT_SAMPLE, w.main, i * 0.01 + 0.005, 0);
    }
    world_wait(&w, w.main, 30, 20, WAIT_DISK, NULL, 0);
    timeline_build(&t, &w.s, &o);
    assert_true(t.spans.n <= 100 && t.spans.n > 20);
    assert_true(t.resolution > 0);
    for (size_t i = 0; i < t.spans.n; i++) {
        const struct timeline_span *s = &t.spans.a[i];

        if (s->state == TIMELINE_WAITING + WAIT_DISK)
            seen += s->merged == 0 && s->start == 30 * MS && s->end == 50 * MS;
        merged += s->merged;
        covered += s->end - s->start;
    }
    assert_int_equal(seen, 1);
    assert_int_equal(merged, t.merged_spans);
    assert_int_equal(covered, t.end);
    /* 6 of 10 us it runs. */
    assert_true(t.spans.a[1].share[TIMELINE_RUNS] > 140 && t.spans.a[1].share[TIMELINE_RUNS] < 165);
    assert_true(t.ticks.n <= 50);
    seen = 0;
    for (size_t i = 0; i < t.ticks.n; i++)
        seen += t.ticks.a[i].n;
    assert_int_equal(seen, 10000);
    timeline_release(&t);
    world_release(&w);
}

static void too_many_threads_are_counted(void **state)
{
    struct timeline_opts o = {.max_lanes = 5, .max_nodes = 2};
    struct timeline t;
    struct world w;

    world_init(&w);
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t task = world_task(&w, 500 + i, 500 + i, "child", 0);

        for (uint32_t k = 0; k <= i; k++)
            world_event(&w, EVENT_SAMPLE, task, 1 + k, 0)->stack = w.run_stack;
    }
    world_event(&w, EVENT_SAMPLE, w.main, 1, 0)->stack = w.load_stack;
    timeline_build(&t, &w.s, &o);
    assert_int_equal(t.lanes.n, 5);
    assert_int_equal(t.left_lanes, 26);
    assert_int_equal(t.processes.a[1].pid, 525); /* in the order of their coming */
    assert_int_equal(t.processes.a[5].pid, 529);
    assert_true(t.stacks.nodes.n <= 3);
    timeline_release(&t);
    world_release(&w);
}

static void imported_stacks_have_no_timeline(void **state)
{
    struct timeline t;
    struct world w;

    world_init(&w);
    w.s.meta.start_mono = 0;
    *vec_push(&w.s.store.events) = (struct event){.value = 3, .stack = w.run_stack, .kind = EVENT_SAMPLE};
    assert_false(timeline_has(&w.s));
    build(&w, &t);
    assert_int_equal(t.lanes.n, 0);
    timeline_release(&t);
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_wait_is_running),
        cmocka_unit_test(a_wait_has_stack_reason_and_waker),
        cmocka_unit_test(spans_are_put_in_order),
        cmocka_unit_test(without_switches_there_are_ticks_alone),
        cmocka_unit_test(a_thread_is_one_lane),
        cmocka_unit_test(a_lane_begins_with_its_recording),
        cmocka_unit_test(waits_for_the_gil_lie_over_the_rest),
        cmocka_unit_test(what_is_counted_in_no_time_is_no_rate),
        cmocka_unit_test(marks_and_metrics_have_lanes),
        cmocka_unit_test(the_size_is_bounded),
        cmocka_unit_test(too_many_threads_are_counted),
        cmocka_unit_test(imported_stacks_have_no_timeline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
