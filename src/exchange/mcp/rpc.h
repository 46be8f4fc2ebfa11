/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0 (jsonrpc.org/specification): what a message is, and answers. */
#ifndef WPROF_EXCHANGE_MCP_RPC_H
#define WPROF_EXCHANGE_MCP_RPC_H

#include "base/json.h"

/* Section 5.1; the last two are MCP's own. */
enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_NO_METHOD = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_NO_RESOURCE = -32002, /* until 2025-11-25 */
    RPC_NO_VERSION = -32022,  /* from 2026-07-28 */
};

enum rpc_kind { RPC_BAD, RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc {
    enum rpc_kind kind;
    const char *method;
    const struct json_value *id, *params; /* NULL: none */
};

/* What a message is; of a bad one `e` says why, and `id` is set where it has one. */
void rpc_read(struct rpc *r, const struct json_value *v, struct err *e);

/* Ids are the same: of one type, one value. */
int rpc_same_id(const struct json_value *a, const struct json_value *b);

/* Appends an answer up to its result, which the caller adds: rpc_end() closes it. id NULL: null. */
void rpc_begin(struct json_writer *w, const struct json_value *id);
void rpc_end(struct json_writer *w);

/* A whole answer. data: JSON, may be NULL. The message's foreign parts are made harmless. */
void rpc_error(struct buf *out, const struct json_value *id, enum rpc_code code, const char *message,
               const char *data);

#endif
