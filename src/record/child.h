/* SPDX-License-Identifier: Apache-2.0 */
/* The launched command: behind its gate, running, ended by us (--kill), waited for. */
#ifndef WPROF_RECORD_CHILD_H
#define WPROF_RECORD_CHILD_H

#include "platform/spawn.h"

#include <stdint.h>
#include <sys/resource.h>

/* From SIGTERM to SIGKILL. */
#define CHILD_GRACE_NS 10000000000ull

struct child {
    struct spawn spawn;
    int launched, ended;
    int status; /* of wait4(2) */
    struct rusage usage;
    int told;         /* the signal that we ended it with: SIGTERM, then SIGKILL; 0: none */
    uint64_t kill_at; /* when SIGKILL is due, ns; UINT64_MAX: never */
};

/* It has ended, and is not taken yet. */
int child_ending(const struct child *c);
/* Takes its end when there is one. 1: it ended just now. */
int child_reap(struct child *c);
int child_running(const struct child *c);

/* Its own code, 128 + n for a signal; 0 when that signal was ours. */
int child_exit_code(const struct child *c);

/* SIGTERM to the command alone, which knows its children. */
void child_end(struct child *c, uint64_t now);

/* After the grace time: SIGKILL to all of its descendants and to itself. Gives the time until which to wait
 * for that, UINT64_MAX: there is nothing to do. */
uint64_t child_time(struct child *c, uint64_t now);

#endif
