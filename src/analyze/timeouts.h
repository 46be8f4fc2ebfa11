/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that their own timer ended: nothing came. That is inferred: an interrupt for which nobody is known
 * ended them, and several of one thread in one place lasted the same time, which is a multiple of 5 ms but
 * for the slack of timers. Sleeps, which are nothing else, are none.
 */
#ifndef WPROF_ANALYZE_TIMEOUTS_H
#define WPROF_ANALYZE_TIMEOUTS_H

#include "model/store.h"

/* By the store's event indices: the timeout in ns of a wait that ran into it, else 0. Owned by the caller. */
uint64_t *timeouts_find(const struct store *s);

#endif
