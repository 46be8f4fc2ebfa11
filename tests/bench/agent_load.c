/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that launches kernels at an even rate, on the fake driver and the stub CUPTI of tests/fakes:
 *     agent_load agent|plain SECONDS RECORDS_PER_SECOND
 * agent: whoever is injected takes the records. plain: the program does, and throws them away: what the fakes
 * themselves cost. Prints, last of all, the process's CPU time in ns, the launches and how long they took.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNELS = 64, STREAMS = 4, OF_A_LAUNCH = 3 /* a call of the runtime, one of the driver, a kernel */ };
enum { BUFFER = 2 << 20, TURNS = 1000 /* a second */ };

static struct {
    void *cuda, *cupti;
    unsigned long launches;
    uint64_t begun, ended;
} load;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *function(void *library, const char *name)
{
    void *f = library ? dlsym(library, name) : NULL;

    if (!f) {
        fprintf(stderr, "agent_load: no %s\n", name);
        exit(1);
    }
    return f;
}

/* ---- without an agent ---- */

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = BUFFER;
    *records = 0;
    *buffer = malloc(BUFFER);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    (void)valid;
    free(buffer);
}

static void *flush(void *arg)
{
    int (*all)(uint32_t) = NULL;

    (void)arg;
    *(void **)&all = function(load.cupti, "cuptiActivityFlushAll");
    for (;;) {
        nanosleep(&(struct timespec){1, 0}, NULL);
        all(0);
    }
    return NULL;
}

/* What an agent has: the same records, taken each second. */
static void take(void)
{
    static const int kinds[] = {10, 1, 2, 4, 5};
    int (*enable)(int) = NULL, (*callbacks)(void *, void *) = NULL;
    pthread_t thread;

    load.cupti = dlopen("libcupti.so.12", RTLD_LAZY);
    *(void **)&enable = function(load.cupti, "cuptiActivityEnable");
    *(void **)&callbacks = function(load.cupti, "cuptiActivityRegisterCallbacks");
    callbacks((void *)requested, (void *)completed);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        enable(kinds[i]);
    if (pthread_create(&thread, NULL, flush, NULL))
        exit(1);
}

/* ---- */

static void wait_until(uint64_t t)
{
    struct timespec at = {(time_t)(t / 1000000000), (long)(t % 1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
        ;
}

static void launch(double seconds, double rate)
{
    int (*get)(void **, void *, const char *) = NULL, (*run)(void *, unsigned, unsigned, uintptr_t) = NULL;
    unsigned long turns = (unsigned long)(seconds * TURNS), done = 0;
    void *kernels[KERNELS];

    *(void **)&get = function(load.cuda, "cuModuleGetFunction");
    *(void **)&run = function(load.cuda, "cudaLaunchKernel");
    for (int i = 0; i < KERNELS; i++) {
        char name[64];

        snprintf(name, sizeof(name), "_Z%dkernel_%02dPfS_i@1", 9, i);
        get(&kernels[i], NULL, name);
    }
    load.begun = clock_ns(CLOCK_MONOTONIC);
    for (unsigned long turn = 1; turn <= turns; turn++) {
        unsigned long due = (unsigned long)(rate / OF_A_LAUNCH * (double)turn / TURNS);

        for (; done < due; done++)
            run(kernels[done % KERNELS], (unsigned)(done % 7 + 1), 128, done % STREAMS);
        wait_until(load.begun + turn * (1000000000u / TURNS));
    }
    load.launches = done;
    load.ended = clock_ns(CLOCK_MONOTONIC);
}

/* After whoever is injected has said the last. */
static void tell(void)
{
    printf("%llu %lu %llu\n", (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID), load.launches,
           (unsigned long long)(load.ended - load.begun));
}

int main(int argc, char **argv)
{
    int (*init)(unsigned) = NULL;

    if (argc != 4)
        return 2;
    load.cuda = dlopen("libcuda.so.1", RTLD_LAZY);
    *(void **)&init = function(load.cuda, "cuInit");
    atexit(tell); /* the last that runs: what is registered later runs before */
    if (!strcmp(argv[1], "plain"))
        take();
    init(0);
    launch(strtod(argv[2], NULL), strtod(argv[3], NULL));
    return 0;
}
