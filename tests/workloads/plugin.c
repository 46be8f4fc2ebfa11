/* SPDX-License-Identifier: Apache-2.0 */
/* A library for gone_library and for Python's ctypes: plugin_burn(ms), plugin_thread(ms), plugin_call(f, n).
 */
#include "burn.h"

#include <pthread.h>

void plugin_burn(int ms);
void plugin_thread(int ms);
void plugin_join(void);
int plugin_call(int (*f)(int), int n);

NOINLINE void plugin_burn(int ms)
{
    uint64_t end = thread_cpu_ns() + (uint64_t)ms * 1000000;

    while (thread_cpu_ns() < end)
        spin();
    __asm__ volatile("");
}

static pthread_t thread;

static void *native_thread(void *arg)
{
    plugin_burn((int)(intptr_t)arg);
    __asm__ volatile("");
    return NULL;
}

/* A thread that never runs Python, inside a process that does. */
void plugin_thread(int ms)
{
    pthread_create(&thread, NULL, native_thread, (void *)(intptr_t)ms);
}

void plugin_join(void)
{
    pthread_join(thread, NULL);
}

/* C between two pieces of Python. */
NOINLINE int plugin_call(int (*f)(int), int n)
{
    int r = f(n);

    __asm__ volatile("");
    return r;
}
