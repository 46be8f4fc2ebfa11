/* SPDX-License-Identifier: Apache-2.0 */
/* Costs: no second in two findings, whatever they claim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct findings f;

static int setup(void **state)
{
    f = (struct findings){.start = 1000, .wall_ns = 1000};
    return 0;
}

static int teardown(void **state)
{
    findings_release(&f);
    return 0;
}

static struct finding *add(const char *id, uint8_t weight, uint64_t start, uint64_t end)
{
    struct finding *x = findings_add(&f, id);

    x->weight = weight;
    finding_claim(x, 1000 + start, 1000 + end, end - start);
    return x;
}

static const struct finding *of(const char *id)
{
    for (size_t i = 0; i < f.list.n; i++)
        if (!strcmp(f.list.a[i].id, id))
            return &f.list.a[i];
    return NULL;
}

static void more_specific_first(void **state)
{
    add("wait", 1, 0, 600);
    add("loader", 9, 100, 400);
    findings_settle(&f);
    assert_int_equal(of("loader")->cost_ns, 300);
    assert_int_equal(of("wait")->cost_ns, 300);
    assert_int_equal(of("wait")->total_ns, 600);
    assert_int_equal(f.told_ns, 600);
    assert_true(of("loader")->share == 0.3);
    assert_int_equal(of("loader")->severity, FINDING_HIGH);
}

/* Where a small part of the time goes is told behind what could be saved; a large part comes by its cost. */
static void only_where(void **state)
{
    add("hot", FINDING_ONLY_WHERE, 0, 150);
    add("slow", 9, 200, 300);
    findings_settle(&f);
    assert_string_equal(f.list.a[0].id, "slow");
    findings_release(&f);
    f = (struct findings){.start = 1000, .wall_ns = 1000};
    add("hot", FINDING_ONLY_WHERE, 0, 250);
    add("slow", 9, 300, 400);
    findings_settle(&f);
    assert_string_equal(f.list.a[0].id, "hot");
}

static void part_of_another(void **state)
{
    add("big", 5, 0, 500);
    add("small", 5, 300, 520);
    findings_settle(&f);
    assert_string_equal(f.list.a[0].id, "big");
    assert_int_equal(of("small")->cost_ns, 20);
    assert_int_equal(of("small")->within, 1);
    assert_int_equal(of("big")->within, 0);
}

static void says_within(const char *id, const char *want)
{
    struct buf text = {0};

    finding_within(of(id), &text);
    assert_string_equal(buf_str(&text), want);
    buf_release(&text);
}

/* What one alone has of it is told as that one's, what several have as of several. */
static void part_of_two(void **state)
{
    add("big", 9, 0, 400);
    add("mid", 8, 400, 600);
    add("small", 5, 100, 620);
    add("inner", 5, 50, 350);
    findings_settle(&f);
    assert_int_equal(of("small")->cost_ns, 20);
    assert_int_equal(of("small")->within, 1);
    says_within("small", "500 ns of it are counted in others, most in finding 1.");
    says_within("inner", "300 ns of it are counted in finding 1.");
}

/* Its own claims overlap: counted once. */
static void own_overlap(void **state)
{
    struct finding *x = add("a", 1, 0, 100);

    finding_claim(x, 1050, 1150, 100);
    finding_claim(x, 1050, 1060, 10);
    findings_settle(&f);
    assert_int_equal(of("a")->cost_ns, 150);
}

/* Up to so much of an interval: what others left of it at most. */
static void bounded_claims(void **state)
{
    struct finding *x = findings_add(&f, "throttled");

    finding_claim(x, 1000, 1100, 60);
    finding_claim(x, 1100, 1200, 60);
    add("loader", 9, 0, 50);
    findings_settle(&f);
    assert_int_equal(of("throttled")->total_ns, 120);
    assert_int_equal(of("throttled")->cost_ns, 50 + 60);
    assert_int_equal(f.told_ns, 160);
}

static void outside_of_the_wall_time(void **state)
{
    add("late", 1, 900, 1500);
    findings_settle(&f);
    assert_int_equal(of("late")->cost_ns, 100);
}

static void too_little_is_left(void **state)
{
    *vec_push(&f.checks) = (struct check){.id = "wait", .title = "", .state = CHECK_FOUND};
    add("loader", 9, 0, 500);
    add("wait", 1, 0, 510)->least_ns = 50;
    findings_settle(&f);
    assert_null(of("wait"));
    assert_int_equal(f.checks.a[0].state, CHECK_CLEAN);
    assert_int_equal(f.told_ns, 500);
}

static void without_time(void **state)
{
    struct finding *x = findings_add(&f, "switch");

    x->severity = FINDING_MEDIUM;
    add("a", 1, 0, 10);
    findings_settle(&f);
    assert_string_equal(f.list.a[0].id, "a");
    assert_true(isnan(of("switch")->share));
    assert_int_equal(of("switch")->severity, FINDING_MEDIUM);
    assert_int_equal(of("a")->severity, FINDING_LOW);
}

/* Many claims at random: the sum is that of their union, and never more than the wall time. */
static void random_claims(void **state)
{
    unsigned char busy[1000] = {0};
    uint64_t sum = 0;
    unsigned seed = 7;

    for (unsigned i = 0; i < 40; i++) {
        char id[8] = {(char)('a' + i % 26), (char)('a' + i / 26), 0};
        struct finding *x = findings_add(&f, id);

        x->weight = (uint8_t)(rand_r(&seed) % 4);
        for (unsigned k = 0; k < 5; k++) {
            unsigned start = (unsigned)rand_r(&seed) % 990, n = 1 + (unsigned)rand_r(&seed) % 10;

            finding_claim(x, 1000 + start, 1000 + start + n, n);
            memset(busy + start, 1, n);
        }
    }
    findings_settle(&f);
    for (unsigned i = 0; i < 1000; i++)
        sum += busy[i];
    assert_int_equal(f.told_ns, sum);
    for (size_t i = 1; i < f.list.n; i++) {
        int where = f.list.a[i].weight <= FINDING_ONLY_WHERE,
            before = f.list.a[i - 1].weight <= FINDING_ONLY_WHERE;

        assert_true(before < where || (before == where && f.list.a[i - 1].cost_ns >= f.list.a[i].cost_ns));
    }
}

static void claim_in(struct finding *x, uint32_t lane, uint64_t start, uint64_t end)
{
    finding_claim(x, 1000 + start, 1000 + end, end - start);
    x->claims.a[x->claims.n - 1].lane = lane;
}

/* Two devices, each with its own time: the average; what one has is left to the other. */
static void lanes(void **state)
{
    struct finding *x = findings_add(&f, "idle");

    x->weight = 9;
    x->lanes = 2;
    claim_in(x, 1, 0, 500);
    claim_in(x, 2, 200, 500);
    x = findings_add(&f, "copies");
    x->weight = 8;
    x->lanes = 2;
    claim_in(x, 1, 400, 600);
    claim_in(x, 2, 0, 200);
    x = findings_add(&f, "again");
    x->weight = 7;
    x->lanes = 2;
    claim_in(x, 1, 0, 500);
    claim_in(x, 2, 200, 500);
    findings_settle(&f);
    assert_int_equal(of("idle")->cost_ns, (500 + 300) / 2);
    assert_int_equal(of("copies")->cost_ns, (100 + 200) / 2);
    assert_int_equal(of("again")->cost_ns, 0);
    assert_int_equal(of("again")->within, 1);
    assert_int_equal(f.told_ns, 550);
}

/* What is of the wall time is of each device's, and what is left of it is what they left on average. */
static void lanes_and_wall(void **state)
{
    struct finding *x;

    add("loader", 9, 0, 300);
    x = findings_add(&f, "idle");
    x->weight = 8;
    x->lanes = 2;
    claim_in(x, 1, 0, 400);
    claim_in(x, 2, 0, 200);
    add("wait", 7, 300, 400);
    findings_settle(&f);
    assert_int_equal(of("loader")->cost_ns, 300);
    assert_int_equal(of("idle")->cost_ns, 50);
    assert_int_equal(of("wait")->cost_ns, 50);
    assert_int_equal(f.told_ns, 400);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(more_specific_first),
        T(only_where),
        T(part_of_another),
        T(part_of_two),
        T(own_overlap),
        T(bounded_claims),
        T(outside_of_the_wall_time),
        T(too_little_is_left),
        T(without_time),
        T(random_claims),
        T(lanes),
        T(lanes_and_wall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
