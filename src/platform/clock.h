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

/*
 * What the time namespace that this process is in adds to the kernel's own clocks, ns: time_namespaces(7).
 * clock_gettime(2) and /proc have it, times that BPF programs and perf events tell do not. Zeros where there
 * are no such namespaces.
 */
struct clock_ahead {
    int64_t monotonic, boottime;
};

void clock_ahead_read(struct clock_ahead *out);
/* Of /proc/PID/timens_offsets: lines of a clock's name, seconds and ns. */
void clock_ahead_parse(const char *text, struct clock_ahead *out);

static inline uint64_t clock_thread_cpu(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
