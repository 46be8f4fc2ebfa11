/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, in nanoseconds. */
#ifndef WPROF_PLATFORM_CLOCK_H
#define WPROF_PLATFORM_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_ns(clockid_t clock);

static inline uint64_t clock_monotonic(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_thread_cpu(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
