/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since when a thread is off the CPU: /proc/PID/task/TID/sched (CONFIG_SCHED_DEBUG, which distributions have)
 * tells `se.exec_start`, when its time was last accounted for, in ms of its CPU's clock of tasks. That clock
 * leaves out interrupts and time stolen by a hypervisor, and each CPU has its own: it is read by having
 * ourselves accounted for on that CPU.
 */
#include "base/map.h"
#include "base/mem.h"
#include "collect/dump_job.h"
#include "platform/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES = 3 };

struct dump_clock {
    struct map ahead; /* by CPU: CLOCK_MONOTONIC - its clock, in ns; 0: could not be read */
};

static uint64_t exec_start(pid_t pid, pid_t tid)
{
    static const char key[] = "se.exec_start";
    char path[96], text[1024], *p;
    double ms = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/sched", (int)pid, (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    p = strstr(text, key);
    p = p ? strchr(p, ':') : NULL;
    if (p)
        ms = strtod(p + 1, NULL);
    return ms > 0 ? (uint64_t)(ms * 1e6) : 0;
}

/* Yielding has us accounted for. The least of some readings is the one that was least disturbed. */
static uint64_t read_ahead(void)
{
    pid_t pid = getpid(), tid = (pid_t)syscall(SYS_gettid);
    uint64_t best = 0;

    for (int i = 0; i < TRIES; i++) {
        uint64_t now, at;

        sched_yield();
        now = clock_monotonic();
        at = exec_start(pid, tid);
        if (!at)
            return 0;
        if (!i || (int64_t)(now - at) < (int64_t)best)
            best = now - at;
    }
    return best;
}

static uint64_t ahead_of(struct dump_clock *c, int cpu)
{
    uint64_t *known = map_get(&c->ahead, (uint64_t)cpu), ahead;
    cpu_set_t before, there;

    if (known)
        return *known;
    CPU_ZERO(&there);
    if (cpu < CPU_SETSIZE)
        CPU_SET((unsigned)cpu, &there);
    if (sched_getaffinity(0, sizeof(before), &before))
        return 0;
    sched_setaffinity(0, sizeof(there), &there); /* where we may not go, our own CPU's clock has to do */
    ahead = read_ahead();
    sched_setaffinity(0, sizeof(before), &before);
    *map_put(&c->ahead, (uint64_t)cpu) = ahead;
    return ahead;
}

struct dump_clock *dump_clock_new(void)
{
    return mem_calloc(1, sizeof(struct dump_clock));
}

void dump_clock_free(struct dump_clock *c)
{
    if (c)
        map_release(&c->ahead);
    free(c);
}

uint64_t dump_clock_off(struct dump_clock *c, pid_t pid, pid_t tid, int cpu)
{
    uint64_t at = cpu < 0 ? 0 : exec_start(pid, tid), ahead = at ? ahead_of(c, cpu) : 0, now;

    if (!ahead)
        return 0;
    now = clock_monotonic();
    return now > at + ahead ? now - at - ahead : 0;
}
