/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of the Model Context Protocol (modelcontextprotocol.io), tools alone: JSON-RPC 2.0
 * messages, one a line. What comes in is a stranger's. Nothing is read or written here, and no tool is run:
 *
 *     struct mcp *m = mcp_new(&about);
 *     mcp_take(m, line, n, &out) ...           answers go to `out`, calls of tools wait
 *     const struct mcp_call *c = mcp_call(m);  the one to work on
 *     mcp_end(m, c, &result, &out);            answers it
 *
 * Versions with a handshake (2024-11-05 to 2025-11-25) and the one without (2026-07-28) are served side by
 * side, as its page "Versioning and Compatibility" says.
 */
#ifndef WPROF_EXCHANGE_MCP_H
#define WPROF_EXCHANGE_MCP_H

#include "exchange/mcp/args.h"

enum {
    MCP_LINE_MAX = 1 << 20,      /* bytes of a message */
    MCP_BATCH_MAX = 64,          /* messages of a batch */
    MCP_WAITING_MAX = 1024,      /* calls, or */
    MCP_WAITING_BYTES = 4 << 20, /* of them, from which on nothing more should be read */
    MCP_RESULT_MAX = 100000,     /* bytes of a result's JSON */
};

struct mcp_tool {
    const char *name, *title, *what;
    const struct mcp_arg *args;
    size_t nargs;
    const struct mcp_member *members; /* of what it gives */
    size_t nmembers;
};

struct mcp_about {
    const char *version, *instructions;
    const struct mcp_tool *tools;
    size_t ntools;
};

struct mcp;

struct mcp *mcp_new(const struct mcp_about *about); /* borrowed */
void mcp_free(struct mcp *m);

/* A line without its end. Appends whole lines to `out`. */
void mcp_take(struct mcp *m, const char *line, size_t n, struct buf *out);
/* There was a line of more than MCP_LINE_MAX bytes. */
void mcp_refuse_line(struct mcp *m, struct buf *out);

struct mcp_call {
    const struct mcp_tool *tool;
    const char *args; /* a JSON object that fits the tool's arguments */
    size_t args_len;
};

/* The oldest call that waits for its end, NULL: none. Valid until mcp_take() or mcp_end(). */
const struct mcp_call *mcp_call(const struct mcp *m);
/* Which one that is: another number says that the client took the former back. 0: none. */
uint64_t mcp_call_number(const struct mcp *m);
int mcp_is_full(const struct mcp *m);

/* What a call gave. */
struct mcp_result {
    int failed;       /* `text` says what, why, what to do; else it is a JSON object */
    const char *text; /* its names may be anybody's: they are made harmless here */
    size_t n;
};

/* Answers the call that mcp_call() gives. An object of more than MCP_RESULT_MAX bytes is cut to it, and says
 * what is left out. */
void mcp_end(struct mcp *m, const struct mcp_result *r, struct buf *out);

#endif
