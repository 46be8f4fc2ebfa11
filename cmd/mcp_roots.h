/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions `mcp` may read: those below its roots, as they are listed, and nothing else. */
#ifndef WPROF_CMD_MCP_ROOTS_H
#define WPROF_CMD_MCP_ROOTS_H

#include "base/vec.h"
#include "model/session.h"
#include "model/sessions.h"

struct mcp_roots {
    VEC(char *) dirs; /* absolute, without symlinks */
};

/* -1 with `e`: it is no directory. */
int mcp_roots_add(struct mcp_roots *r, const char *dir, struct err *e);
void mcp_roots_release(struct mcp_roots *r);

/* All sessions below, unsorted. `s` is zeroed by the caller, who releases it. */
int mcp_roots_list(const struct mcp_roots *r, struct sessions *s, struct err *e);

/* The path of the session with that session_id, or that path in the list: owned by the caller. NULL with `e`:
 * there is none, several, or something in it leads elsewhere. */
char *mcp_roots_find(const struct mcp_roots *r, const char *name, struct err *e);

/* open_session() of what is found. */
int mcp_roots_open(const struct mcp_roots *r, const char *name, struct session *s, struct err *e);

#endif
