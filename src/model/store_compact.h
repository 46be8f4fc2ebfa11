/* SPDX-License-Identifier: Apache-2.0 */
/* The same store with its rows in the order that compresses best, for the log that a sealed session keeps. */
#ifndef WPROF_MODEL_STORE_COMPACT_H
#define WPROF_MODEL_STORE_COMPACT_H

#include "model/store.h"

/*
 * Fills the empty `to` from `from`, which stays as it is: frames by module and address (names then come in
 * runs), stacks depth first, strings in the order of their use (those nothing uses are left out). Modules'
 * fds stay behind. Ids differ between the two, but tasks, waits and an accelerator's works keep theirs.
 */
void store_compact(struct store *to, const struct store *from);

/* The same with only what the events need: stacks, frames, waits, works, names, and tasks with their leaders
 * and parents, or that used CPU time. Tasks, waits and works get new ids. Modules stay. */
void store_compact_used(struct store *to, const struct store *from);
/* The same in place; modules keep their fds. */
void store_keep_used(struct store *s);

/* ---- of store_visit.h ---- */

struct store_visit;

/* What the events and v's used ids need, all tasks; gives v the new ids. */
void store_compact_visited(struct store *to, struct store_visit *v);
/* `to` becomes `s`, with s's fds; `to` is empty then. */
void store_compact_replace(struct store *s, struct store *to);

#endif
