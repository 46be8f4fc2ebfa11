/* SPDX-License-Identifier: Apache-2.0 */
/* Python lines with their text, as it was when it ran. */
#ifndef WPROF_ANALYZE_SOURCE_LINES_H
#define WPROF_ANALYZE_SOURCE_LINES_H

#include "base/err.h"
#include "model/profile.h"
#include "model/session.h"
#include "model/table.h"

/*
 * Python lines by their own time, the heaviest first, at most `limit` (0: all): p has been folded with lines.
 * Columns: self_share, self, total_share, total, function, file, line, text (NULL where it was not recorded).
 */
void source_lines_table(struct table *t, const struct session *s, const struct profile *p, size_t limit);

/* The text of the Python lines of the store that were seen, as source.json has it: read now, from the files
 * that the frames name. What can't be read is left out. At most a few MB. Gives the number of lines. */
size_t source_lines_read(const struct store *s, struct buf *out);

#endif
