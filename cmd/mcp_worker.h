/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool's call in a process of its own: whatever a session does to the code that reads it, and however long
 * that takes, the server answers on, and a call that is taken back ends at once.
 */
#ifndef WPROF_CMD_MCP_WORKER_H
#define WPROF_CMD_MCP_WORKER_H

#include "mcp_tools.h"

#include "record/signals.h"

/* What is said to calls that are not over by mcp_working's `until`. */
#define MCP_AFTER_END                                                                                        \
    "the input ended, and all that was asked before has the time of one call from then on: leave the input " \
    "open until the answers are there, ask for less, or start wprof mcp with a longer --timeout"

struct mcp_worker {
    pid_t pid; /* 0: there is none */
    int fd;    /* what it gives */
    uint64_t number;
    uint64_t deadline; /* CLOCK_MONOTONIC */
    const char *late;  /* what is said to one that is ended then */
    struct buf out;
    char *room; /* for its temporary files: removed with it; NULL: there is none */
};

/* How calls are worked on; borrowed. */
struct mcp_working {
    const struct mcp_roots *roots;
    const struct signals *signals; /* of the server: the worker has those from before */
    uint64_t timeout;              /* ns */
    uint64_t until;                /* CLOCK_MONOTONIC: no call goes on after that; UINT64_MAX: no such time */
};

/* -1 with `e`: it could not be started. */
int mcp_worker_start(struct mcp_worker *x, const struct mcp_working *how, const struct mcp_call *call,
                     uint64_t number, struct err *e);

/* One that is at work ends by then, too. */
void mcp_worker_end_by(struct mcp_worker *x, uint64_t until);

/* Takes what there is. 1: it is over, and *r is what it gave, valid until it is started again; 0: not yet. */
int mcp_worker_read(struct mcp_worker *x, struct mcp_result *r);

/* Ends it, where there is one. */
void mcp_worker_stop(struct mcp_worker *x);

#endif
