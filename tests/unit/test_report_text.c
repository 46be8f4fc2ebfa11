/* SPDX-License-Identifier: Apache-2.0 */
/* The report for a terminal: what of the findings fits. */
#include "render/report.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static size_t lines(const struct buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += b->data[i] == '\n';
    return n;
}

/* The report of three findings on a screen of so many rows, with a bar of so many parts. */
static void text_of(size_t rows, int all, int parts, struct buf *out)
{
    struct text_style style = {0, 80, rows};
    struct quality quality = {0};
    struct meta meta = {0};
    struct report r = {.meta = &meta, .quality = &quality, .wall_ns = (uint64_t)parts * 1000};

    r.lead = parts ? (char *)"main" : NULL;
    for (int i = 0; i < parts; i++)
        *vec_push(&r.wall) = (struct report_part){"native", "a part", 1000, 0};
    for (int i = 0; i < 3; i++)
        *vec_push(&r.findings.list) = (struct finding){.id = "hot-function",
                                                       .severity = FINDING_HIGH,
                                                       .certainty = FINDING_MEASURED,
                                                       .title = (char *)"a title",
                                                       .evidence = (char *)"the evidence",
                                                       .advice = (char *)"some advice"};
    report_text(&r, &style, all, out);
    vec_release(&r.findings.list);
    vec_release(&r.wall);
}

static size_t count(const struct buf *b, const char *what)
{
    size_t n = 0;

    for (const char *p = strstr(buf_str(b), what); p; p = strstr(p + 1, what))
        n++;
    return n;
}

static void findings_fit(void **state)
{
    static const struct {
        size_t rows, whole;
        int all;
    } screens[] = {{0, 3, 0}, {60, 3, 0}, {18, 1, 0}, {5, 1, 0}, {18, 3, 1}};

    for (size_t i = 0; i < sizeof(screens) / sizeof(*screens); i++) {
        struct buf out = {0};

        text_of(screens[i].rows, screens[i].all, 0, &out);
        assert_int_equal(count(&out, "a title"), 3);
        assert_int_equal(count(&out, "the evidence"), screens[i].whole);
        assert_int_equal(count(&out, "what these are made of: --all"), screens[i].whole < 3);
        if (screens[i].rows == 18 && !screens[i].all)
            assert_true(lines(&out) < 18);
        buf_release(&out);
    }
}

/* A bar has fewer parts before the first finding is off the screen. */
static void bars_fit(void **state)
{
    static const struct {
        size_t rows, parts;
        int all;
    } screens[] = {{0, 5, 0}, {60, 5, 0}, {24, 3, 0}, {22, 1, 0}, {5, 1, 0}, {22, 8, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(screens) / sizeof(*screens); i++) {
        struct buf out = {0};

        text_of(screens[i].rows, screens[i].all, 8, &out);
        assert_int_equal(count(&out, "a part"), screens[i].parts);
        assert_int_equal(count(&out, " other\n"), !screens[i].all);
        assert_true(count(&out, "the evidence") >= 1);
        if (screens[i].rows > 5 && !screens[i].all)
            assert_true(lines(&out) < screens[i].rows);
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(findings_fit), cmocka_unit_test(bars_fit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
