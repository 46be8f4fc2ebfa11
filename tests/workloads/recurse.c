/* SPDX-License-Identifier: Apache-2.0 */
/* recurse DEPTH SECONDS: burns CPU below DEPTH frames of recurse(). */
#include "burn.h"

#include <stdlib.h>

static NOINLINE void bottom(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

static NOINLINE int recurse(int depth, uint64_t ns)
{
    int below = 0;

    if (depth > 1)
        below = recurse(depth - 1, ns);
    else
        bottom(ns);
    __asm__ volatile(""); /* no tail call */
    return below + 1;
}

int main(int argc, char **argv)
{
    int depth = atoi(argc > 1 ? argv[1] : "300");

    return recurse(depth, (uint64_t)(atof(argc > 2 ? argv[2] : "1") * 1e9)) != depth;
}
