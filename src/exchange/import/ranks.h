/* SPDX-License-Identifier: Apache-2.0 */
/* Several files of one job: whose each is, once all of them are read. */
#ifndef WPROF_EXCHANGE_RANKS_H
#define WPROF_EXCHANGE_RANKS_H

#include "base/map.h"
#include "exchange/import/import.h"

/* Until then the rank of a file that tells none is this and its place among them. Ranks that are told are
 * below. */
enum { RANKS_UNTOLD = 60000 };

/* A file of several: its works have that rank, its events are those from `first` on, its tasks, which are
 * told apart from others' by the rank, those from `first_task` on. host: NULL: not told. */
void ranks_add(struct import_stats *st, struct store *s, const char *name, const char *host, uint32_t rank,
               size_t first, size_t first_task);

/* The same of a file that holds several ranks: processes is pid -> rank + 1, tasks of other processes are no
 * rank's. When tasks were seen is known by then. */
void ranks_split(struct import_stats *st, struct store *s, const char *name, const char *host,
                 const struct map *processes, size_t first, size_t first_task);

/* Those without a rank get one that no other file has: their place where it is free, else the next. That, and
 * files of one rank whose times overlap, is said and noted. So are files whose times do not count from the
 * epoch beside some whose do: they are put to the beginning of those. */
void ranks_settle(struct import_stats *st, struct store *s, struct meta *m);

#endif
