/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_short KIND TIMES: two threads, "left" and "right", each on a CPU of its own where there are two, that
 * wait for each other TIMES times for as short a time as the kernel makes it: `futex` (semaphores) or `pipe`.
 * Each prints its name, its thread id and the ns that it was blocked by the scheduler's figures: time passed
 * - run - waiting to run.
 */
#include "burn.h"
#include "figures.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct side {
    const char *name;
    int in, out, first, times;
    sem_t *mine, *theirs;
};

static NOINLINE void give(const struct side *s)
{
    if (s->theirs)
        sem_post(s->theirs);
    else if (write(s->out, "x", 1) != 1)
        abort();
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void take(const struct side *s)
{
    char c;

    if (s->mine)
        while (sem_wait(s->mine))
            ;
    else if (read(s->in, &c, 1) != 1)
        abort();
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void rounds(const struct side *s)
{
    for (int i = 0; i < s->times; i++) {
        if (s->first)
            give(s);
        take(s);
        if (!s->first)
            give(s);
    }
    __asm__ volatile("" ::: "memory");
}

static void *side_main(void *arg)
{
    const struct side *s = arg;
    struct figures a, b;
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(s->first, &one);
    sched_setaffinity(0, sizeof(one), &one); /* where there is one CPU, both are there */
    prctl(PR_SET_NAME, s->name);
    a = figures();
    rounds(s);
    b = figures();
    printf("%s %d %lu\n", s->name, (int)syscall(SYS_gettid),
           (b.now - a.now) - (b.ran - a.ran) - (b.delayed - a.delayed));
    return NULL;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "futex";
    int times = argc > 2 ? atoi(argv[2]) : 10000, there[2], back[2];
    struct side left = {"left", -1, -1, 1, times, NULL, NULL}, right = left;
    sem_t sems[2];
    pthread_t t[2];

    if (pipe(there) || pipe(back))
        return 1;
    sem_init(&sems[0], 0, 0);
    sem_init(&sems[1], 0, 0);
    right.name = "right";
    right.first = 0;
    left.in = back[0];
    left.out = there[1];
    right.in = there[0];
    right.out = back[1];
    if (!strcmp(kind, "futex")) {
        left.mine = right.theirs = &sems[0];
        left.theirs = right.mine = &sems[1];
    }
    pthread_create(&t[0], NULL, side_main, &left);
    pthread_create(&t[1], NULL, side_main, &right);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
