/* SPDX-License-Identifier: Apache-2.0 */
/* When one records: every order in which the signal, the delay, the mark and the ends may come. */
#include "record/marks_line.h"
#include "record/signal_name.h"
#include "record/window.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct mark mark(enum mark_verb verb, const char *kind, uint64_t number)
{
    return (struct mark){.verb = verb, .kind = kind, .number = number, .numbered = 1};
}

static enum window_act step(struct window *w, uint64_t number, uint64_t now)
{
    struct mark m = mark(MARK_STEP, "step", number);

    return window_mark(w, &m, now);
}

static void test_at_once(void **state)
{
    struct window_opts o = {0};
    struct window w;

    assert_int_equal(window_init(&w, &o, 100), WINDOW_BEGIN);
    assert_true(w.begun);
    assert_int_equal(window_next(&w), UINT64_MAX);
    assert_int_equal(window_time(&w, UINT64_MAX - 1), WINDOW_STAY);
    assert_int_equal(window_signal(&w, SIGUSR1, 200), WINDOW_STAY);
    assert_int_equal(step(&w, 1, 200), WINDOW_STAY);
    window_over(&w, "command ended");
    window_over(&w, "interrupted");
    assert_true(window_is_over(&w));
    assert_string_equal(w.reason, "command ended");
    assert_false(window_closed(&w));
}

static void test_duration(void **state)
{
    struct window_opts o = {.duration = 50};
    struct window w;

    assert_int_equal(window_init(&w, &o, 100), WINDOW_BEGIN);
    assert_int_equal(window_next(&w), 150);
    window_began(&w, 120); /* it took a while */
    assert_int_equal(window_time(&w, 169), WINDOW_STAY);
    assert_int_equal(window_time(&w, 170), WINDOW_END);
    assert_string_equal(w.reason, "duration");
    assert_true(window_closed(&w));
    assert_int_equal(window_next(&w), UINT64_MAX);
    assert_int_equal(window_time(&w, 200), WINDOW_STAY);
}

/* Each waits for the one before; the duration counts from the begin. */
static void test_signal_then_delay_then_mark(void **state)
{
    struct window_opts o = {
        .start_on = SIGUSR1, .stop_on = SIGUSR2, .delay = 10, .duration = 1000, .capture = {"step", 3, 5}};
    struct window w;
    char text[128];

    assert_int_equal(window_init(&w, &o, 100), WINDOW_STAY);
    assert_int_equal(window_next(&w), UINT64_MAX);
    assert_string_equal(window_awaits(&w, text, sizeof(text)), "SIGUSR1 came (--start-on)");
    assert_int_equal(step(&w, 3, 101), WINDOW_STAY);
    assert_int_equal(window_time(&w, 5000), WINDOW_STAY);
    assert_int_equal(window_signal(&w, SIGHUP, 5000), WINDOW_STAY);
    assert_int_equal(window_signal(&w, SIGUSR1, 5000), WINDOW_STAY);
    assert_int_equal(window_next(&w), 5010);
    assert_int_equal(step(&w, 3, 5005), WINDOW_STAY);
    assert_string_equal(window_awaits(&w, text, sizeof(text)), "--delay was over");
    assert_int_equal(window_time(&w, 5010), WINDOW_STAY);
    assert_string_equal(window_awaits(&w, text, sizeof(text)), "a mark of step 3 to 5 (--capture)");
    assert_int_equal(step(&w, 2, 5020), WINDOW_STAY);
    assert_int_equal(step(&w, 4, 5030), WINDOW_BEGIN);
    assert_int_equal(window_next(&w), 6030);
    assert_int_equal(step(&w, 5, 5040), WINDOW_STAY);
    assert_int_equal(step(&w, 6, 5050), WINDOW_END);
    assert_string_equal(w.reason, "captured");
    assert_true(window_closed(&w));
}

static void test_stop_signal(void **state)
{
    struct window_opts o = {.start_on = SIGUSR1, .stop_on = SIGUSR1},
                       early = {.delay = 10, .stop_on = SIGUSR2};
    struct window w;
    char text[128];

    /* One signal for both. */
    assert_int_equal(window_init(&w, &o, 0), WINDOW_STAY);
    assert_int_equal(window_signal(&w, SIGUSR1, 1), WINDOW_BEGIN);
    assert_int_equal(window_signal(&w, SIGUSR1, 2), WINDOW_END);
    assert_int_equal(window_signal(&w, SIGUSR1, 3), WINDOW_STAY);
    assert_string_equal(w.reason, "stop signal");
    assert_true(window_takes(&w, SIGUSR1));
    assert_false(window_takes(&w, SIGUSR2));
    assert_false(window_takes(&w, 0));

    /* Before it began. */
    assert_int_equal(window_init(&w, &early, 0), WINDOW_STAY);
    assert_int_equal(window_signal(&w, SIGUSR2, 5), WINDOW_END);
    assert_false(w.begun);
    assert_int_equal(window_time(&w, 10), WINDOW_STAY);
    assert_string_equal(window_awaits(&w, text, sizeof(text)), "--delay was over");
}

static void test_requests_end_by_themselves(void **state)
{
    struct window_opts o = {.capture = {"request", 7, 8}};
    struct window w;
    struct mark begin7 = mark(MARK_BEGIN, "request", 7), end7 = mark(MARK_END, "request", 7),
                begin9 = mark(MARK_BEGIN, "request", 9), end8 = mark(MARK_END, "request", 8),
                unnumbered = {.verb = MARK_BEGIN, .kind = "request", .id = "x"};

    assert_int_equal(window_init(&w, &o, 0), WINDOW_STAY);
    assert_int_equal(step(&w, 7, 1), WINDOW_STAY);
    assert_int_equal(window_mark(&w, &end7, 1), WINDOW_STAY);
    assert_int_equal(window_mark(&w, &unnumbered, 1), WINDOW_STAY);
    assert_int_equal(window_mark(&w, &begin7, 2), WINDOW_BEGIN);
    assert_int_equal(window_mark(&w, &begin9, 3), WINDOW_STAY); /* they overlap */
    assert_int_equal(window_mark(&w, &end7, 4), WINDOW_STAY);
    assert_int_equal(window_mark(&w, &end8, 5), WINDOW_END);
}

static void test_capture_words(void **state)
{
    static const char *const bad[] = {"",
                                      "step",
                                      "step:",
                                      ":3",
                                      "step:x",
                                      "step:3-x",
                                      "step:-3",
                                      "step:3--4",
                                      "3-4",
                                      "a-name-that-is-longer-than-any-kind-may-be:3",
                                      "step:99999999999999999999999"};
    struct window_capture c = {0};
    struct err e = {0};

    assert_int_equal(window_capture_parse(&c, "step:3-7", &e), 0);
    assert_string_equal(c.kind, "step");
    assert_int_equal(c.first, 3);
    assert_int_equal(c.last, 7);
    assert_int_equal(window_capture_parse(&c, "request 7", &e), 0);
    assert_string_equal(c.kind, "request");
    assert_int_equal(c.last, 7);
    assert_int_equal(window_capture_parse(&c, "step:3-", &e), 0);
    assert_int_equal(c.last, UINT64_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(window_capture_parse(&c, bad[i], &e), -1);
        assert_non_null(strstr(e.msg, "KIND:FIRST-LAST"));
    }
    assert_int_equal(window_capture_parse(&c, "step:7-3", &e), -1);
    assert_non_null(strstr(e.msg, "ends before it begins"));
}

static void test_signal_names(void **state)
{
    static const char *const bad[] = {"KILL", "9",     "STOP", "CHLD",     "SIGSEGV", "",
                                      "0",    "99999", "-1",   "RTMIN+99", "RTMINX"};
    struct err e = {0};
    char text[32];

    assert_int_equal(signal_parse("USR1", &e), SIGUSR1);
    assert_int_equal(signal_parse("sigusr2", &e), SIGUSR2);
    assert_int_equal(signal_parse("10", &e), 10);
    assert_int_equal(signal_parse("RTMIN", &e), SIGRTMIN);
    assert_int_equal(signal_parse("SIGRTMIN+2", &e), SIGRTMIN + 2);
    assert_int_equal(signal_parse("RTMAX-1", &e), SIGRTMAX - 1);
    assert_string_equal(signal_name(text, sizeof(text), SIGUSR1), "SIGUSR1");
    assert_string_equal(signal_name(text, sizeof(text), SIGRTMIN + 1), "SIGRTMIN+1");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(signal_parse(bad[i], &e), -1);
    assert_int_equal(signal_parse("USER1", &e), -1);
    assert_non_null(strstr(e.msg, "did you mean USR1"));
    assert_int_equal(signal_parse("SIGURS2", &e), -1);
    assert_non_null(strstr(e.msg, "did you mean USR2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_signal_then_delay_then_mark),
        cmocka_unit_test(test_stop_signal),
        cmocka_unit_test(test_requests_end_by_themselves),
        cmocka_unit_test(test_capture_words),
        cmocka_unit_test(test_signal_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
