/* SPDX-License-Identifier: Apache-2.0 */
/* Events in order of time: of so many that they are sorted in parts, which overlap a little, not at all, or
 * wholly. What has one time stays in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/store_log.h"

#include <stdlib.h>

enum { MANY = 200000 };

static uint64_t any(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Each at its place + 0 .. spread. */
static struct event *make(uint64_t spread, uint64_t coarse)
{
    struct event *ev = mem_calloc(MANY, sizeof(*ev));
    uint64_t state = spread;

    for (size_t i = 0; i < MANY; i++)
        ev[i] = (struct event){.ts = (i + (spread ? any(&state) % spread : 0)) / coarse, .value = i};
    return ev;
}

static void check(const struct event *ev)
{
    uint8_t *seen = mem_calloc(MANY, 1);

    for (size_t i = 0; i < MANY; i++) {
        assert_true(ev[i].value < MANY && !seen[ev[i].value]);
        seen[ev[i].value] = 1;
        if (!i)
            continue;
        assert_true(ev[i - 1].ts <= ev[i].ts);
        assert_true(ev[i - 1].ts < ev[i].ts || ev[i - 1].value < ev[i].value);
    }
    free(seen);
}

static void sorted_and_stable(void **state)
{
    static const uint64_t spreads[] = {0, 10, 50000, 10 * MANY};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(spreads); i++) {
        struct event *ev = make(spreads[i], 7);

        store_events_sort(ev, MANY, 1);
        check(ev);
        free(ev);
    }
}

/* Two that were written one after the other. */
static void halves(void **state)
{
    struct event *ev = make(100, 3);

    (void)state;
    for (size_t i = MANY / 2; i < MANY; i++)
        ev[i].ts -= ev[MANY / 2].ts < ev[i].ts ? ev[MANY / 2].ts : ev[i].ts;
    store_events_sort(ev, MANY, 1);
    check(ev);
    free(ev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_and_stable),
        cmocka_unit_test(halves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
