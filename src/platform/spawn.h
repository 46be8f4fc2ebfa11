/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a command behind a gate: the child exists, has its pid, user and environment, and knows which file
 * it will run, but runs nothing of it until the gate opens. It stays in our process group and keeps terminal,
 * files and signal dispositions as we got them. When we die before the gate opens the child ends too; once it
 * runs nothing ties it to us.
 */
#ifndef WPROF_PLATFORM_SPAWN_H
#define WPROF_PLATFORM_SPAWN_H

#include "base/err.h"
#include "platform/identity.h"

#include <signal.h>
#include <sys/types.h>

/* The shells' codes for a command that could not be run. */
enum { SPAWN_FAILED = 125, SPAWN_NOT_EXECUTABLE = 126, SPAWN_NOT_FOUND = 127 };

/* What the signal state was before we changed it: the child gets that. */
struct spawn_signals {
    sigset_t mask;
    struct sigaction pipe, chld;
};

struct spawn_how {
    char *const *argv;                   /* ends with NULL; looked up in the PATH of its environment */
    const struct identity *who;          /* NULL or not switched: as we are */
    const struct spawn_signals *signals; /* NULL: as they are now */
    char *const *more; /* "NAME=value", set in its environment; ends with NULL; may be NULL */
    const char *marks; /* the value of WPROF_MARKS; NULL: it has none, whatever ours is */
};

struct spawn {
    pid_t pid;
    int gate, report; /* -1 once used */
    int failure;      /* after a failed call: one of the codes above */
};

/*
 * Forks; waits until the child has found its program. -1 with `e` and s->failure; the child is gone then.
 */
int spawn_behind_gate(struct spawn *s, const struct spawn_how *how, struct err *e);

/* Opens the gate; returns when the program runs. -1 with `e` and s->failure; the child is gone and reaped
 * then. */
int spawn_open_gate(struct spawn *s, struct err *e);

/* Ends a child whose gate is still closed, and reaps it. Nothing happens when there is none. */
void spawn_cancel(struct spawn *s);

/* The environment that `who`'s command gets: NULL-terminated, to be freed with spawn_free_env(). */
char **spawn_env(const struct identity *who);
void spawn_free_env(char **env);

/* The value of NAME in `env`, or NULL. */
const char *spawn_getenv(char *const *env, const char *name);

#endif
