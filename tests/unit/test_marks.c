/* SPDX-License-Identifier: Apache-2.0 */
/* What lines of marks say, and which spans they make. */
#include "record/marks_pairs.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "verb|kind|id|text|number@pid", "-" where malformed. */
static const char *say(const char *line)
{
    static char out[4 * MARK_BYTES + 64];
    struct mark_room room;
    struct mark m = {0};
    pid_t pid = 0;

    if (marks_line(&m, &room, &pid, line, strlen(line)))
        return "-";
    snprintf(out, sizeof(out), "%d|%s|%s|%s|%lld@%d", m.verb, m.kind, m.id, m.text,
             m.numbered ? (long long)m.number : -1, (int)pid);
    if (m.thread)
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "#%d", (int)m.thread);
    return out;
}

static void lines(void **state)
{
    assert_string_equal(say("step 12"), "0|step|12|step 12|12@0");
    assert_string_equal(say("  step\t 12 "), "0|step|12|step 12|12@0");
    assert_string_equal(say("step last one"), "0|step|last one|step last one|-1@0");
    assert_string_equal(say("begin request 7"), "1|request|7|request 7|7@0");
    assert_string_equal(say("begin eval"), "1|eval||eval|-1@0");
    assert_string_equal(say("end request 7"), "2|request|7|request 7|7@0");
    assert_string_equal(say("end step"), "2|step||step|-1@0");
    assert_string_equal(say("mark out of memory"), "3||out of memory|out of memory|-1@0");
    assert_string_equal(say("lost 5"), "4|||lost 5|5@0");
    assert_string_equal(say("join request 7"), "5|request|7|request 7|7@0");
    assert_string_equal(say("leave request 7"), "6|request|7|request 7|7@0");
    assert_string_equal(say("#4712 begin request 7"), "1|request|7|request 7|7@0#4712");
    assert_string_equal(say("@4711 #4712 end request 7"), "2|request|7|request 7|7@4711#4712");
    assert_string_equal(say("@4711 step 3"), "0|step|3|step 3|3@4711");
    assert_string_equal(say("step 18446744073709551615"),
                        "0|step|18446744073709551615|step 18446744073709551615|-1@0");
}

static void malformed(void **state)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "step",
                                      "begin",
                                      "end",
                                      "mark",
                                      "stepping 3",
                                      "lost",
                                      "lost x",
                                      "@ step 1",
                                      "@0 step 1",
                                      "@x step 1",
                                      "@99999999999 step 1",
                                      "# step 1",
                                      "#1 @1 step 1",
                                      "join",
                                      "leave",
                                      "hello"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_string_equal(say(bad[i]), "-");
}

static void foreign_bytes(void **state)
{
    char line[2 * MARK_BYTES] = "mark ";

    assert_string_equal(say("mark a\x1b[31m\xff"
                            "b"),
                        "3||a?[31m?b|a?[31m?b|-1@0");
    assert_string_equal(say("mark Stra\xc3\x9f"
                            "e \xe2\x80\xae"
                            "x"),
                        "3||Stra\xc3\x9f"
                        "e ?x|Stra\xc3\x9f"
                        "e ?x|-1@0");
    memset(line + 5, 'x', sizeof(line) - 6);
    assert_int_equal(strcspn(say(line) + 3, "|"), MARK_BYTES - 5);
}

/* ---- pairs ---- */

static void note(void *arg, const struct marks_span *s)
{
    struct buf *out = arg;

    buf_addf(out, "%u", s->sender);
    if (s->thread)
        buf_addf(out, "#%d", (int)s->thread);
    buf_addf(out, ":%s%s[%llu-%llu%s] ", s->joined ? "+" : "", s->text, (unsigned long long)s->start,
             (unsigned long long)s->end, s->open ? " open" : "");
}

struct bench {
    struct marks_pairs pairs;
    struct buf out;
    uint64_t ts;
};

static int take(struct bench *b, uint32_t sender, const char *line)
{
    struct mark_room room;
    struct mark m = {.ts = b->ts += 10};
    pid_t pid = 0;

    assert_int_equal(marks_line(&m, &room, &pid, line, strlen(line)), 0);
    return marks_pairs_take(&b->pairs, &m, sender, note, &b->out);
}

static void expect(struct bench *b, const char *want)
{
    assert_string_equal(buf_str(&b->out), want);
    buf_clear(&b->out);
}

static void release(struct bench *b)
{
    assert_int_equal(b->pairs.n, 0);
    marks_pairs_release(&b->pairs);
    buf_release(&b->out);
}

static void steps(void **state)
{
    struct bench b = {0};

    take(&b, 1, "step 1");
    take(&b, 2, "step 1"); /* another process: nothing ends */
    expect(&b, "");
    take(&b, 1, "step 2");
    expect(&b, "1:step 1[10-30] ");
    take(&b, 1, "end step");
    expect(&b, "1:step 2[30-40] ");
    take(&b, 1, "step 3");
    take(&b, 1, "end step 3");
    expect(&b, "1:step 3[50-60] ");
    assert_int_equal(take(&b, 1, "end step"), -1);
    assert_int_equal(b.pairs.unmatched, 1);
    marks_pairs_finish(&b.pairs, 100, note, &b.out);
    expect(&b, "2:step 1[20-100 open] ");
    release(&b);
}

static void nested_and_overlapping(void **state)
{
    struct bench b = {0};

    take(&b, 1, "begin request 1");
    take(&b, 1, "begin request 2");
    take(&b, 1, "end request 1");
    take(&b, 1, "begin eval");
    take(&b, 1, "begin eval");
    take(&b, 1, "end eval");
    take(&b, 1, "end request 2");
    take(&b, 1, "end eval");
    expect(&b, "1:request 1[10-30] 1:eval[50-60] 1:request 2[20-70] 1:eval[40-80] ");
    assert_int_equal(take(&b, 2, "end eval"), -1);
    assert_int_equal(take(&b, 1, "end request 2"), -1);
    take(&b, 1, "mark now");
    expect(&b, "1:now[110-110] ");
    release(&b);
}

/* Another thread may end what one began; who joined it leaves it itself. */
static void threads(void **state)
{
    struct bench b = {0};

    take(&b, 1, "#5 begin request 1");
    take(&b, 1, "#6 join request 1");
    take(&b, 1, "#7 join request 1");
    take(&b, 1, "#6 leave request 1");
    expect(&b, "1#6:+request 1[20-40] ");
    take(&b, 1, "#6 end request 1");
    expect(&b, "1#5:request 1[10-50] ");
    assert_int_equal(take(&b, 1, "#8 leave request 1"), -1);
    assert_int_equal(take(&b, 1, "end request 1"), -1);
    marks_pairs_finish(&b.pairs, 90, note, &b.out);
    expect(&b, "1#7:+request 1[30-90 open] ");
    release(&b);
}

/* A step that an explicit begin of the same text lies on. */
static void step_below_another(void **state)
{
    struct bench b = {0};

    take(&b, 1, "step 1");
    take(&b, 1, "begin step 1");
    take(&b, 1, "step 2");
    expect(&b, "1:step 1[10-30] ");
    take(&b, 1, "end step 1");
    expect(&b, "1:step 1[20-40] ");
    take(&b, 1, "end step 2");
    expect(&b, "1:step 2[30-50] ");
    release(&b);
}

static void no_time(void **state)
{
    struct bench b = {0};

    take(&b, 1, "begin x");
    b.ts -= 10;
    take(&b, 1, "end x");
    expect(&b, "1:x[10-11] "); /* no instant */
    release(&b);
}

static void bounded(void **state)
{
    struct bench b = {0};
    char line[32];

    for (int i = 0; i < MARKS_OPEN_MAX + 5; i++) {
        snprintf(line, sizeof(line), "begin r %d", i);
        take(&b, 1, line);
    }
    assert_int_equal(b.pairs.over, 5);
    assert_int_equal(b.pairs.n, MARKS_OPEN_MAX);
    for (int i = 0; i < MARKS_OPEN_MAX; i++) {
        snprintf(line, sizeof(line), "end r %d", i);
        assert_int_equal(take(&b, 1, line), 0);
    }
    for (int i = 0; i < 100; i++) {
        take(&b, 1, "step 1");
        take(&b, 1, "end step");
    }
    assert_int_equal(b.pairs.list.n, MARKS_OPEN_MAX); /* places are used again */
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(malformed),
        cmocka_unit_test(foreign_bytes),
        cmocka_unit_test(steps),
        cmocka_unit_test(nested_and_overlapping),
        cmocka_unit_test(threads),
        cmocka_unit_test(step_below_another),
        cmocka_unit_test(no_time),
        cmocka_unit_test(bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
