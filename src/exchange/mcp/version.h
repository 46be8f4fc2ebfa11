/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of the protocol, as its specification's schemas name them, and what differs for us. */
#ifndef WPROF_EXCHANGE_MCP_VERSION_H
#define WPROF_EXCHANGE_MCP_VERSION_H

#include "base/json.h"

/* The oldest first. */
enum mcp_version {
    MCP_NO_VERSION = -1,
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_VERSIONS,
    MCP_VERSION_LAST = MCP_VERSIONS - 1
};

enum mcp_has {
    MCP_HAS_BATCHES,
    MCP_HAS_ANNOTATIONS,
    MCP_HAS_TITLES,
    MCP_HAS_STRUCTURE,    /* structuredContent, outputSchema */
    MCP_HAS_ARGS_RESULT,  /* wrong arguments are a result with isError, not an error */
    MCP_HAS_NO_HANDSHAKE, /* every request says its version; results say that they are complete */
};

/* When a method may be called. */
enum { MCP_BEFORE = 1, MCP_HANDSHAKE = 2, MCP_STATELESS = 4 };

const char *mcp_version_name(enum mcp_version v);
int mcp_version_has(enum mcp_version v, enum mcp_has what);

/* What initialize answers: the one asked for where it is served by handshake, else the latest that is. */
enum mcp_version mcp_version_agree(const char *asked);

/* What a request's own _meta says; NULL: nothing. */
const char *mcp_version_of_request(const struct json_value *params);
int mcp_version_is_stateless(const char *name);

/* All of them, the newest first. */
void mcp_version_list(struct json_writer *w, const char *key);

/* Members that some versions want in a result that does not change while the server runs. */
void mcp_version_cache(struct json_writer *w, enum mcp_version v);

#endif
