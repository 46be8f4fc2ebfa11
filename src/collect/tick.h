/* SPDX-License-Identifier: Apache-2.0 */
/* What a timer tick of perf's costs by itself, before any program of ours runs at it. */
#ifndef WPROF_COLLECT_TICK_H
#define WPROF_COLLECT_TICK_H

#include <stdint.h>

/*
 * ns of one tick of the software clock: the same work is done with a fast timer on this thread and without,
 * and the best times of several are compared, since everything else only adds. Takes some 20 ms. 0: it could
 * not be measured.
 */
uint64_t tick_cost_ns(void);

#endif
