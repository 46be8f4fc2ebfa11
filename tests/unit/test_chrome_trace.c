/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's Trace Event Format: spans, ends and beginnings in any order, lanes without numbers. */
#include "import_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void import(struct imported *im, const char *text)
{
    *im = (struct imported){.rc = 0};
    imported_add(im, &import_chrome, text, strlen(text), 0, 1);
}

static void assert_span(struct imported *im, size_t nth, const char *stack, uint64_t ts, uint64_t dur)
{
    const struct event *ev = imported_event(im, GPU_OPERATOR, nth);
    char *got;

    assert_non_null(ev);
    got = imported_stack(im, ev->stack);
    assert_string_equal(got, stack);
    assert_int_equal(ev->ts, ts);
    assert_int_equal(ev->dur, dur);
    free(got);
}

static void spans_of_both_kinds_nest(void **state)
{
    struct imported im;

    /* The E of b stands before its B. */
    import(&im, "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":10,\"dur\":50,\"pid\":1,\"tid\":2},"
                "{\"ph\":\"E\",\"ts\":40,\"pid\":1,\"tid\":2},"
                "{\"name\":\"b\",\"ph\":\"B\",\"ts\":20,\"pid\":1,\"tid\":2},"
                "{\"name\":\"c\",\"ph\":\"X\",\"ts\":25,\"dur\":5,\"pid\":1,\"tid\":2},"
                "{\"name\":\"c\",\"ph\":\"X\",\"ts\":25,\"dur\":5,\"pid\":1,\"tid\":3}]");
    assert_int_equal(im.rc, 0);
    assert_ptr_equal(im.importer, &import_chrome);
    assert_span(&im, 0, "a", 10000, 50000);
    assert_span(&im, 1, "a;b", 20000, 20000);
    assert_span(&im, 2, "a;b;c", 25000, 5000);
    assert_span(&im, 3, "c", 25000, 5000);
    imported_release(&im);
}

static void ends_that_are_missing(void **state)
{
    struct imported im;

    import(&im, "{\"traceEvents\":[{\"ph\":\"E\",\"ts\":5,\"pid\":1,\"tid\":2},"
                "{\"name\":\"open\",\"ph\":\"B\",\"ts\":20,\"pid\":1,\"tid\":2},"
                "{\"name\":\"inner\",\"ph\":\"B\",\"ts\":30,\"pid\":1,\"tid\":2},"
                "{\"ph\":\"E\",\"ts\":90,\"pid\":1,\"tid\":2}]}");
    assert_int_equal(im.rc, 0);
    assert_span(&im, 0, "open", 20000, 70000);
    assert_span(&im, 1, "open;inner", 30000, 60000);
    assert_true(imported_event(&im, GPU_OPERATOR, 0)->flags & EVENT_OPEN);
    assert_int_equal(imported_count(&im, IMPORT_LOST, "without a beginning"), 1);
    assert_int_equal(imported_count(&im, IMPORT_NOTED, "without an end"), 1);
    imported_release(&im);
}

static const char *name_of(struct imported *im, size_t nth)
{
    return strtab_get(&im->store.strings,
                      tasks_get(&im->store.tasks, imported_event(im, GPU_OPERATOR, nth)->task)->comm);
}

static void lanes_and_names(void **state)
{
    struct imported im;

    import(&im,
           "[{\"name\":\"x\",\"ph\":\"X\",\"ts\":-5,\"dur\":1,\"pid\":\"GPU\",\"tid\":\"stream\"},"
           "{\"name\":\"x\",\"ph\":\"X\",\"ts\":1,\"dur\":1,\"pid\":\"GPU\",\"tid\":123456789012},"
           "{\"name\":\"x\",\"ph\":\"X\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1},"
           "{\"name\":\"x\",\"ph\":\"X\",\"ts\":1,\"dur\":1,\"pid\":2,\"tid\":1},"
           "{\"name\":\"x\",\"ph\":\"X\",\"ts\":1,\"dur\":1},"
           "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":\"GPU\",\"tid\":\"stream\",\"args\":{\"name\":"
           "\"s0\"}},"
           "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"one\"}},"
           "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"args\":{\"name\":\"two\"}},"
           "{\"name\":\"tick\",\"ph\":\"i\",\"ts\":1,\"pid\":1,\"tid\":1},"
           "{\"name\":\"n\",\"ph\":\"C\",\"ts\":1,\"pid\":1,\"args\":{\"v\":3}},"
           "{\"name\":\"Profile\",\"ph\":\"P\",\"ts\":1},{\"name\":\"ProfileChunk\",\"ph\":\"P\",\"ts\":2},"
           "{\"name\":\"n\",\"ph\":\"b\",\"ts\":1,\"pid\":1,\"id\":3},{\"ph\":\"s\",\"id\":1,\"ts\":1}]");
    assert_int_equal(im.rc, 0);
    assert_string_equal(name_of(&im, 0), "s0");
    assert_string_equal(name_of(&im, 2), "one");
    assert_string_equal(name_of(&im, 3), "two");
    assert_int_not_equal(imported_event(&im, GPU_OPERATOR, 0)->task,
                         imported_event(&im, GPU_OPERATOR, 1)->task);
    assert_span(&im, 0, "x", 0, 1000); /* the times from the earliest on */
    assert_int_equal(imported_count(&im, IMPORT_TOOK, "moments"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "counter"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "arrow"), 1);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "CPU profile"), 2);
    assert_int_equal(imported_count(&im, IMPORT_LEFT, "other phases"), 1);
    imported_release(&im);
}

static void refusals(void **state)
{
    struct imported im;

    import(&im, "{\"traceEvents\":[]}");
    assert_int_equal(im.rc, -1);
    imported_release(&im);
    import(&im, "[1, 2]");
    assert_int_equal(im.rc, -1);
    assert_non_null(strstr(im.e.msg, "a list of events was expected"));
    imported_release(&im);
    import(&im, "[[1, 2, 3, 4]]");
    assert_int_equal(im.rc, -1);
    imported_release(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_of_both_kinds_nest),
        cmocka_unit_test(ends_that_are_missing),
        cmocka_unit_test(lanes_and_names),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
