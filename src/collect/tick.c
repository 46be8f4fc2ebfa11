/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tick.h"

#include "platform/clock.h"
#include "platform/perf_event.h"

#include <unistd.h>

enum {
    ROUNDS = 4,
    STEPS = 1 << 20,       /* of work in a round: 2 to 3 ms */
    PERIOD_NS = 50 * 1000, /* 40 to 60 ticks a round: enough for a tick of 1 us to show */
};

static uint64_t round_ns(void)
{
    uint64_t begin = clock_monotonic();
    volatile uint64_t x =
        88172645463325252u; /* xorshift (Marsaglia 2003): nothing that a compiler shortens */

    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return clock_monotonic() - begin;
}

static uint64_t best_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t tick_cost_ns(void)
{
    uint64_t without = UINT64_MAX, with = UINT64_MAX;

    for (int i = 0; i < ROUNDS; i++) { /* by turns, so that a change of the CPU's speed meets both */
        int fd;

        without = best_of(without, round_ns());
        fd = perf_open_own_timer(PERIOD_NS);
        if (fd < 0)
            return 0;
        with = best_of(with, round_ns());
        close(fd);
    }
    return with > without ? (with - without) * PERIOD_NS / with : 0;
}
