/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads COUNT MS [leave]: COUNT threads that each burn MS of CPU in work(). With `leave` the main thread
 * ends first (pthread_exit), the process lives on in its threads.
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t ns;

static NOINLINE void work(void)
{
    uint64_t end = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

static void *thread_main(void *arg)
{
    char name[16];

    snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)arg);
    pthread_setname_np(pthread_self(), name);
    work();
    __asm__ volatile("");
    return NULL;
}

int main(int argc, char **argv)
{
    int n = atoi(argc > 1 ? argv[1] : "4");
    pthread_t *t = calloc((size_t)n, sizeof(*t));

    ns = (uint64_t)(atof(argc > 2 ? argv[2] : "50") * 1e6);
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, thread_main, (void *)(intptr_t)i);
    if (argc > 3)
        pthread_exit(NULL);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    free(t);
    return 0;
}
