/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the frames of a perf.data: the kernel's, and what stands where there is none. */
#ifndef WPROF_EXCHANGE_PERF_DATA_NAMES_H
#define WPROF_EXCHANGE_PERF_DATA_NAMES_H

#include "exchange/import/perf_data_maps.h"
#include "model/session.h"

/* One more thing to know about it: said now, and in the session. Takes text over. */
void perf_note(struct meta *m, char *text);

/* Names the kernel's frames from the running kernel, or from perf's copy of its symbols, where the build id
 * is the recorded one. Else they stay unnamed, and a note says why. */
void perf_names_kernel(struct perf_maps *maps, struct meta *m);

/* What is known of the files here: a note of those whose names can't be had, and of those that nothing proves
 * to be the recorded ones. */
void perf_names_files(const struct perf_maps *maps, struct meta *m);

/* Frames that have no name by now are called by their module, "[libc.so.6]", as perf script's output has
 * them. No frame may be added to the store afterwards. */
void perf_names_rest(struct store *s);

#endif
