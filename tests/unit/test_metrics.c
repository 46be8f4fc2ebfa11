/* SPDX-License-Identifier: Apache-2.0 */
/* From readings to events, and from events to sums. */
#include "analyze/metrics_sums.h"
#include "analyze/metrics_top.h"
#include "collect/metrics.h"
#include "collect/metrics_series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define S 1000000000ull

static const struct metrics_key user = {METRIC_ID_CPU_USER, 1, 0};
static const struct metrics_key rss = {METRIC_ID_MEMORY_RSS, 1, 0};

static void expect(const struct store *s, size_t i, uint64_t ts, uint64_t dur, uint64_t value)
{
    assert_true(i < s->events.n);
    assert_int_equal(s->events.a[i].kind, EVENT_METRIC);
    assert_int_equal(s->events.a[i].ts, ts);
    assert_int_equal(s->events.a[i].dur, dur);
    assert_int_equal(s->events.a[i].value, value);
}

static void names_are_unique(void **state)
{
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++) {
        const struct metric *m = metrics_get((enum metric_id)id);

        assert_int_equal(metrics_find(m->name), id);
        assert_true(m->of && m->title && m->what);
    }
    assert_int_equal(metrics_find("cpu"), METRIC_NONE);
}

static void counters(void **state)
{
    struct metrics_series s = {0};
    struct metrics_out out;
    struct store store = {0};

    metrics_out_init(&out, &store);
    metrics_count(&out, &s, user, 10, 1000); /* what it begins with */
    metrics_count(&out, &s, user, 20, 1500);
    metrics_count(&out, &s, user, 30, 1500);
    metrics_count(&out, &s, user, 40, 1500);
    metrics_count(&out, &s, user, 50, 1501);
    metrics_count(&out, &s, user, 60, 1400); /* anew */
    metrics_count(&out, &s, user, 70, 1410);
    metrics_count(&out, &s, user, 80, 1410);
    metrics_end(&out, &s, user);
    assert_int_equal(store.events.n, 6);
    expect(&store, 0, 10, 10, 500);
    expect(&store, 1, 20, 20, 0); /* idle time is one event */
    expect(&store, 2, 40, 10, 1);
    expect(&store, 3, 50, 10, 0);
    expect(&store, 4, 60, 10, 10);
    expect(&store, 5, 70, 10, 0);
    metrics_begin(&s, 100, 0);
    metrics_count(&out, &s, user, 110, 7);
    expect(&store, 6, 100, 10, 7);
    metrics_end(&out, &s, user);
    metrics_end(&out, &s, user);
    assert_int_equal(store.events.n, 7);
    store_release(&store);
}

static void levels(void **state)
{
    struct metrics_series s = {0};
    struct metrics_out out;
    struct store store = {0};

    metrics_out_init(&out, &store);
    out.gated = 1;
    metrics_level(&out, &s, rss, 5, 1);
    assert_int_equal(store.events.n, 0);
    out.gated = 0;
    metrics_level(&out, &s, rss, 10, 1);
    metrics_level(&out, &s, rss, 20, 1);
    metrics_level(&out, &s, rss, 30, 2);
    metrics_end(&out, &s, rss);
    assert_int_equal(store.events.n, 2);
    expect(&store, 0, 10, 0, 1);
    expect(&store, 1, 30, 0, 2);
    store_release(&store);
}

static void count_for(struct session *s, struct metrics_out *out, uint16_t cpu, uint64_t ns)
{
    struct metrics_key key = {METRIC_ID_SCHED_ONCPU, 1, cpu};
    struct metrics_series series = {0};

    metrics_begin(&series, 0, 0);
    metrics_count(out, &series, key, 2 * S, ns);
}

static void sums(void **state)
{
    struct metrics_series s = {0}, level = {0}, ipc = {0};
    struct metrics_key ipc_key = {METRIC_ID_IPC, 1, 0};
    struct session session = {0};
    struct metrics_sums x;
    struct metrics_out out;
    const struct metrics_sum *m;
    struct table t;

    metrics_out_init(&out, &session.store);
    tasks_add(&session.store.tasks,
              &(struct task){.pid = 7, .tid = 7, .ns_pid = 7, .ns_tid = 7, .start_ns = 1});
    metrics_begin(&s, 0, 0);
    metrics_count(&out, &s, user, 1 * S, S / 2);
    metrics_count(&out, &s, user, 2 * S, S / 2);
    metrics_count(&out, &s, user, 4 * S, S / 2 + 2 * S);
    metrics_count(&out, &s, user, 4 * S + S / 1000, S / 2 + 3 * S); /* too short for a rate */
    metrics_level(&out, &level, rss, 0, 100);
    metrics_level(&out, &level, rss, 3 * S, 500);
    metrics_level(&out, &ipc, ipc_key, 0, 1500000);
    count_for(&session, &out, 0, S);
    count_for(&session, &out, 3, 3 * S);
    metrics_sums_init(&x, &session);

    m = metrics_sums_find(&x, 1, METRIC_ID_CPU_USER);
    assert_non_null(m);
    assert_true(m->total == 3.5e9);
    assert_true(m->least == 0);
    assert_true(m->most == 1e9);
    assert_true(fabs(m->mean - 3.5e9 / 4.001) < 1);
    assert_int_equal(metrics_sums_total(&x, 1, METRIC_ID_CPU_USER), 7 * S / 2);
    m = metrics_sums_find(&x, 1, METRIC_ID_MEMORY_RSS); /* 100 for 3 s, 500 for the rest */
    assert_true(m->least == 100 && m->most == 500 && m->last == 500);
    assert_true(fabs(m->mean - (300 + 500 * 1.001) / 4.001) < 1e-6);
    assert_int_equal(metrics_sums_most(&x, 1, METRIC_ID_MEMORY_RSS), 500);
    assert_int_equal(metrics_sums_total(&x, 1, METRIC_ID_SCHED_ONCPU), 4 * S);
    assert_true(metrics_sums_total(&x, 1, METRIC_ID_IO_READ) == METRICS_NONE); /* no zero */
    assert_null(metrics_sums_find(&x, 0, METRIC_ID_CPU_USER));

    metrics_table_processes(&t, &x, 0);
    assert_int_equal(table_rows(&t), 1);
    table_release(&t);
    metrics_table_threads(&t, &x, 0);
    assert_int_equal(table_rows(&t), 1);
    assert_string_equal(t.cells.a[t.ncolumns - 1].text, "3: 75 %, 0: 25 %");
    table_release(&t);
    metrics_table_machine(&t, &x, 0);
    assert_int_equal(table_rows(&t), 0);
    table_release(&t);
    metrics_table_all(&t, &x);
    assert_int_equal(table_rows(&t), 5);
    table_release(&t);
    metrics_sums_release(&x);
    store_release(&session.store);
}

static void spell(enum metric_id id, double value, int rate, const char *expected)
{
    char text[64];

    assert_string_equal(metrics_spell(text, sizeof(text), metrics_get(id), value, rate), expected);
}

static void words(void **state)
{
    spell(METRIC_ID_CPU_USER, 1.5e9, 1, "150 %");
    spell(METRIC_ID_CPU_USER, 1.5e9, 0, "1.50 s");
    spell(METRIC_ID_IO_READ, 1536, 1, "1.5 KiB/s");
    spell(METRIC_ID_IPC, 1230000, 0, "1.23");
    spell(METRIC_ID_CPU_FREQUENCY, 2.6e9, 0, "2.60 GHz");
    spell(METRIC_ID_CPU_FREQUENCY, 8e8, 0, "800 MHz");
    spell(METRIC_ID_SWITCHES, 12345.4, 1, "12,345/s");
    spell(METRIC_ID_SWITCHES, 0.25, 1, "0.25/s");
}

/* A child that queued for its first run since long before the recording began. */
static void delay_is_of_the_recording(void **state)
{
    struct metrics m = {.begin = 0};

    assert_int_equal(metrics_delay_grown(&m, 0, 9 * S, 100 * S), 9 * S); /* what it begins with */
    m.begin = 100 * S;
    assert_int_equal(metrics_delay_grown(&m, 0, 9 * S, 101 * S), S);
    assert_int_equal(metrics_delay_grown(&m, 9 * S, 9 * S + 5, 101 * S), 5);
    assert_int_equal(metrics_delay_grown(&m, 9 * S, 8 * S, 101 * S), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(counters),
        cmocka_unit_test(levels),
        cmocka_unit_test(sums),
        cmocka_unit_test(words),
        cmocka_unit_test(delay_is_of_the_recording),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
