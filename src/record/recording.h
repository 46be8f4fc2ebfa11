/* SPDX-License-Identifier: Apache-2.0 */
/* What one recording makes: its collectors at work, the session they fill, what it cost. When it begins and
 * ends is the recorder's. */
#ifndef WPROF_RECORD_RECORDING_H
#define WPROF_RECORD_RECORDING_H

#include "platform/identity.h"
#include "record/collectors.h"
#include "record/cost.h"
#include "record/live.h"
#include "record/marks.h"
#include "record/sink.h"

#include <sys/resource.h>

struct recorder_opts;

struct recording {
    const struct recorder_opts *o;
    uid_t uid; /* whose the session is; -1: ours */
    gid_t gid;
    const struct identity *maker; /* with whose rights its directory is made; NULL: ours */
    struct store store;
    struct meta meta;
    struct record_ctx ctx;
    struct collectors collectors;
    struct sink sink;
    struct cost cost;
    struct live live;
    struct marks *marks; /* NULL: none are taken */
    char *dir;           /* of the session */
    size_t ntargets;     /* at the start: a control group may get more */
    uint64_t begin;      /* it began: CLOCK_MONOTONIC ns; 0: not yet */
    uint64_t next;       /* the next flush is due */
};

/* In this order. The options and the identity are borrowed. */
int recording_init(struct recording *rec, const struct recorder_opts *o, const struct identity *who,
                   marks_seen on_mark, void *arg, struct err *e);
void recording_target(struct recording *rec, pid_t pid);
void recording_name(struct recording *rec); /* the session's directory, once the workload's name is known */
/* The command's WPROF_MARKS; NULL: there is none, which is said. Borrowed. */
const char *recording_prepare_marks(struct recording *rec);

/* Chooses the tier, opens collectors and session: all that may fail before anything is recorded. -1 with
 * `e`. */
int recording_open(struct recording *rec, struct err *e);
/* Takes marks, whose descriptor marks_fd() gives; that there are none is said. */
int recording_open_marks(struct recording *rec, struct err *e);
void recording_no_marks(struct recording *rec, const struct err *why);

/* Collectors count from here. *polled: some are to be polled by time. -1 with `e`. */
int recording_begin(struct recording *rec, int epoll, int *polled, struct err *e);

/* What they count goes to the session once its time has come. Gives why the recording is over with that, a
 * constant; NULL: it goes on. `running`: so does the command. */
const char *recording_turn(struct recording *rec, uint64_t now, int running);

/* No more is recorded. `ended`: the command's resources where it was waited for, or NULL. */
void recording_stop(struct recording *rec, const char *reason, const struct rusage *ended, int running);
/* Seals the session, tells the hooks. `since`: when the recording ended; exit_code: the command's, -1: none.
 * -1: it is not complete, which was said. */
int recording_seal(struct recording *rec, uint64_t since, int exit_code);
void recording_discard(struct recording *rec); /* nothing was recorded: no session stays */
void recording_release(struct recording *rec); /* may be called again */

#endif
