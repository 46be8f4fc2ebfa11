/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_convoy WAITERS ROUNDS HOLD_MS: the thread "holder" takes a mutex and keeps it for HOLD_MS in hold(),
 * ROUNDS times; each time the threads "waiter-N" want it in want() meanwhile.
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin, end;
static int rounds;
static long hold_ms;

static NOINLINE void hold(void)
{
    struct timespec t = {hold_ms / 1000, hold_ms % 1000 * 1000000};

    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&begin);
    nanosleep(&t, NULL);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("" ::: "memory");
}

static void *holder(void *arg)
{
    prctl(PR_SET_NAME, "holder");
    for (int i = 0; i < rounds; i++) {
        hold();
        pthread_barrier_wait(&end);
    }
    return arg;
}

static NOINLINE void want(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("" ::: "memory");
}

static void *waiter(void *arg)
{
    char name[16];

    snprintf(name, sizeof(name), "waiter-%d", (int)(intptr_t)arg);
    prctl(PR_SET_NAME, name);
    for (int i = 0; i < rounds; i++) {
        pthread_barrier_wait(&begin);
        want();
        pthread_barrier_wait(&end);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t *t = calloc((size_t)n + 1, sizeof(*t));

    rounds = argc > 2 ? atoi(argv[2]) : 10;
    hold_ms = argc > 3 ? atol(argv[3]) : 10;
    pthread_barrier_init(&begin, NULL, (unsigned)n + 1);
    pthread_barrier_init(&end, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, waiter, (void *)(intptr_t)i);
    pthread_create(&t[n], NULL, holder, NULL);
    for (int i = 0; i <= n; i++)
        pthread_join(t[i], NULL);
    free(t);
    return 0;
}
