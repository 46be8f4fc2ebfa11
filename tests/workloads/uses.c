/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses a known amount of one thing, then says what it used by its own account, "name value" a line:
 * uses user SECONDS | hop SECONDS (a quarter on CPU 0, the rest on CPU 1; says cpu0 and cpu1, in ns) |
 * system SECONDS | faults PAGES | rss MIB | sleeps N | write FILE MIB | read FILE | threads N
 */
#include "burn.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20 };

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static struct rusage usage(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u;
}

static void burn_user(double s)
{
    volatile unsigned long x = 1;

    while (seconds(usage().ru_utime) < s)
        for (int i = 0; i < 3000000; i++)
            x = x * 2862933555777941757u + 3037000493u;
}

/* Calls that work in the kernel for long: reading zeroes. */
static void burn_system(double s)
{
    static char space[4 << 20];
    int fd = open("/dev/zero", O_RDONLY);

    while (seconds(usage().ru_stime) < s)
        for (int i = 0; i < 8; i++)
            if (read(fd, space, sizeof(space)) < 0)
                exit(1);
    close(fd);
}

static char *touch(size_t pages)
{
    char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        p[i * PAGE] = 1;
    return p;
}

static void write_file(const char *path, long mib)
{
    static char space[MIB];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    memset(space, 'x', sizeof(space));
    for (long i = 0; i < mib; i++)
        if (write(fd, space, sizeof(space)) != sizeof(space))
            exit(1);
    fsync(fd);
    close(fd);
}

/* From the disk, not from memory. */
static void read_file(const char *path)
{
    static char space[MIB];
    int fd = open(path, O_RDONLY);

    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (read(fd, space, sizeof(space)) > 0)
        ;
    close(fd);
}

static void go_to(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        exit(77);
}

static void hop(double s)
{
    uint64_t used[2] = {0}, before, end;

    for (int i = 1; i <= 20; i++) {
        int cpu = i % 4 != 1;

        go_to(cpu);
        before = thread_cpu_ns();
        end = before + (uint64_t)(s / 20 * 1e9);
        while (thread_cpu_ns() < end)
            spin();
        used[cpu] += thread_cpu_ns() - before;
    }
    printf("cpu0 %lu\ncpu1 %lu\n", used[0], used[1]);
}

static void *wait_a_while(void *arg)
{
    sleep(2);
    return arg;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    double n = argc > 2 ? atof(argv[2]) : 0;
    struct rusage u;
    pthread_t t;

    if (!strcmp(what, "user"))
        burn_user(n);
    else if (!strcmp(what, "hop"))
        hop(n);
    else if (!strcmp(what, "system"))
        burn_system(n);
    else if (!strcmp(what, "faults"))
        munmap(touch((size_t)n), (size_t)n * PAGE);
    else if (!strcmp(what, "rss")) {
        touch((size_t)n * (MIB / PAGE));
        sleep(2);
    } else if (!strcmp(what, "sleeps"))
        for (int i = 0; i < (int)n; i++)
            nanosleep(&(struct timespec){0, 500000}, NULL);
    else if (!strcmp(what, "write"))
        write_file(argv[2], atol(argv[3]));
    else if (!strcmp(what, "read"))
        read_file(argv[2]);
    else if (!strcmp(what, "threads")) {
        for (int i = 0; i < (int)n; i++)
            pthread_create(&t, NULL, wait_a_while, NULL);
        sleep(2);
    }
    u = usage();
    printf(
        "user %.3f\nsystem %.3f\nminor %ld\nmajor %ld\nvoluntary %ld\ninvoluntary %ld\nmaxrss %ld\nread %ld\n"
        "written %ld\n",
        seconds(u.ru_utime), seconds(u.ru_stime), u.ru_minflt, u.ru_majflt, u.ru_nvcsw, u.ru_nivcsw,
        u.ru_maxrss * 1024, u.ru_inblock * 512, u.ru_oublock * 512);
    return 0;
}
