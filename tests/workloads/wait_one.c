/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_one KIND MS TIMES: waits TIMES times for MS milliseconds each, in main();g();f(): sleep, poll (a pipe
 * that nothing comes through), pipe (a child writes), futex (another thread posts a semaphore), child (waits
 * for one), disk FILE (writes and syncs). Prints the ns that the waits took, by the monotonic clock. Before
 * them it waits in main() alone: what loading a program takes, from a disk that is slow, is over by then.
 */
#include "burn.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    const char *kind;
    long ms;
    int times, fds[2], file;
    sem_t sem;
};

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static NOINLINE void f(struct job *j)
{
    static char block[1 << 16];
    struct pollfd p = {.fd = j->fds[0], .events = POLLIN};
    pid_t child;

    switch (j->kind[0]) {
    case 's':
        sleep_ms(j->ms);
        break;
    case 'p':
        if (j->kind[1] == 'o')
            poll(&p, 1, (int)j->ms);
        else if (read(j->fds[0], block, 1) != 1)
            abort();
        break;
    case 'f':
        while (sem_wait(&j->sem))
            ;
        break;
    case 'c':
        child = fork();
        if (!child) {
            sleep_ms(j->ms);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        break;
    case 'd':
        if (pwrite(j->file, block, sizeof(block), 0) < 0 || fsync(j->file))
            abort();
        break;
    }
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void g(struct job *j)
{
    f(j);
    __asm__ volatile("" ::: "memory");
}

static void *poster(void *arg)
{
    struct job *j = arg;

    for (int i = 0; i < j->times; i++) {
        sleep_ms(j->ms);
        sem_post(&j->sem);
    }
    return NULL;
}

static void start_writer(struct job *j)
{
    if (fork())
        return;
    for (int i = 0; i < j->times; i++) {
        sleep_ms(j->ms);
        if (write(j->fds[1], "x", 1) != 1)
            _exit(1);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    struct job j = {.kind = argc > 1 ? argv[1] : "sleep",
                    .ms = argc > 2 ? atol(argv[2]) : 10,
                    .times = argc > 3 ? atoi(argv[3]) : 10};
    uint64_t waited = 0;
    pthread_t t;

    if (pipe(j.fds))
        return 1;
    sleep_ms(30);
    sem_init(&j.sem, 0, 0);
    if (j.kind[0] == 'f')
        pthread_create(&t, NULL, poster, &j);
    if (!strcmp(j.kind, "pipe"))
        start_writer(&j);
    if (j.kind[0] == 'd')
        j.file = open(argc > 4 ? argv[4] : "wait_one.data", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < j.times; i++) {
        uint64_t start = now_ns();

        g(&j);
        waited += now_ns() - start;
    }
    printf("%llu\n", (unsigned long long)waited);
    if (j.kind[0] == 'f')
        pthread_join(t, NULL);
    return 0;
}
