/* SPDX-License-Identifier: Apache-2.0 */
/* Several files of one job: whose each is, once all of them are read. */
#ifndef WPROF_EXCHANGE_RANKS_H
#define WPROF_EXCHANGE_RANKS_H

#include "exchange/import/import.h"

/* Until then the rank of a file that tells none is this and its place among them. Ranks that are told are
 * below. */
enum { RANKS_UNTOLD = 60000 };

/* A file's rank, its works' and its origin's being that number; its events are those
 * from `first` on. */
void ranks_add(struct import_stats *st, const struct store *s, const char *name, uint32_t rank, size_t first);

/* Those without a rank get one that no other file has: their place where it is free, else the next. That, and
 * files of one rank whose times overlap, is said and noted. */
void ranks_settle(struct import_stats *st, struct store *s, struct meta *m);

#endif
