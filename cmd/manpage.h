/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages as plain text, for where man(1) is not, or nobody looks at a terminal. */
#ifndef WPROF_CMD_MANPAGE_H
#define WPROF_CMD_MANPAGE_H

#include "base/buf.h"

/* The page's file, for "record", "session" or "wprof": beside the program, in a build folder man/, when
 * installed
 * ../share/man/manN/. Owned by the caller; NULL: there is none. */
char *manpage_find(const char *name);

/* The text of a page that cmark made (man(7): TH SH SS PP IP nf fi, fonts, named characters), filled to 80
 * columns. */
void manpage_text(const char *roff, struct buf *out);

#endif
