/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form that gperftools writes CPU profiles in, from before pprof had protobufs: machine words, of 4 or 8
 * bytes in either order: 0, 3 (words of the header that follow), 0 (version), period in us, 0 (padding); then
 * for each stack its count, its depth and so many addresses, the innermost first; 0, 1, 0 at the end; then
 * the text of /proc/PID/maps. (gperftools, docs/cpuprofile-fileformat.html)
 */
#ifndef WPROF_EXCHANGE_PPROF_CPU_H
#define WPROF_EXCHANGE_PPROF_CPU_H

#include "exchange/import/import.h"

int pprof_cpu_is(const char *head, size_t n);

/* The same as an importer's run, of the whole text. */
int pprof_cpu_run(const char *text, size_t n, struct store *s, struct meta *m, struct import_stats *st,
                  struct err *e);

#endif
