/* SPDX-License-Identifier: Apache-2.0 */
/* Finds sessions below directories, and archives of them. */
#ifndef WPROF_EXCHANGE_SESSIONS_FIND_H
#define WPROF_EXCHANGE_SESSIONS_FIND_H

#include "model/sessions.h"

/*
 * Adds every session in the directory `name` and below, directories and archives, hidden ones and symlinks
 * left out; or the archive `name`, "-": on stdin, which is read to its end; one that was added already is not
 * again. A session's inside is not looked at. What meta.json said is kept in an index (SQLite, in
 * $XDG_CACHE_HOME/wprof) and read again only where the file, or the archive, is another one since. Without an
 * index all is read. -1 with `e`: it cannot be read, or is neither.
 */
int sessions_find(struct sessions *s, const char *name, struct err *e);

/* Looks for each session's HTML page: reports/NAME.html, NAME.html, the first by name. */
void sessions_find_pages(struct sessions *s);

#endif
