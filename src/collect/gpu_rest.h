/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of GPU agents that a recorder which was killed has left in its session. */
#ifndef WPROF_COLLECT_GPU_REST_H
#define WPROF_COLLECT_GPU_REST_H

#include "model/session.h"

/* Takes what is not yet in the store of a session that was loaded and is not sealed: counted in
 * s->agent_events; s->agent_bytes: what could not be read. Frames come raw. Nothing on disk is changed. */
void gpu_rest_take(struct session *s);

#endif
