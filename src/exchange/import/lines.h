/* SPDX-License-Identifier: Apache-2.0 */
/* An input's text, a line at a time; memory is that of a piece of it, or of the longest line. */
#ifndef WPROF_EXCHANGE_LINES_H
#define WPROF_EXCHANGE_LINES_H

#include "exchange/import/input.h"

enum { LINES_PAD = 8 }; /* bytes behind a line that may be read, whatever is in them */

struct lines {
    struct input *in;
    uint64_t number; /* of the line that was given last, from 1 */

    /* its own */
    char *buf;
    size_t cap, from, have;
    int eof;
};

void lines_init(struct lines *l, struct input *in);
void lines_release(struct lines *l);

/* 1: the line is *p, n bytes without its end (LF or CR LF), valid until the next call; 0: there is none; -1
 * with `e`. */
int lines_next(struct lines *l, const char **p, size_t *n, struct err *e);

#endif
