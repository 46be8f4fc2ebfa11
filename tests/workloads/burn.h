/* SPDX-License-Identifier: Apache-2.0 */
/* What the known-answer programs share: burning a known amount of this thread's CPU time. */
#ifndef WPROF_WORKLOADS_BURN_H
#define WPROF_WORKLOADS_BURN_H

#include <stdint.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone, no_icf))

static inline uint64_t thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A few microseconds of arithmetic that no compiler removes. */
static inline void spin(void)
{
    for (volatile int i = 0; i < 20000; i++)
        ;
}

#endif
