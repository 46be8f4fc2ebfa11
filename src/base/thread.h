/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WPROF_BASE_THREAD_H
#define WPROF_BASE_THREAD_H

#include <pthread.h>

/* A thread to which no signal comes: these are the main thread's. 0, or an errno. */
int thread_start(pthread_t *thread, void *(*work)(void *), void *arg);

#endif
