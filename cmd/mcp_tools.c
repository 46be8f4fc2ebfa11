/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_tools.h"

#define SESSION_ID                                                                                           \
    "A session: its session_id as list_sessions tells it, or its path from there where several have that id"

enum { SESSIONS_MAX = 32 };

/* ---- arguments; those of the first three tools are AIProf's ---- */

static const struct mcp_arg list_args[] = {
    {"host", MCP_TEXT, 0, "Only sessions recorded on that host; * and ? match as in the shell: gpu-*"},
    {"workload", MCP_TEXT, 0, "Only sessions of that program; patterns as for host"},
    {"kind", MCP_TEXT, 0, "Only sessions of that kind: fused, imported, cpu-oncpu, cpu-offcpu, cupti ..."},
    {"limit", MCP_COUNT, 0, "At most so many, the newest first", .otherwise = "50", .least = 1, .most = 500},
};

static const struct mcp_arg flame_args[] = {{"session_id", MCP_TEXT, 1, SESSION_ID}};

static const struct mcp_arg hotspot_args[] = {
    {"session_id", MCP_TEXT, 1, SESSION_ID},
    {"focus", MCP_CHOICE, 0,
     "What is looked at: samples of all code (cpu), samples of Python functions (python), the GPU's time "
     "(gpu); auto: whichever of them the session is about",
     .choices = "cpu|gpu|python|auto", .otherwise = "auto"},
    {"top_k", MCP_COUNT, 0, "Rows of each list", .otherwise = "10", .least = 1, .most = 100},
};

static const struct mcp_arg report_args[] = {
    {"session_id", MCP_TEXT, 1, SESSION_ID},
    {"rule", MCP_TEXT, 0,
     "Look for this alone, by the id that a finding or check has: loader-wait, gil-wait ..."},
};

static const struct mcp_arg diff_args[] = {
    {"base", MCP_TEXTS, 1, "Runs of the one version, sessions as for the other tools", .most = SESSIONS_MAX},
    {"new", MCP_TEXTS, 1, "Runs of the other version; several runs a side tell what is noise",
     .most = SESSIONS_MAX},
    {"metric", MCP_CHOICE, 0, "What is compared", .choices = "oncpu|offcpu|waker|runq|gil|gpu",
     .otherwise = "oncpu"},
    {"by", MCP_CHOICE, 0, "What a row is", .choices = "function|stack|module|process|kernel|operator",
     .otherwise = "function"},
    {"per", MCP_TEXT, 0, "Divide by all samples (sample), by time (second), by the marks of a kind (step)",
     .otherwise = "sample"},
    {"top", MCP_COUNT, 0, "Rows at most, those that cost or gain most first", .otherwise = "20", .least = 1,
     .most = 200},
};

static const struct mcp_arg query_args[] = {
    {"sessions", MCP_TEXTS, 1,
     "Sessions whose tables stand one below the other; column session tells them apart",
     .most = SESSIONS_MAX},
    {"sql", MCP_TEXT, 1,
     "One SELECT in SQLite's SQL, or the name of a ready query: sessions, hot, total, stacks, modules, "
     "lines, threads, waits, wakers, gil, marks, kernels, copies, calls, metrics, flows, loss, across; "
     "schema: tells the tables and views with their columns"},
    {"rows", MCP_COUNT, 0, "Rows at most; those beyond are counted", .otherwise = "100", .least = 1,
     .most = 1000},
};

/* ---- what they give, the most of it ---- */

static const struct mcp_member list_members[] = {
    {"sessions", MCP_IS_ROWS,
     "session_id, path, host, workload, kind, state, command, start_ts, duration_s ..."},
    {"sessions_left_out", MCP_IS_COUNT, "how many more there are, beyond limit"},
};

static const struct mcp_member flame_members[] = {
    {"session_id", MCP_IS_TEXT, NULL},
    {"metric", MCP_IS_TEXT, "what the values count: oncpu, gpu, offcpu, gil"},
    {"unit", MCP_IS_TEXT, "samples or ns"},
    {"total", MCP_IS_COUNT, "the sum of all values"},
    {"folded", MCP_IS_TEXT, "lines \"root;...;leaf value\", the heaviest first"},
    {"stacks", MCP_IS_COUNT, "how many different ones there are"},
    {"stacks_left_out", MCP_IS_COUNT, "the light ones that did not fit"},
    {"value_left_out", MCP_IS_COUNT, "their values' sum"},
    {"quality", MCP_IS_OBJECT, "how well it was measured"},
};

static const struct mcp_member hotspot_members[] = {
    {"session_id", MCP_IS_TEXT, NULL},
    {"focus", MCP_IS_TEXT, "cpu, python or gpu"},
    {"focus_because", MCP_IS_TEXT, "why that, where auto was asked for"},
    {"metric", MCP_IS_TEXT, NULL},
    {"unit", MCP_IS_TEXT, "samples or ns"},
    {"total", MCP_IS_COUNT, "the sum of all values"},
    {"by_self", MCP_IS_ROWS, "functions by what they use themselves"},
    {"by_total", MCP_IS_ROWS, "functions by what they use with all that they call"},
    {"heaviest_stacks", MCP_IS_ROWS, "stack, value, share"},
    {"quality", MCP_IS_OBJECT, "how well it was measured"},
};

static const struct mcp_member report_members[] = {
    {"findings", MCP_IS_ROWS, "the costliest first: title, cost_ns, share, evidence, advice, where"},
    {"checks", MCP_IS_ROWS, "what became of each rule"},
    {"wall", MCP_IS_OBJECT, "where the main thread's wall time went"},
    {"workers", MCP_IS_OBJECT, "the time of those that work while the main thread only waits"},
    {"quality", MCP_IS_OBJECT, "how well it was measured"},
};

static const struct mcp_member diff_members[] = {
    {"method", MCP_IS_TEXT, "how noise was told from change"},
    {"certainty", MCP_IS_TEXT, NULL},
    {"figures", MCP_IS_ROWS, "of the whole run: base, new, change, significant"},
    {"rows", MCP_IS_ROWS, "what the change is in"},
    {"rows_left_out", MCP_IS_COUNT, "beyond top"},
    {"notes", MCP_IS_TEXTS, NULL},
};

static const struct mcp_member query_members[] = {
    {"columns", MCP_IS_TEXTS, NULL},
    {"rows", MCP_IS_ROWS, NULL},
    {"rows_left_out", MCP_IS_COUNT, "beyond rows, or too much text"},
    {"complete", MCP_IS_BOOL, "false: the statement took too long and was stopped"},
    {"schema", MCP_IS_TEXT, "where sql is \"schema\": the tables and views"},
};

/* ---- the tools ---- */

static const struct {
    int (*run)(const struct mcp_job *j, struct buf *out, struct err *e);
} runs[] = {{mcp_list_sessions}, {mcp_fetch_flamegraph}, {mcp_analyze_hotspot}, {mcp_report}, {mcp_diff},
            {mcp_query}};

#define PARTS(name) name##_args, ARRAY_SIZE(name##_args), name##_members, ARRAY_SIZE(name##_members)

const struct mcp_tool mcp_tools[] = {
    {"list_sessions", "List recorded sessions",
     "Lists profiling sessions, the newest first. Call it first: the other tools take a session_id from "
     "here.",
     PARTS(list)},
    {"fetch_flamegraph", "Fetch a session's flame graph",
     "A session's flame graph as folded text: a line is a stack, frames from the root to the leaf "
     "separated by ;, a space, its value. What does not fit is counted.",
     PARTS(flame)},
    {"analyze_hotspot", "Find where the time goes",
     "A session's hottest functions and heaviest stacks, on the CPU, in Python or on the GPU, with how "
     "well it was measured.",
     PARTS(hotspot)},
    {"report", "Report what makes it slow",
     "What makes a session slow: findings with their cost in time, evidence and advice, what was looked "
     "for and not found, and tables of hotspots, waits, GPUs, steps, processes that talk to each other.",
     PARTS(report)},
    {"diff", "Compare runs of two versions",
     "Compares sessions of two versions of a program: what takes longer or less, by how much, and whether "
     "that is more than noise.",
     PARTS(diff)},
    {"query", "Ask sessions in SQL",
     "Answers one SELECT over the tables of sessions (samples, spans, kernels, calls, metrics, tasks, "
     "stacks, frames, nodes, edges; views functions, folded, threads, waits, gpu). Nothing is written. "
     "Times are ns since the session's start.",
     PARTS(query)},
};
const size_t mcp_ntools = ARRAY_SIZE(mcp_tools);

_Static_assert(ARRAY_SIZE(mcp_tools) == ARRAY_SIZE(runs), "each tool runs");

int mcp_tools_run(const struct mcp_job *j, struct buf *out, struct err *e)
{
    return runs[j->tool - mcp_tools].run(j, out, e);
}
