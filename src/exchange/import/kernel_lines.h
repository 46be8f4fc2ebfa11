/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of a GPU, an object of JSON a line: name, ts and dur (us; or start_ns and dur_ns, or end_ns), and
 * as far as they are there device, stream, correlation and bytes, in the object or in its args.
 */
#ifndef WPROF_EXCHANGE_KERNEL_LINES_H
#define WPROF_EXCHANGE_KERNEL_LINES_H

#include "exchange/import/import.h"

/* As an importer's run. -1 with `e`: not a line of it is one. */
int kernel_lines_run(struct input *in, struct store *s, struct meta *m, struct import_stats *st,
                     struct err *e);

#endif
