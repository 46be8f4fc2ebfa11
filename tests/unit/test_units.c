/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and requests out of markers, sessions cut down to them, and the table of them. */
#include "analyze/only.h"
#include "analyze/split.h"
#include "analyze/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { START = 1000, MAIN_TASK = 1, THREAD, WORKER, OTHER, SPLIT_TASK };

static void push(struct session *s, uint16_t kind, uint32_t task, uint64_t ts, uint64_t dur, uint16_t flags)
{
    *vec_push(&s->store.events) = (struct event){.ts = START + ts,
                                                 .dur = dur,
                                                 .value = kind == EVENT_METRIC ? dur * 2 : 1,
                                                 .task = task,
                                                 .flags = flags,
                                                 .kind = kind};
}

static void mark(struct session *s, uint32_t task, const char *text, uint64_t from, uint64_t to)
{
    push(s, EVENT_MARKER, task, from, to - from, 0);
    s->store.events.a[s->store.events.n - 1].metric = strtab_add(&s->store.strings, text);
}

/* Steps 0 and 1 of 100 each from 100 on, step 2 from 300 to 450; another process's step 7. */
static void session_init(struct session *s)
{
    struct task t[] = {
        {.pid = 10, .tid = 10, .start_ns = 1},
        {.pid = 10, .tid = 11, .start_ns = 2, .leader = MAIN_TASK},
        {.pid = 20, .tid = 20, .start_ns = 3, .parent = MAIN_TASK},
        {.pid = 30, .tid = 30, .start_ns = 4},
        {.pid = 40, .tid = 40, .start_ns = 5},
    };

    *s = (struct session){.meta = {.start_mono = START, .end_mono = START + 1000, .frequency = 100}};
    for (size_t i = 0; i < ARRAY_SIZE(t); i++)
        tasks_add(&s->store.tasks, &t[i]);
    mark(s, MAIN_TASK, "step 0", 100, 200);
    mark(s, MAIN_TASK, "step 1", 200, 300);
    mark(s, MAIN_TASK, "step 2", 300, 450);
    mark(s, OTHER, "step 7", 600, 700);
    mark(s, MAIN_TASK, "request a", 150, 250);
    mark(s, MAIN_TASK, "request b", 220, 320);
    mark(s, MAIN_TASK, "hello there", 120, 120); /* a moment */
}

static void session_free(struct session *s)
{
    store_release(&s->store);
    for (size_t i = 0; i < s->meta.notes.n; i++)
        free(s->meta.notes.a[i]);
    vec_release(&s->meta.notes);
}

static uint64_t total(const struct session *s, uint16_t kind, uint32_t task)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];

        if (ev->kind == kind && (!task || ev->task == task))
            sum += kind == EVENT_SAMPLE || kind == EVENT_METRIC ? ev->value : ev->dur;
    }
    return sum;
}

/* What --only leaves of a session that `fill` adds to. */
static uint64_t left(void (*fill)(struct session *s), const char *only, uint16_t kind, uint32_t task)
{
    struct session s;
    struct cut c;
    uint64_t sum;

    session_init(&s);
    fill(&s);
    assert_int_equal(only_apply(&c, &s, only, NULL), 0);
    sum = total(&s, kind, task);
    cut_release(&c);
    session_free(&s);
    return sum;
}

/* ---- what is chosen ---- */

static void chosen(const char *text, const char *want)
{
    struct units_choice c;
    struct buf out = {0};
    struct session s;
    struct units u;
    struct err e = {0};

    session_init(&s);
    units_collect(&u, &s);
    if (units_choose(&c, &u, text, &e)) {
        assert_string_equal(e.msg, want);
    } else {
        for (size_t i = 0; i < c.chosen.n; i++) {
            buf_addstr(&out, i ? ", " : "");
            units_label(&u, &u.list.a[c.chosen.a[i]], &out);
        }
        assert_string_equal(buf_str(&out), want);
    }
    units_choice_release(&c);
    units_release(&u);
    buf_release(&out);
    session_free(&s);
}

static void choices(void **state)
{
    chosen("step", "step 0, step 1, step 2, step 7");
    chosen("step:1", "step 1");
    chosen("step:1-7", "step 1, step 2, step 7");
    chosen("step:7,0", "step 0, step 7");
    chosen("request:b", "request b");
    chosen("outside:step", "step 0, step 1, step 2, step 7");
    chosen("step:5", "--only step:5: no step '5' in this session (it has 4, from '0' to '7')");
    chosen("step:", "--only step:: no step '' in this session (it has 4, from '0' to '7')");
    chosen("step:0,x", "--only step:0,x: no step 'x' in this session (it has 4, from '0' to '7')");
    chosen("stop",
           "--only stop: no marks of the kind 'stop'; did you mean 'step'? (there are: step, request)");
    chosen("hello", "--only hello: no marks of the kind 'hello' (there are: step, request)");
}

/* ---- what is left ---- */

static void one_wait(struct session *s)
{
    push(s, EVENT_OFFCPU, MAIN_TASK, 50, 500, 0); /* from 50 to 550 */
}

static void spans_are_clipped(void **state)
{
    assert_int_equal(left(one_wait, "step:0", EVENT_OFFCPU, 0), 100);
    assert_int_equal(left(one_wait, "step:1-2", EVENT_OFFCPU, 0), 250);
    assert_int_equal(left(one_wait, "step", EVENT_OFFCPU, 0), 350);
    assert_int_equal(left(one_wait, "outside:step", EVENT_OFFCPU, 0), 150);
    assert_int_equal(left(one_wait, "request", EVENT_OFFCPU, 0), 170); /* their union */
    assert_int_equal(left(one_wait, NULL, EVENT_OFFCPU, 0), 500);
    assert_int_equal(left(one_wait, "step", EVENT_MARKER, MAIN_TASK), 350 + 200);
}

static void samples_at(struct session *s)
{
    static const uint64_t at[] = {99, 100, 199, 200, 449, 450};

    for (size_t i = 0; i < ARRAY_SIZE(at); i++)
        push(s, EVENT_SAMPLE, THREAD, at[i], 0, 0);
}

static void samples_at_the_edges(void **state)
{
    assert_int_equal(left(samples_at, "step:0", EVENT_SAMPLE, 0), 2);
    assert_int_equal(left(samples_at, "step:1", EVENT_SAMPLE, 0), 1);
    assert_int_equal(left(samples_at, "step:2", EVENT_SAMPLE, 0), 1);
    assert_int_equal(left(samples_at, "outside:step", EVENT_SAMPLE, 0), 2);
}

static void sums(struct session *s)
{
    push(s, EVENT_OFFCPU, MAIN_TASK, 100, 7, EVENT_SHORT); /* to 250, the next one */
    push(s, EVENT_OFFCPU, MAIN_TASK, 250, 1001, EVENT_SHORT);
    push(s, EVENT_RUNQ, MAIN_TASK, 100, 3, EVENT_SHORT);
    push(s, EVENT_METRIC, MAIN_TASK, 150, 101, 0); /* a counter of 202 until 251 */
}

static void sums_are_divided_exactly(void **state)
{
    static const char *const pieces[] = {"step:0", "step:1", "step:2", "outside:step"};
    uint64_t off = 0, queued = 0, counted = 0;

    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        off += left(sums, pieces[i], EVENT_OFFCPU, 0);
        queued += left(sums, pieces[i], EVENT_RUNQ, 0);
        counted += left(sums, pieces[i], EVENT_METRIC, 0);
    }
    assert_int_equal(off, 1008);
    assert_int_equal(queued, 3);
    assert_int_equal(counted, 202);
    assert_int_equal(left(sums, "step:0", EVENT_OFFCPU, 0), 7 * 100 / 150);
    assert_int_equal(left(sums, "step:0", EVENT_METRIC, 0), 100);
}

static void gauge(struct session *s)
{
    push(s, EVENT_METRIC, MAIN_TASK, 10, 0, 0);
    push(s, EVENT_METRIC, MAIN_TASK, 250, 0, 0);
}

static void levels_hold(void **state)
{
    struct session s;
    struct cut c;
    size_t n = 0;

    session_init(&s);
    gauge(&s);
    assert_int_equal(only_apply(&c, &s, "step:1", NULL), 0);
    for (size_t i = 0; i < s.store.events.n; i++)
        if (s.store.events.a[i].kind == EVENT_METRIC)
            assert_int_equal(s.store.events.a[i].ts, START + (n++ ? 250 : 200));
    assert_int_equal(n, 2);
    assert_string_equal(s.meta.notes.a[0], "only step:1: 1 of them, 100 ns in all");
    cut_release(&c);
    session_free(&s);
}

static void others(struct session *s)
{
    for (uint32_t task = THREAD; task <= SPLIT_TASK; task++)
        push(s, EVENT_OFFCPU, task, 0, 1000, 0);
}

static void whose_steps_count(void **state)
{
    assert_int_equal(left(others, "step:1", EVENT_OFFCPU, THREAD), 100);
    assert_int_equal(left(others, "step:1", EVENT_OFFCPU, WORKER), 100); /* its parent's */
    assert_int_equal(left(others, "step:1", EVENT_OFFCPU, OTHER), 0);    /* it has steps of its own */
    assert_int_equal(left(others, "step:7", EVENT_OFFCPU, OTHER), 100);
    assert_int_equal(left(others, "step:7", EVENT_OFFCPU, WORKER), 0);
    assert_int_equal(left(others, "step:1,7", EVENT_OFFCPU, SPLIT_TASK),
                     200); /* nobody's: all that are chosen */
    assert_int_equal(left(others, "outside:step", EVENT_OFFCPU, SPLIT_TASK), 1000 - 350 - 100);
}

/* ---- side by side ---- */

static uint64_t in_unit(const struct session *s, const struct split *x, uint16_t kind, const char *unit)
{
    uint64_t sum = 0;

    assert_int_equal(x->units.n, s->store.events.n);
    for (size_t i = 0; i < x->units.n; i++)
        if (s->store.events.a[i].kind == kind && !strcmp(strtab_get(&s->store.strings, x->units.a[i]), unit))
            sum += kind == EVENT_SAMPLE ? s->store.events.a[i].value : s->store.events.a[i].dur;
    return sum;
}

static void split_up(void **state)
{
    struct session s;
    struct split x;
    struct err e = {0};

    session_init(&s);
    one_wait(&s);
    samples_at(&s);
    push(&s, EVENT_OFFCPU, SPLIT_TASK, 0, 1000, 0);
    assert_int_equal(split_apply(&x, &s, NULL, &e), 0);
    assert_int_equal(x.units.n, 0);
    assert_int_equal(split_apply(&x, &s, "step", &e), 0);
    assert_int_equal(in_unit(&s, &x, EVENT_OFFCPU, "step 0"), 100 + 100);
    assert_int_equal(in_unit(&s, &x, EVENT_OFFCPU, "step 2"), 150 + 150);
    assert_int_equal(in_unit(&s, &x, EVENT_OFFCPU, "step 7"), 100); /* the first has no such step */
    assert_int_equal(in_unit(&s, &x, EVENT_OFFCPU, "[outside]"), 150 + 550);
    assert_int_equal(total(&s, EVENT_OFFCPU, 0), 500 + 1000);
    assert_int_equal(in_unit(&s, &x, EVENT_SAMPLE, "step 0"), 2);
    assert_int_equal(total(&s, EVENT_SAMPLE, 0), 6);
    split_release(&x);
    session_free(&s);

    session_init(&s);
    one_wait(&s);
    assert_int_equal(split_apply(&x, &s, "request", &e), 0);
    assert_int_equal(in_unit(&s, &x, EVENT_OFFCPU, "request a") + in_unit(&s, &x, EVENT_OFFCPU, "request b"),
                     200);
    assert_int_equal(in_unit(&s, &x, EVENT_OFFCPU, "[outside]"), 500 - 170);
    split_release(&x);
    assert_int_equal(split_apply(&x, &s, "stop", &e), -1);
    assert_string_equal(
        e.msg, "--split stop: no marks of the kind 'stop'; did you mean 'step'? (there are: step, request)");
    split_release(&x);
    session_free(&s);
}

/* ---- the table ---- */

static size_t column(const struct table *t, const char *key)
{
    size_t i = 0;

    while (strcmp(t->columns[i].key, key) != 0)
        i++;
    return i;
}

static const union table_cell *cell(const struct table *t, size_t row, const char *key)
{
    return &t->cells.a[row * t->ncolumns + column(t, key)];
}

static void table_of(struct table *t, struct session *s, const char *kind, size_t limit)
{
    struct units_choice c;
    struct units u;

    units_collect(&u, s);
    assert_int_equal(units_choose_kind(&c, &u, kind, NULL), 0);
    steps_table(t, s, &u, &c, limit);
    units_choice_release(&c);
    units_release(&u);
}

static void table(void **state)
{
    struct session s;
    struct table t;

    session_init(&s);
    one_wait(&s);
    push(&s, EVENT_RUNQ, MAIN_TASK, 550, 10, 0);
    push(&s, EVENT_OFFCPU, WORKER, 110, 20, 0);
    samples_at(&s);
    table_of(&t, &s, "step", 0);
    assert_int_equal(table_rows(&t), 6); /* four steps, two processes' rest */
    assert_string_equal(cell(&t, 0, "unit")->text, "step 0");
    assert_int_equal(cell(&t, 0, "start_ns")->count, 100);
    assert_int_equal(cell(&t, 0, "offcpu_ns")->count, 100);
    assert_int_equal(cell(&t, 0, "all_offcpu_ns")->count, 120);
    assert_int_equal(cell(&t, 0, "oncpu_ns")->count, 0);
    assert_int_equal(cell(&t, 0, "samples")->count, 2);
    assert_null(cell(&t, 0, "note")->text);
    assert_string_equal(cell(&t, 2, "note")->text, "slow"); /* 150 beside 100 */
    assert_string_equal(cell(&t, 4, "unit")->text, "[outside]");
    assert_int_equal(cell(&t, 4, "ns")->count, 1000 - 350);
    assert_int_equal(cell(&t, 4, "offcpu_ns")->count, 150);
    assert_int_equal(cell(&t, 4, "runq_ns")->count, 10);
    assert_int_equal(cell(&t, 4, "samples")->count, 2);
    table_release(&t);
    table_of(&t, &s, "step", 1); /* the longest */
    assert_string_equal(cell(&t, 0, "unit")->text, "step 2");
    assert_int_equal(t.left_out, 3);
    table_release(&t);
    table_of(&t, &s, "request", 0); /* each has its own, their rest is what neither has */
    assert_int_equal(cell(&t, 0, "offcpu_ns")->count + cell(&t, 1, "offcpu_ns")->count, 200);
    assert_int_equal(cell(&t, 2, "offcpu_ns")->count, 500 - 170);
    table_release(&t);
    session_free(&s);
}

/* --capture begins with a mark, recording a moment later; and it ends with one. */
static void cut_off(void **state)
{
    struct session s;
    struct table t;

    session_init(&s);
    s.meta.start_mono += 120;
    mark(&s, MAIN_TASK, "step 3", 990, 1000);
    s.store.events.a[s.store.events.n - 1].flags |= EVENT_OPEN;
    table_of(&t, &s, "step", 0);
    assert_string_equal(cell(&t, 0, "note")->text, "begun before the recording");
    assert_int_equal(cell(&t, 0, "ns")->count, 100);
    assert_int_equal(cell(&t, 0, "oncpu_ns")->count, 0);
    assert_null(cell(&t, 1, "note")->text);
    assert_string_equal(cell(&t, 4, "note")->text, "open");
    table_release(&t);
    session_free(&s);
}

/* By two tools, one of which does not know the end. */
static void fill_doubles(struct session *s)
{
    mark(s, MAIN_TASK, "step 0", 110, 190);  /* within the one that is there */
    mark(s, THREAD, "step 1", 200, 290);     /* of one start, by another thread of the process */
    mark(s, MAIN_TASK, "step 3", 450, 1000); /* without an end */
    s->store.events.a[s->store.events.n - 1].flags = EVENT_OPEN;
    mark(s, MAIN_TASK, "step 3", 460, 500);
    mark(s, WORKER, "step 2", 310, 440);    /* another process's */
    mark(s, MAIN_TASK, "step 0", 800, 900); /* of another time */
}

static void marked_twice(void **state)
{
    struct session s;
    struct units u;
    struct buf out = {0};

    session_init(&s);
    fill_doubles(&s);
    units_collect(&u, &s);
    for (size_t i = 0; i < u.list.n; i++) {
        if (u.list.a[i].id)
            units_label(&u, &u.list.a[i], &out);
        buf_addf(&out, " %d-%d, ", (int)(u.list.a[i].start - START), (int)(u.list.a[i].end - START));
    }
    assert_string_equal(out.data, "step 0 100-200, request a 150-250, step 1 200-300, request b 220-320, "
                                  "step 2 300-450, step 2 310-440, step 3 460-500, step 7 600-700, "
                                  "step 0 800-900, ");
    buf_release(&out);
    units_release(&u);
    session_free(&s);
    (void)state;
}

/* Where marks were lost, one without an end that outlasts all others of its kind has lost it. */
static void ends_that_were_lost(void **state)
{
    struct session s;
    struct units u;
    size_t all;

    (void)state;
    session_init(&s);
    mark(&s, MAIN_TASK, "step 8", 750, 1000); /* of steps none took more than 150 */
    s.store.events.a[s.store.events.n - 1].flags = EVENT_OPEN;
    mark(&s, MAIN_TASK, "step 9", 900, 1000);
    s.store.events.a[s.store.events.n - 1].flags = EVENT_OPEN;
    units_collect(&u, &s);
    all = u.list.n;
    units_release(&u);
    store_set_counter(&s.store, "marks.unsent", 1);
    units_collect(&u, &s);
    assert_int_equal(u.list.n, all - 1);
    for (size_t i = 0; i < u.list.n; i++)
        assert_false(u.list.a[i].open && u.list.a[i].end - u.list.a[i].start > 150);
    units_release(&u);
    session_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marked_twice),
        cmocka_unit_test(ends_that_were_lost),
        cmocka_unit_test(choices),
        cmocka_unit_test(spans_are_clipped),
        cmocka_unit_test(samples_at_the_edges),
        cmocka_unit_test(sums_are_divided_exactly),
        cmocka_unit_test(levels_hold),
        cmocka_unit_test(whose_steps_count),
        cmocka_unit_test(split_up),
        cmocka_unit_test(table),
        cmocka_unit_test(cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
