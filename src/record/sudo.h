/* SPDX-License-Identifier: Apache-2.0 */
/* sudo(8) as a child in the background: started, listened to, its password asked for on the terminal. */
#ifndef WPROF_RECORD_SUDO_H
#define WPROF_RECORD_SUDO_H

#include "base/buf.h"
#include "base/err.h"
#include "platform/spawn.h"

#include <sys/types.h>

struct sudo {
    pid_t pid;       /* 0: none, or waited for */
    int talk;        /* its stderr; -1 */
    struct buf said; /* of it */
};

/* sudo [-n] -- wprof half... [name], NULL-terminated; half and name are borrowed. ask: without -n. NULL with
 * `e`: wprof's own path is not known. */
char **sudo_argv(int ask, const char *const *half, size_t n, const char *name, struct err *e);
void sudo_free_argv(char **argv);

/* In the background, with the signals as they were before. */
int sudo_start(struct sudo *s, char **argv, const struct spawn_signals *before, struct err *e);
void sudo_hear(struct sudo *s);                  /* takes what it has said; when s->talk is readable */
void sudo_look(struct sudo *s);                  /* waits for it if it has ended */
int sudo_refused(struct sudo *s, struct err *e); /* -1, with its last word in `e` */

/* It ended for want of a password. */
int sudo_wants_password(const struct sudo *s);
/* Asks for it on the terminal: 0 when sudo has it. */
int sudo_ask_password(const struct spawn_signals *before);

/* wait: until it has ended. */
void sudo_release(struct sudo *s, int wait);

#endif
