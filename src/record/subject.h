/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded: a command (ours, or the front end's of `record --sudo`), processes by pid, a control
 * group, or the whole machine. Found before anything is recorded, then watched for its end.
 */
#ifndef WPROF_RECORD_SUBJECT_H
#define WPROF_RECORD_SUBJECT_H

#include "platform/identity.h"
#include "record/cgroup_watch.h"
#include "record/child.h"
#include "record/half.h"
#include "record/jit_env.h"
#include "record/targets.h"

struct recorder_opts;
struct recording;

struct subject {
    struct identity who; /* who asked for it, and runs the command */
    struct child command;
    struct half half; /* of `record --sudo`: the command is its front end's, who waits for it */
    struct targets targets;
    struct cgroup_watch group;
    uint64_t look_at; /* CLOCK_MONOTONIC ns of the next look at the group */
    struct jit_env jit_env;
};

void subject_init(struct subject *s);
void subject_release(struct subject *s);

/*
 * Finds it, puts the command behind its gate, and tells the recording its targets and what it is about.
 * `before`: the signals as the command is to have them. -1 with `e`; s->command.spawn.failure is the code to
 * exit with where that is not 0.
 */
int subject_prepare(struct subject *s, const struct recorder_opts *o, const struct spawn_signals *before,
                    struct recording *rec, struct err *e);

/* Once a second: who has entered the control group. 0: nobody is left in it. */
int subject_look(struct subject *s, struct recording *rec, uint64_t now);
uint64_t subject_next_look(const struct subject *s); /* UINT64_MAX: never */

#endif
