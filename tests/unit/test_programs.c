/* SPDX-License-Identifier: Apache-2.0 */
/* Who used the CPUs: of a whole machine, and where others than the main thread's program did the work. */
#include "rules_fixture.h"

#include "analyze/report_programs.h"

/* Two cc1 of 3 and 2 s, a sh of 1 s and the command. */
static void others(struct rules_case *x)
{
    struct tasks *t = &x->s.store.tasks;
    uint32_t a = case_task(x, 20, 20, 0, "cc1"), b = case_task(x, 21, 21, 0, "cc1");
    uint32_t thread = case_task(x, 21, 22, 0, "worker"), sh = case_task(x, 30, 30, 0, "sh");

    tasks_get(t, a)->cpu_ns = 3 * SEC;
    tasks_get(t, b)->cpu_ns = 1 * SEC;
    tasks_get(t, thread)->cpu_ns = 1 * SEC;
    tasks_get(t, sh)->cpu_ns = 1 * SEC;
    case_samples(x, a, NATIVE({"compile", NULL}), 0, 30);
    case_samples(x, b, NATIVE({"parse", NULL}), 0, 10);
    for (unsigned i = 0; i < 10; i++) {
        case_metric(x, METRIC_ID_SCHED_DELAY, a, i, 800 * MS);
        case_metric(x, METRIC_ID_SCHED_DELAY, sh, i, 200 * MS);
        case_metric(x, METRIC_ID_FAULTS_MINOR, b, i, 60000);
        case_metric(x, METRIC_ID_SCHED_RUNNING, 0, i, 9 - i % 2);
    }
}

static void of_machine(struct rules_case *x)
{
    x->s.meta.pid = 0;
    others(x);
}

static void report_of(struct rules_case *x, struct report *r)
{
    struct metrics_sums sums;

    *r = (struct report){.meta = &x->s.meta};
    metrics_sums_init(&sums, &x->s);
    report_programs(r, &x->s, &sums);
    metrics_sums_release(&sums);
}

static void machine(void **state)
{
    struct rules_case *x = *state;
    struct buf words = {0};
    struct report r;

    of_machine(x);
    report_of(x, &r);
    assert_true(r.whole_machine);
    assert_int_equal(r.cpus_ns, 40 * SEC);
    assert_int_equal(r.cpus_used_ns, 6 * SEC);
    assert_int_equal(r.programs.n, 2); /* what ran for no time is in no row */
    assert_string_equal(r.programs.a[0].name, "cc1");
    assert_int_equal(r.programs.a[0].processes, 2);
    assert_int_equal(r.programs.a[0].cpu_ns, 5 * SEC);
    assert_int_equal(r.programs.a[0].delay_ns, 8 * SEC);
    assert_non_null(strstr(r.programs.a[0].where, "compile"));
    assert_float_equal(r.programs.a[0].where_share, 0.75, 1e-9);
    assert_null(r.programs.a[1].where);
    report_programs_words(&r, &words);
    assert_string_equal(buf_str(&words), "6.00 s of the 40.00 s of 4 CPUs");
    buf_release(&words);
    report_release(&r);
}

/* The command's own program did the work, then others did. */
static void of_command(void **state)
{
    struct rules_case *x = *state;
    struct buf words = {0};
    struct report r;

    others(x);
    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 7 * SEC;
    report_of(x, &r);
    assert_int_equal(r.programs.n, 0);
    report_release(&r);
    tasks_get(&x->s.store.tasks, x->lead)->cpu_ns = 2 * SEC;
    report_of(x, &r);
    assert_int_equal(r.programs.n, 3);
    assert_false(r.whole_machine);
    report_programs_words(&r, &words);
    assert_string_equal(buf_str(&words), "8.00 s of CPU time, 0.8 CPUs on average");
    buf_release(&words);
    report_release(&r);
}

static void findings_name_programs(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    of_machine(x);
    f = case_found(x, "oversubscribed");
    assert_non_null(strstr(f->evidence, "most of it cc1 (2 processes) 80.0 %, sh 20.0 %."));
    assert_non_null(strstr(f->evidence, "threads wanted one of 4 CPUs"));
    assert_null(strstr(f->evidence, "its own"));
    assert_non_null(strstr(f->advice, "at a time"));
    f = case_found(x, "minor-faults");
    assert_string_equal(f->evidence, "60,000 minor faults/s, of them cc1 (2 processes) 100.0 %.");
}

/* The main thread's own process is the finding's: no other is named. */
static void findings_of_a_command(void **state)
{
    struct rules_case *x = *state;
    const struct finding *f;

    for (unsigned i = 0; i < 10; i++)
        case_metric(x, METRIC_ID_FAULTS_MINOR, x->lead, i, 60000);
    f = case_found(x, "minor-faults");
    assert_null(strstr(f->evidence, "of them"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(machine), T(of_command), T(findings_name_programs),
                                       T(findings_of_a_command)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
