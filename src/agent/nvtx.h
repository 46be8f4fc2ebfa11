/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and marks of NVTX. */
#ifndef WPROF_AGENT_NVTX_H
#define WPROF_AGENT_NVTX_H

#include <stdint.h>

/* Puts our functions in the place of NVTX's, which gives its tables by `get`. 1: that is done; 0: it has none
 * that we know. */
int nvtx_take(const void *(*get)(uint32_t table));

#endif
