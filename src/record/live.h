/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line that says how the recording goes, redrawn in place. Only on a terminal where nothing else is
 * expected to write: attached to running processes, or with the command's output sent elsewhere; and only in
 * the foreground.
 */
#ifndef WPROF_RECORD_LIVE_H
#define WPROF_RECORD_LIVE_H

#include <stdint.h>

struct live {
    int on, drawn;
};

void live_begin(struct live *l, int quiet, int launched);
void live_draw(struct live *l, uint64_t elapsed_ns, uint64_t samples, uint64_t bytes);
void live_clear(struct live *l); /* before any other line is written */

#endif
