/* SPDX-License-Identifier: Apache-2.0 */
/* Counters: scaling, and on the kernel's software events what is counted for whom. */
#include "base/mem.h"
#include "collect/metrics_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define S 1000000000ull

enum { PAGES = 1000 };

/* Page faults are what is counted exactly, whatever the machine. */
static const char *const faults[METRICS_EVENTS] = {
    [METRICS_CYCLES] = "task-clock", [METRICS_INSTRUCTIONS] = "page-faults", [METRICS_L1I] = "no-such-event",
    [METRICS_LLC] = "page-faults",   [METRICS_LLC_READS] = "page-faults",
};

static void touch(void)
{
    size_t size = PAGES * (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(p, size, MADV_NOHUGEPAGE);
    memset(p, 1, size);
    munmap(p, size);
}

static void touch_in_child(void)
{
    pid_t pid = fork();

    if (!pid) {
        touch();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void turns_are_scaled(void **state)
{
    struct perf_count a = {1000, 5 * S, 2 * S}, b = {1500, 9 * S, 3 * S},
                      big = {UINT64_MAX / 2, 9 * S, 2 * S + 1};
    uint64_t n;

    assert_int_equal(perf_count_grown(&a, &b, &n), 0);
    assert_int_equal(n, 2000); /* 500 in a quarter of the time */
    assert_int_equal(perf_count_grown(&(struct perf_count){0}, &(struct perf_count){7, S, S}, &n), 0);
    assert_int_equal(n, 7);
    assert_int_equal(perf_count_grown(&a, &a, &n), 0); /* it did not run at all */
    assert_int_equal(n, 0);
    assert_int_equal(perf_count_grown(&a, &(struct perf_count){1000, 6 * S, 2 * S}, &n), -1); /* no turn */
    assert_int_equal(perf_count_grown(&b, &a, &n), -1);
    assert_int_equal(perf_count_grown(&a, &big, &n), 0);
    assert_true(n == UINT64_MAX); /* as much as there is room for */
}

static uint64_t total(const struct store *s, uint32_t name)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->events.n; i++)
        sum += s->events.a[i].metric == name ? s->events.a[i].value : 0;
    return sum;
}

static void open_or_skip(struct metrics_cache *c)
{
    metrics_cache_init(c, faults);
    if (!c->there[METRICS_LLC]) {
        print_message("# perf events are refused here\n");
        skip();
    }
}

static void a_thread_and_its_children(void **state)
{
    struct metrics_counts own, all;
    struct metrics_counted own_counted, all_counted;
    struct metrics_cache c;
    struct store store = {0};
    struct metrics_out out;
    char why[256];

    open_or_skip(&c);
    assert_int_equal(c.count, 4);
    assert_string_equal(metrics_cache_why(&c, why, sizeof(why)), "L1I read misses (the PMU has none)");
    metrics_out_init(&out, &store);
    assert_int_equal(metrics_counts_open(&c, &own, getpid(), 0), 4);
    assert_int_equal(metrics_counts_open(&c, &all, getpid(), 1), 4);
    metrics_counted_begin(&own_counted, 1 * S);
    metrics_counted_begin(&all_counted, 1 * S);
    touch();
    touch_in_child();
    metrics_counts_add(&c, &own, &own_counted);
    metrics_counts_add(&c, &all, &all_counted);
    metrics_counted_put(&own_counted, &out, 0, 1, 2 * S);
    metrics_counted_put(&all_counted, &out, 1, 1, 2 * S);
    assert_in_range(total(&store, out.names[METRIC_ID_LLC_MISSES]), PAGES, PAGES + 200);
    assert_in_range(total(&store, out.names[METRIC_ID_TREE_LLC_MISSES]), 2 * PAGES, 2 * PAGES + 500);
    assert_int_equal(total(&store, out.names[METRIC_ID_L1I_MISSES]), 0);
    assert_true(total(&store, out.names[METRIC_ID_CYCLES]) > 0);
    assert_true(total(&store, out.names[METRIC_ID_IPC]) > 0); /* of what stands for the two here */
    touch();
    metrics_counts_add(&c, &own, &own_counted);
    metrics_counted_put(&own_counted, &out, 0, 1, 3 * S);
    assert_in_range(total(&store, out.names[METRIC_ID_LLC_MISSES]), 2 * PAGES, 2 * PAGES + 400);
    assert_int_equal(metrics_counts_close(&own), 4);
    assert_int_equal(metrics_counts_close(&own), 0);
    assert_int_equal(metrics_counts_close(&all), 4);
    store_release(&store);
}

static void no_pmu(void **state)
{
    static const char *const none[METRICS_EVENTS] = {"no-a", "no-b", "no-c", "no-d", "no-e"};
    struct metrics_counts x;
    struct metrics_cache c;
    char why[256];

    metrics_cache_init(&c, none);
    assert_int_equal(c.count, 0);
    assert_string_equal(metrics_cache_why(&c, why, sizeof(why)), "no PMU (cache misses, IPC)");
    assert_int_equal(metrics_counts_open(&c, &x, getpid(), 0), 0);
    assert_int_equal(c.refused, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_scaled),
        cmocka_unit_test(a_thread_and_its_children),
        cmocka_unit_test(no_pmu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
