/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/version.h"

#include <string.h>

static const char *const names[MCP_VERSIONS] = {
    [MCP_2024_11_05] = "2024-11-05", [MCP_2025_03_26] = "2025-03-26", [MCP_2025_06_18] = "2025-06-18",
    [MCP_2025_11_25] = "2025-11-25", [MCP_2026_07_28] = "2026-07-28",
};

/* From which version to which (each one's page "Key Changes"). */
static const struct {
    enum mcp_version first, last;
} spans[] = {
    [MCP_HAS_BATCHES] = {MCP_2025_03_26, MCP_2025_03_26},
    [MCP_HAS_ANNOTATIONS] = {MCP_2025_03_26, MCP_VERSION_LAST},
    [MCP_HAS_TITLES] = {MCP_2025_06_18, MCP_VERSION_LAST},
    [MCP_HAS_STRUCTURE] = {MCP_2025_06_18, MCP_VERSION_LAST},
    [MCP_HAS_ARGS_RESULT] = {MCP_2025_11_25, MCP_VERSION_LAST},
    [MCP_HAS_NO_HANDSHAKE] = {MCP_2026_07_28, MCP_VERSION_LAST},
};

enum { CACHE_MS = 3600000 };

const char *mcp_version_name(enum mcp_version v)
{
    return names[v];
}

int mcp_version_has(enum mcp_version v, enum mcp_has what)
{
    return v >= spans[what].first && v <= spans[what].last;
}

enum mcp_version mcp_version_agree(const char *asked)
{
    for (enum mcp_version v = MCP_2024_11_05; v <= MCP_2025_11_25; v++)
        if (!strcmp(asked, names[v]))
            return v;
    return MCP_2025_11_25;
}

const char *mcp_version_of_request(const struct json_value *params)
{
    return json_get_str(json_get(params, "_meta"), "io.modelcontextprotocol/protocolVersion", NULL);
}

int mcp_version_is_stateless(const char *name)
{
    for (enum mcp_version v = MCP_2026_07_28; v <= MCP_VERSION_LAST; v++)
        if (!strcmp(name, names[v]))
            return 1;
    return 0;
}

void mcp_version_list(struct json_writer *w, const char *key)
{
    json_array(w, key);
    for (int v = MCP_VERSION_LAST; v >= 0; v--)
        json_str(w, NULL, names[v]);
    json_end_array(w);
}

void mcp_version_cache(struct json_writer *w, enum mcp_version v)
{
    if (!mcp_version_has(v, MCP_HAS_NO_HANDSHAKE))
        return;
    json_u64(w, "ttlMs", CACHE_MS);
    json_str(w, "cacheScope", "public");
}
