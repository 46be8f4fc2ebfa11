/* SPDX-License-Identifier: Apache-2.0 */
/* What requests ask for. */
#ifndef WPROF_EXCHANGE_MCP_METHODS_H
#define WPROF_EXCHANGE_MCP_METHODS_H

#include "exchange/mcp/calls.h"

/* Answers a request, or lets its call wait. */
void mcp_request(struct mcp *m, struct message *g);

#endif
