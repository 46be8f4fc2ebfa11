/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that recording is made of, tried for real: each in a process of its own, since a seccomp filter may
 * kill. */
#ifndef WPROF_PLATFORM_PROBE_CALLS_H
#define WPROF_PLATFORM_PROBE_CALLS_H

#include <stddef.h>
#include <sys/types.h>

enum probe_call {
#define CALL(id, name) PROBE_##id,
#include "platform/probe_calls.def"
#undef CALL
    PROBE_CALLS
};

/* 0: it worked. Above 0: the errno. Below: */
enum {
    PROBE_UNTRIED = -1, /* not tried, or it ended in a way that says nothing */
    PROBE_KILLED = -2,  /* a seccomp filter ended the process that tried */
};

struct probe_calls {
    short answers[PROBE_CALLS];
};

const char *probe_call_name(enum probe_call c);
/* "ok", "EPERM", "killed"; NULL: untried. Static. */
const char *probe_answer_name(int answer);
/* The reverse, of n bytes; PROBE_UNTRIED for what is none. */
int probe_answer_parse(const char *s, size_t n);

void probe_calls_try(struct probe_calls *c);
/* Lines "NAME ANSWER"; unknown ones are passed over, calls without a line are untried. */
void probe_calls_parse(struct probe_calls *c, const char *text);

static inline int probe_ok(const struct probe_calls *c, enum probe_call which)
{
    return c->answers[which] == 0;
}

/* Tried, and refused. */
static inline int probe_refused(const struct probe_calls *c, enum probe_call which)
{
    return c->answers[which] != 0 && c->answers[which] != PROBE_UNTRIED;
}

/* ---- the calls: 0 or an errno, made in a process that ends after it ---- */

/* sibling: a process of this user that the caller is no ancestor of. */
#define CALL(id, name) int probe_call_##id(pid_t sibling);
#include "platform/probe_calls.def"
#undef CALL

/* A child that waits, and whose memory may be read as that of any program. It ends when its parent does. */
struct probe_target {
    pid_t pid; /* -1: there is none */
    int hold;
};

int probe_target_start(struct probe_target *t); /* 0 or an errno */
void probe_target_end(struct probe_target *t);
/* In the memory of every target at this address. */
extern const char probe_marker[16];

#endif
