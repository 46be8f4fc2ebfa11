// SPDX-License-Identifier: Apache-2.0
/*
 * straggler STEPS SLOW ADDRESS PORT: one rank of a job whose ranks meet after each step, by TCP. Rank and
 * size are what mpirun, srun or torchrun say. Each step computes; rank SLOW also spends time in
 * slow_transform(). Marks: "step N", and "barrier N" from arriving to leaving. Rank 0 listens at PORT; it is
 * at ADDRESS.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "burn.h"

enum { RANKS = 64, SHARE_MS = 4, SLOW_MS = 40 };

static int peers[RANKS], marks = -1;
static struct sockaddr_un marks_at = {.sun_family = AF_UNIX};

static long number(const char *const *names, long otherwise)
{
    for (; *names; names++)
        if (getenv(*names))
            return atol(getenv(*names));
    return otherwise;
}

static void mark(const char *text, int n)
{
    char line[64];

    snprintf(line, sizeof(line), text, n);
    if (marks >= 0)
        sendto(marks, line, strlen(line), 0, (struct sockaddr *)&marks_at, sizeof(marks_at));
}

static void marks_open(void)
{
    const char *path = getenv("WPROF_MARKS");

    if (!path || strlen(path) >= sizeof(marks_at.sun_path))
        return;
    strcpy(marks_at.sun_path, path);
    marks = socket(AF_UNIX, SOCK_DGRAM, 0);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void serve(int size, struct sockaddr_in at)
{
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(s, (struct sockaddr *)&at, sizeof(at)) || listen(s, RANKS))
        fail("bind");
    for (int i = 1; i < size; i++) {
        peers[i] = accept(s, NULL, NULL);
        if (peers[i] < 0)
            fail("accept");
        setsockopt(peers[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    close(s);
}

static void join(struct sockaddr_in at)
{
    int one = 1;

    for (int tries = 0; tries < 600; tries++) {
        peers[0] = socket(AF_INET, SOCK_STREAM, 0);
        if (!connect(peers[0], (struct sockaddr *)&at, sizeof(at))) {
            setsockopt(peers[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            return;
        }
        close(peers[0]);
        usleep(50000);
    }
    fail("connect");
}

static void get(int fd)
{
    char c;

    if (recv(fd, &c, 1, 0) != 1)
        fail("recv");
}

static void put(int fd)
{
    if (send(fd, "x", 1, MSG_NOSIGNAL) != 1)
        fail("send");
}

/* Nobody leaves before the last one has come. */
NOINLINE void meet(int rank, int size)
{
    if (rank) {
        put(peers[0]);
        get(peers[0]);
        return;
    }
    for (int i = 1; i < size; i++)
        get(peers[i]);
    for (int i = 1; i < size; i++)
        put(peers[i]);
}

/* So much CPU time, in whoever calls. */
#define BURN(ms)                                                                                             \
    do {                                                                                                     \
        uint64_t end = thread_cpu_ns() + (ms)*1000000ull;                                                    \
        while (thread_cpu_ns() < end)                                                                        \
            spin();                                                                                          \
    } while (0)

NOINLINE void compute(void)
{
    BURN(SHARE_MS);
}

NOINLINE void slow_transform(void)
{
    BURN(SLOW_MS);
}

int main(int argc, char **argv)
{
    static const char *const rank_names[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", NULL},
                             *const size_names[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE",
                                                    NULL};
    int rank = (int)number(rank_names, 0), size = (int)number(size_names, 1);
    struct sockaddr_in at = {.sin_family = AF_INET};

    if (argc < 5 || size > RANKS)
        return 2;
    at.sin_port = htons((uint16_t)atoi(argv[4]));
    inet_pton(AF_INET, argv[3], &at.sin_addr);
    marks_open();
    if (rank)
        join(at);
    else
        serve(size, at);
    meet(rank, size);
    for (int i = 0; i < atoi(argv[1]); i++) {
        mark("step %d", i);
        compute();
        if (rank == atoi(argv[2]))
            slow_transform();
        mark("begin barrier %d", i);
        meet(rank, size);
        mark("end barrier %d", i);
    }
    mark("end step", 0);
    return 0;
}
