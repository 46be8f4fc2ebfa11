/* SPDX-License-Identifier: Apache-2.0 */
/* The collecting half's side of `record --sudo`: see link.h. */
#ifndef WPROF_RECORD_HALF_H
#define WPROF_RECORD_HALF_H

#include "base/err.h"
#include "platform/identity.h"
#include "record/link.h"

#include <sys/types.h>

struct half {
    int fd;        /* -1: there is no front end */
    pid_t front;   /* the front end's process */
    pid_t command; /* waiting at its gate */
    char **argv;   /* of the command */
    int signo;
    int output_shown; /* the command's stdout is a terminal: no live line in between */
};

/* Meets the front end at the socket `name` of the user `who`; talks to its stderr and works in its directory
 * from then on. -1 with `e`. */
int half_meet(struct half *h, const char *name, const struct identity *who, struct err *e);
void half_release(struct half *h);

/* Tells the command's WPROF_MARKS (NULL: none), gets the command. -1 with `e`: it was not to be had, and the
 * front end has said why. */
int half_command(struct half *h, const char *marks, struct err *e);

/* Everything counts: the command may go. -1: it could not be run, and nothing is to be kept. */
int half_ready(struct half *h);

enum half_news {
    HALF_NOTHING,
    HALF_INTERRUPT,
    HALF_SIGNAL, /* h->signo, for the recording */
    HALF_ENDING, /* the command has ended and is there to be looked at; then half_seen() */
    HALF_ENDED,  /* and was waited for: *status */
    HALF_GONE,   /* the front end is gone */
};

enum half_news half_next(struct half *h, struct link_status *status); /* when h->fd is readable */
void half_seen(struct half *h);

#endif
