/* SPDX-License-Identifier: Apache-2.0 */
/* The log of this process, whoever needs it first. */
#ifndef WPROF_AGENT_INJECT_H
#define WPROF_AGENT_INJECT_H

#include "agent/agent.h"

/* 0: there is one. -1: it can't be had, or it is over. A child of fork(2) gets its own, when it asks. errno
 * may change. */
int inject_log(struct agent *a);

#endif
