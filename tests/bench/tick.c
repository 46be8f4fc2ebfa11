/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tick HZ: what the bare timer tick costs here, with nothing behind it: the work that a loop gets done with a
 * cpu-clock event of HZ on this thread against without, in turns. Prints the share of the CPU that the ticks
 * took and the ns a tick.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 40, TURN_MS = 50 };

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Rounds of the loop in one turn: what a tick takes away shows as fewer. */
static double turn(void)
{
    uint64_t end = now() + TURN_MS * 1000000ull, n = 0, at;

    do {
        for (volatile int i = 0; i < 500; i++)
            ;
        n++;
        at = now();
    } while (at < end);
    return (double)n / (double)(at - end + TURN_MS * 1000000ull);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .config = PERF_COUNT_SW_CPU_CLOCK,
                                .size = sizeof(a),
                                .freq = 1,
                                .disabled = 1,
                                .sample_freq = (uint64_t)atoi(argc > 1 ? argv[1] : "999")};
    int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    double ratio[TURNS], share;

    if (fd < 0) {
        perror("perf_event_open");
        return 1;
    }
    for (int i = 0; i < TURNS; i++) {
        double with, without;

        without = turn();
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        with = turn();
        ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        ratio[i] = with / without;
    }
    qsort(ratio, TURNS, sizeof(ratio[0]), by_value);
    share = 1 - ratio[TURNS / 2];
    printf("%.5f %.0f\n", share, share / (double)a.sample_freq * 1e9);
    return 0;
}
