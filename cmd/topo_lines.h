/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of `topo --format ndjson` on their way to a reader that may be slower than the looks, or stop. */
#ifndef WPROF_CMD_TOPO_LINES_H
#define WPROF_CMD_TOPO_LINES_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

struct topo_lines {
    int fd;
    struct buf line; /* under way; empty: none */
    size_t written;  /* of it */
    uint64_t dropped;
};

/* Takes the text of `line`, which is empty then; while another is under way it is dropped and counted. Writes
 * what can be written without waiting. -1 with `e`: nobody reads any more. */
int topo_lines_put(struct topo_lines *l, struct buf *line, struct err *e);
int topo_lines_flush(struct topo_lines *l, struct err *e); /* the same of the line under way */
static inline int topo_lines_wait(const struct topo_lines *l)
{
    return l->line.len != 0;
}

int topo_lines_end(struct topo_lines *l, struct err *e); /* writes the rest of it, however long that takes */
void topo_lines_release(struct topo_lines *l);

#endif
