/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler says of the calling thread, with the time that it says it at. */
#ifndef WPROF_TESTS_FIGURES_H
#define WPROF_TESTS_FIGURES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct figures {
    uint64_t now, ran, delayed;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* All of one instant: read again when something came in between. */
static struct figures figures(void)
{
    struct figures f = {0};
    FILE *in = fopen("/proc/thread-self/schedstat", "r");
    uint64_t after;

    if (!in)
        abort();
    do {
        rewind(in);
        f.now = now_ns();
        if (fscanf(in, "%lu %lu", &f.ran, &f.delayed) != 2)
            abort();
        after = now_ns();
    } while (after - f.now > 50000);
    fclose(in);
    return f;
}

#endif
