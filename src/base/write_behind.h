/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of gigabytes that a thread writes while the next is made: half of the time goes into the kernel's
 * copying it.
 *
 *     write_behind_init(&w, write, arg);
 *     write_behind_put(&w, &text, e) ...    some hundred kilobytes or more at a time
 *     rc = write_behind_finish(&w, rc, e);
 */
#ifndef WPROF_BASE_WRITE_BEHIND_H
#define WPROF_BASE_WRITE_BEHIND_H

#include "base/buf.h"
#include "base/err.h"

#include <pthread.h>

/* Called by one thread at a time, in order. -1 with `e`. */
typedef int (*write_behind_fn)(void *arg, const struct buf *text, struct err *e);

struct write_behind {
    write_behind_fn write;
    void *arg;
    int threaded;
    pthread_t thread;

    /* under the lock: */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buf text; /* being written while `full` */
    int full, ended, rc;
    struct err error;
};

void write_behind_init(struct write_behind *w, write_behind_fn write, void *arg);

/* Takes the text over, and leaves an empty buffer; waits where the one before is still being written. A
 * failure may show at a later call; from then on it is -1, nothing is written any more. */
int write_behind_put(struct write_behind *w, struct buf *text, struct err *e);

/* Waits until all is written, and releases. Gives rc, or -1 with `e` where writing failed first. */
int write_behind_finish(struct write_behind *w, int rc, struct err *e);

#endif
