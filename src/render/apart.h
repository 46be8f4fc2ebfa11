/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a function in a process of its own: a library that may crash, hang or print cannot harm this one. */
#ifndef WPROF_RENDER_APART_H
#define WPROF_RENDER_APART_H

#include "base/buf.h"
#include "base/err.h"

enum apart_end {
    APART_DONE,     /* it returned; what it wrote to `out` is here */
    APART_TOO_LONG, /* it used more CPU time, or more time, than it may */
    APART_DIED,     /* by a signal */
    APART_FAILED,   /* could not be started, with `e` */
};

struct apart {
    void (*run)(void *arg, struct buf *out); /* in the child: a copy of this process, stderr closed */
    void *arg;
    unsigned cpu_s, wall_s; /* the most it may use */
};

enum apart_end apart_run(const struct apart *a, struct buf *out, struct err *e);

#endif
