/* SPDX-License-Identifier: Apache-2.0 */
/* split SECONDS: 70 % of the CPU time in hot_a -> leaf_a, 30 % in hot_b -> leaf_b, and never another pair. */
#include "burn.h"

#include <stdlib.h>

static NOINLINE void leaf_a(void)
{
    spin();
    __asm__ volatile("");
}

static NOINLINE void leaf_b(void)
{
    spin();
    __asm__ volatile("");
}

static NOINLINE void hot_a(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end)
        leaf_a();
    __asm__ volatile("");
}

static NOINLINE void hot_b(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end)
        leaf_b();
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    uint64_t end = thread_cpu_ns() + (uint64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9);

    while (thread_cpu_ns() < end) {
        hot_a(7000000);
        hot_b(3000000);
    }
    return 0;
}
