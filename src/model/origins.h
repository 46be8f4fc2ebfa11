/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings that a session was made of (wprof merge; traces of several ranks), and so the host and the
 * rank of each task: task.origin. A session of one recording has none, and its meta.json says which host it
 * is of. Pids and tids mean something within an origin only.
 *
 * On disk: blocks of their own (wprof-session(5)), which older readers skip and count; to them all tasks are
 * of one host, told apart by their ids nevertheless.
 */
#ifndef WPROF_MODEL_ORIGINS_H
#define WPROF_MODEL_ORIGINS_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdint.h>

#define ORIGIN_ERROR_UNKNOWN UINT64_MAX

/* An origin without a session is a host itself: tasks on it that no recording is of, only named in some. */

/* What tells how an origin's clock is apart from the session's. */
enum origin_clock {
    ORIGIN_CLOCK_ITSELF,   /* the session's times are this one's */
    ORIGIN_CLOCK_BOOT,     /* of the same boot of the same machine: CLOCK_MONOTONIC is one */
    ORIGIN_CLOCK_SOCKETS,  /* what one end sent the other one received */
    ORIGIN_CLOCK_BARRIERS, /* what all leave at a moment, and none before the last has entered it */
    ORIGIN_CLOCK_WALL,     /* the hosts' CLOCK_REALTIME: as good as those were set */
    ORIGIN_CLOCK_NONE,     /* nothing: its times begin with the session */
    ORIGIN_CLOCKS,
};

struct origin {
    uint32_t host, session;    /* strtab: the host's name, the session_id; 0: not known */
    uint32_t rank;             /* + 1; 0: none */
    uint32_t task;             /* id of the command's leader; 0: not known */
    uint32_t machine;          /* id of the task that stands for its host: what was measured of no process */
    uint32_t frequency;        /* Hz, of samples; 0: not known */
    uint32_t clock;            /* enum origin_clock */
    int64_t offset_ns;         /* what its times were moved by */
    uint64_t error_ns;         /* of the offset, to either side; ORIGIN_ERROR_UNKNOWN */
    uint64_t start_ns, end_ns; /* of the recording, in the session's time */
};

struct origins {
    VEC(struct origin) list; /* an id is index + 1 */
};

void origins_release(struct origins *o);
const char *origins_clock_name(unsigned clock); /* "sockets"; "unknown" for numbers beyond */

static inline const struct origin *origins_get(const struct origins *o, uint32_t id)
{
    return id && id <= o->list.n ? &o->list.a[id - 1] : NULL;
}

struct store;
struct task;

/* A task's name for people: "python3", where the session has several origins "python3 [node1 rank 3]".
 * `otherwise` stands for one without a name, and for NULL. Owned by the caller. */
char *origins_task_name(const struct store *s, const struct task *t, const char *otherwise);

#endif
