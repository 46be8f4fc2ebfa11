/* SPDX-License-Identifier: Apache-2.0 */
/* big_frame SECONDS: burns CPU in leaf(), below a function whose frame has 100 KiB: main();big();leaf(). */
#include "burn.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME = 100 << 10 };

static NOINLINE void leaf(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

static NOINLINE int big(uint64_t ns)
{
    char frame[FRAME];

    memset(frame, 1, sizeof(frame));
    __asm__ volatile("" : : "r"(frame) : "memory");
    leaf(ns);
    __asm__ volatile("" : : "r"(frame) : "memory");
    return frame[FRAME / 2];
}

int main(int argc, char **argv)
{
    return big((uint64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9)) != 1;
}
