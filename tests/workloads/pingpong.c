/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong pipe|unix|tcp ROUNDS [THINK_US]: a byte goes to and fro between two processes. The thread "ping"
 * burns THINK_US of CPU in serve() before each byte that it sends, "pong", in the child, in answer(). Each
 * prints its name, its thread id and the ns that it was blocked by the scheduler's figures: time passed - run
 * - waiting to run.
 */
#include "burn.h"
#include "figures.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct side {
    const char *name;
    int in, out, rounds, first;
    uint64_t think_ns;
};

static NOINLINE void think(const struct side *s)
{
    uint64_t end = thread_cpu_ns() + s->think_ns;

    while (s->think_ns && thread_cpu_ns() < end)
        for (volatile int i = 0; i < 500; i++)
            ;
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void send_byte(const struct side *s)
{
    think(s);
    if (write(s->out, "x", 1) != 1)
        abort();
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void receive_byte(const struct side *s)
{
    char c;

    if (read(s->in, &c, 1) != 1)
        abort();
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void serve(const struct side *s)
{
    for (int i = 0; i < s->rounds; i++) {
        send_byte(s);
        receive_byte(s);
    }
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void answer(const struct side *s)
{
    for (int i = 0; i < s->rounds; i++) {
        receive_byte(s);
        send_byte(s);
    }
    __asm__ volatile("" ::: "memory");
}

static void *side_main(void *arg)
{
    const struct side *s = arg;
    struct figures a, b;

    prctl(PR_SET_NAME, s->name);
    a = figures();
    if (s->first)
        serve(s);
    else
        answer(s);
    b = figures();
    printf("%s %d %lu\n", s->name, (int)syscall(SYS_gettid),
           (b.now - a.now) - (b.ran - a.ran) - (b.delayed - a.delayed));
    return NULL;
}

static void connect_tcp(int fds[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM, 0);

    if (l < 0 || bind(l, (struct sockaddr *)&a, n) || listen(l, 1) ||
        getsockname(l, (struct sockaddr *)&a, &n))
        abort();
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fds[0], (struct sockaddr *)&a, n) || (fds[1] = accept(l, NULL, NULL)) < 0)
        abort();
    close(l);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "pipe";
    struct side ping = {
        "ping", -1, -1, argc > 2 ? atoi(argv[2]) : 100, 1, argc > 3 ? (uint64_t)atol(argv[3]) * 1000 : 0};
    struct side pong = ping;
    int there[2], back[2], parent;
    pthread_t t;

    pong.name = "pong";
    pong.first = 0;
    if (!strcmp(kind, "pipe")) {
        if (pipe(there) || pipe(back))
            return 1;
        ping = (struct side){"ping", back[0], there[1], ping.rounds, 1, ping.think_ns};
        pong = (struct side){"pong", there[0], back[1], pong.rounds, 0, pong.think_ns};
    } else {
        if (!strcmp(kind, "unix") && socketpair(AF_UNIX, SOCK_STREAM, 0, there))
            return 1;
        if (!strcmp(kind, "tcp"))
            connect_tcp(there);
        ping.in = ping.out = there[0];
        pong.in = pong.out = there[1];
    }
    parent = fork();
    close(parent ? pong.in : ping.in);
    close(parent ? pong.out : ping.out);
    pthread_create(&t, NULL, side_main, parent ? &ping : &pong);
    pthread_join(t, NULL);
    fflush(stdout);
    if (parent)
        wait(NULL);
    return 0;
}
