/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/clock.h"

uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
