/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of tools, declared once: schemas, checks and defaults are made of the same table. */
#ifndef WPROF_EXCHANGE_MCP_ARGS_H
#define WPROF_EXCHANGE_MCP_ARGS_H

#include "base/json.h"

enum mcp_type {
    MCP_TEXT,
    MCP_CHOICE, /* one of `choices` */
    MCP_COUNT,  /* an integer from `least` to `most` */
    MCP_TEXTS,  /* an array of 1 to `most` texts; one alone may stand without its brackets */
};

enum { MCP_TEXT_MAX = 16384 /* bytes of a text */ };

struct mcp_arg {
    const char *name;
    enum mcp_type type;
    int required;
    const char *what;
    const char *choices;   /* "cpu|gpu|auto" */
    const char *otherwise; /* the default, as text; NULL: there is none */
    uint64_t least, most;
};

/* A member of what a tool gives. */
enum mcp_kind { MCP_IS_TEXT, MCP_IS_COUNT, MCP_IS_BOOL, MCP_IS_TEXTS, MCP_IS_ROWS, MCP_IS_OBJECT };

struct mcp_member {
    const char *name;
    enum mcp_kind kind; /* a text may be null; rows are objects */
    const char *what;
};

/* The schema of an object of them, as a member of the open object. */
void mcp_args_schema(const struct mcp_arg *a, size_t n, struct json_writer *w, const char *key);

/* The same of what is given, where more may be in it. */
void mcp_members_schema(const struct mcp_member *m, size_t n, struct json_writer *w, const char *key);

/* -1 with `e`, which says what is wrong and what would be right: v (NULL: nothing was given) is no object,
 * one is missing, unknown or does not fit. */
int mcp_args_check(const struct mcp_arg *a, size_t n, const struct json_value *v, struct err *e);

/* Of those that were checked; the default where it is not given. */
const char *mcp_arg_text(const struct mcp_arg *a, size_t n, const struct json_value *v, const char *name);
uint64_t mcp_arg_count(const struct mcp_arg *a, size_t n, const struct json_value *v, const char *name);

#endif
