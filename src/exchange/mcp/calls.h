/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of tools that wait, batches, and answers on their way: inside of the server. */
#ifndef WPROF_EXCHANGE_MCP_CALLS_H
#define WPROF_EXCHANGE_MCP_CALLS_H

#include "base/vec.h"
#include "exchange/mcp/mcp.h"
#include "exchange/mcp/rpc.h"
#include "exchange/mcp/version.h"

/* A batch is answered when its last member is. */
struct batch {
    size_t left; /* members, and one while it is read */
    struct buf out;
};

/* A call of a tool that is not over. */
struct waiting {
    uint64_t number;
    struct json_doc *id; /* a document with the id alone */
    struct buf args;
    struct mcp_call call;
    struct batch *batch; /* NULL: the call came alone */
    enum mcp_version version;
};

struct mcp {
    const struct mcp_about *about;
    enum mcp_version version; /* what initialize agreed on; MCP_NO_VERSION before */
    uint64_t calls;
    VEC(struct waiting *) queue; /* the oldest first */
};

/* A message in work. */
struct message {
    struct rpc rpc;
    enum mcp_version version;
    struct batch *batch;
    struct buf *out;
};

/* Counts a member of a batch (NULL: there is none) as done with; the last one sends it. */
void mcp_batch_end(struct batch *b, struct buf *out);

/* To the batch, or as a line. */
void mcp_send(struct batch *b, const struct buf *answer, struct buf *out);
void mcp_send_error(const struct message *g, enum rpc_code code, const char *text, const char *data);

/* Members that every result of that version begins with. */
void mcp_put_head(struct json_writer *w, const struct mcp *m, enum mcp_version v);
void mcp_put_server(struct json_writer *w, const char *key, const struct mcp *m, enum mcp_version v);

/* args NULL: none. */
void mcp_enqueue(struct mcp *m, const struct message *g, const struct mcp_tool *tool,
                 const struct json_value *args);
/* The client takes a call back: it gets no answer. */
void mcp_cancel(struct mcp *m, const struct json_value *id, struct buf *out);

/* A call's answer; text: harmless already, a JSON object unless it failed. */
struct mcp_answer {
    const struct json_value *id;
    struct batch *batch;
    enum mcp_version version;
    int failed;
};
void mcp_send_result(const struct mcp *m, const struct mcp_answer *a, const struct buf *text,
                     struct buf *out);

#endif
