/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_locks HOW [N]: hangs in a known way, and says "ready" once everybody is where it will stay.
 *     abba     two threads that each hold the mutex that the other wants, in take_ab() and take_ba()
 *     self     a thread that locks a mutex twice, in twice()
 *     chain N  N threads in want() wait for a mutex that the thread "holder" keeps, asleep in keep()
 *     rwlock   the thread "reader" in read_it() waits for the writer "holder"
 *     join     main waits for the thread "worker", which spins in work()
 *     robust   as chain 1, with a robust mutex
 *     pi       as chain 1, with a priority-inheriting mutex
 *     socket   a child in serve() sleeps while its parent reads from their socket pair
 *     child    main waits in wait_child() for its child, which sleeps
 */
#include "burn.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, shared;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;

static void name(const char *n)
{
    prctl(PR_SET_NAME, n);
}

static NOINLINE void forever(void)
{
    for (;;)
        sleep(1000);
}

static NOINLINE void *take_ab(void *arg)
{
    name("ab");
    pthread_mutex_lock(&a);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&b);
    return arg;
}

static NOINLINE void *take_ba(void *arg)
{
    name("ba");
    pthread_mutex_lock(&b);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&a);
    return arg;
}

static NOINLINE void *twice(void *arg)
{
    name("twice");
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
    return arg;
}

static NOINLINE void *keep(void *arg)
{
    name("holder");
    pthread_mutex_lock(&shared);
    pthread_rwlock_wrlock(&rw);
    pthread_barrier_wait(&both);
    forever();
    return arg;
}

static NOINLINE void *want(void *arg)
{
    name("waiter");
    pthread_mutex_lock(&shared);
    return arg;
}

static NOINLINE void *read_it(void *arg)
{
    name("reader");
    pthread_rwlock_rdlock(&rw);
    return arg;
}

static NOINLINE void *work(void *arg)
{
    name("worker");
    for (volatile unsigned long i = 0;; i++)
        ;
    return arg;
}

static void start(void *(*run)(void *))
{
    pthread_attr_t how;
    pthread_t t;

    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, 64 << 10);
    if (pthread_create(&t, &how, run, NULL))
        exit(1);
}

static void ready(void)
{
    usleep(200000);
    puts("ready");
    fflush(stdout);
}

static void hang_held(void *(*run)(void *), int n)
{
    start(keep);
    pthread_barrier_wait(&both);
    for (int i = 0; i < n; i++)
        start(run);
    ready();
    forever();
}

static NOINLINE void join_it(void)
{
    pthread_t t;

    pthread_create(&t, NULL, work, NULL);
    ready();
    pthread_join(t, NULL);
}

static NOINLINE void serve(int fd)
{
    (void)fd;
    name("server");
    forever();
}

static NOINLINE void ask(int fd)
{
    char c;

    ready();
    if (read(fd, &c, 1) < 0)
        perror("read");
}

static void socket_pair(void)
{
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
        exit(1);
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fd[0]);
        serve(fd[1]);
    }
    close(fd[1]);
    ask(fd[0]);
}

static NOINLINE void wait_child(void)
{
    pid_t pid = fork();

    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        name("slowchild");
        forever();
    }
    ready();
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_mutexattr_t kind;

    pthread_barrier_init(&both, NULL, 2);
    pthread_mutexattr_init(&kind);
    if (!strcmp(how, "robust"))
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    if (!strcmp(how, "pi"))
        pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&shared, &kind);
    if (!strcmp(how, "abba")) {
        start(take_ab);
        start(take_ba);
        ready();
        forever();
    } else if (!strcmp(how, "self")) {
        start(twice);
        ready();
        forever();
    } else if (!strcmp(how, "chain") || !strcmp(how, "robust") || !strcmp(how, "pi")) {
        hang_held(want, argc > 2 ? atoi(argv[2]) : 1);
    } else if (!strcmp(how, "rwlock")) {
        hang_held(read_it, 1);
    } else if (!strcmp(how, "join")) {
        join_it();
    } else if (!strcmp(how, "socket")) {
        socket_pair();
    } else if (!strcmp(how, "child")) {
        wait_child();
    }
    return 1;
}
