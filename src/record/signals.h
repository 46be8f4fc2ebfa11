/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of a recorder. Those that would end us are blocked and read from a signalfd; what was ignored when
 * we were started (nohup) stays ignored. No handler is installed, so the command inherits what we inherited.
 */
#ifndef WPROF_RECORD_SIGNALS_H
#define WPROF_RECORD_SIGNALS_H

#include "base/err.h"
#include "platform/spawn.h"

struct signals {
    struct spawn_signals before;
    int fd; /* signalfd, non-blocking */
};

int signals_take(struct signals *s, struct err *e);
/* also[0..n): more signals that are ours (0: none). */
int signals_take_also(struct signals *s, const int *also, size_t n, struct err *e);
void signals_give_back(struct signals *s);

enum signal_kind {
    SIGNAL_NONE,      /* nothing pending */
    SIGNAL_CHILD,     /* a child changed state */
    SIGNAL_INTERRUPT, /* ^C or ^\ at the terminal: the command, in the same process group, has it too */
    SIGNAL_FORWARD,   /* sent to us by a process: the command should have it */
    SIGNAL_OTHER,     /* the command knows already: hang-up of the terminal */
};

/* The next pending one. `command` is the pid of the one launched, or 0: what it sends itself is not sent back
 * to it (kill 0 reaches all of the process group), it counts as SIGNAL_OTHER. */
enum signal_kind signals_next(struct signals *s, pid_t command, int *signo);

#endif
