/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of `mcp`. */
#ifndef WPROF_CMD_MCP_TOOLS_H
#define WPROF_CMD_MCP_TOOLS_H

#include "exchange/mcp/mcp.h"
#include "mcp_roots.h"

extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_ntools;

/* A call in work. */
struct mcp_job {
    const struct mcp_roots *roots;
    const struct mcp_tool *tool;
    const struct json_value *args; /* checked */
    uint64_t timeout;              /* ns */
};

/* Runs a tool: its result, a JSON object, to `out`. -1 with `e`: what, why, what to do. */
int mcp_tools_run(const struct mcp_job *j, struct buf *out, struct err *e);

static inline const char *mcp_job_text(const struct mcp_job *j, const char *name)
{
    return mcp_arg_text(j->tool->args, j->tool->nargs, j->args, name);
}

static inline uint64_t mcp_job_count(const struct mcp_job *j, const char *name)
{
    return mcp_arg_count(j->tool->args, j->tool->nargs, j->args, name);
}

/* ---- one a tool: mcp_sessions.c, mcp_profile.c, mcp_made.c ---- */

int mcp_list_sessions(const struct mcp_job *j, struct buf *out, struct err *e);
int mcp_fetch_flamegraph(const struct mcp_job *j, struct buf *out, struct err *e);
int mcp_analyze_hotspot(const struct mcp_job *j, struct buf *out, struct err *e);
int mcp_report(const struct mcp_job *j, struct buf *out, struct err *e);
int mcp_diff(const struct mcp_job *j, struct buf *out, struct err *e);
int mcp_query(const struct mcp_job *j, struct buf *out, struct err *e);

#endif
