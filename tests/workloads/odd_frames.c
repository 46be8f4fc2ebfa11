/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd_frames WHAT SECONDS: frames that frame-pointer unwinders and simple tables get wrong.
 *   drap    a function that realigns its stack and saves the old one through rbp or r10
 *   vla     a function with a variable-length array, calling back through qsort
 *   signal  a SIGPROF handler that burns on top of the interrupted interrupted_work()
 */
#include "burn.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static uint64_t budget;

static NOINLINE void leaf(void)
{
    uint64_t end = thread_cpu_ns() + 1000000;

    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

static NOINLINE void realigned(int n)
{
    char aligned[64] __attribute__((aligned(64)));
    char *more = __builtin_alloca((size_t)n);

    memset(aligned, n, sizeof(aligned));
    memset(more, n, (size_t)n);
    __asm__ volatile("" : : "r"(aligned), "r"(more) : "memory");
    leaf();
    __asm__ volatile("" : : "r"(aligned), "r"(more) : "memory");
}

static int compare_slowly(const void *a, const void *b)
{
    leaf();
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void sorts_vla(int n)
{
    int values[n];

    for (int i = 0; i < n; i++)
        values[i] = (i * 7919) % n;
    qsort(values, (size_t)n, sizeof(values[0]), compare_slowly);
    __asm__ volatile("" : : "r"(values) : "memory");
}

/* 4 ms of 8, or of a kernel's tick where that is longer (ITIMER_PROF fires at ticks alone). */
static void handler(int sig)
{
    (void)sig;
    for (int i = 0; i < 4; i++)
        leaf();
    __asm__ volatile("");
}

static NOINLINE void interrupted_work(uint64_t end)
{
    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "drap";
    uint64_t end;

    budget = (uint64_t)(atof(argc > 2 ? argv[2] : "1") * 1e9);
    end = thread_cpu_ns() + budget;
    if (!strcmp(what, "signal")) {
        struct itimerval every = {{0, 8000}, {0, 8000}};

        signal(SIGPROF, handler);
        setitimer(ITIMER_PROF, &every, NULL);
        interrupted_work(end);
        return 0;
    }
    while (thread_cpu_ns() < end) {
        if (!strcmp(what, "drap"))
            realigned(100);
        else
            sorts_vla(5);
    }
    return 0;
}
