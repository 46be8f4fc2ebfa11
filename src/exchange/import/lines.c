/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/lines.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 << 10, LINE_MAX_BYTES = 64 << 20 };

void lines_init(struct lines *l, struct input *in)
{
    *l = (struct lines){.in = in, .cap = CHUNK};
    l->buf = mem_alloc(l->cap + LINES_PAD);
}

void lines_release(struct lines *l)
{
    free(l->buf);
    *l = (struct lines){0};
}

static int refill(struct lines *l, struct err *e)
{
    ssize_t n;

    memmove(l->buf, l->buf + l->from, l->have - l->from);
    l->have -= l->from;
    l->from = 0;
    if (l->have == l->cap) {
        if (l->cap >= LINE_MAX_BYTES)
            return err_set(e, "line %llu is longer than 64 MiB", (unsigned long long)l->number + 1);
        l->cap *= 2;
        l->buf = mem_realloc(l->buf, l->cap + LINES_PAD, 1);
    }
    n = input_read(l->in, l->buf + l->have, l->cap - l->have, e);
    if (n < 0)
        return -1;
    l->have += (size_t)n;
    l->eof = !n;
    return 0;
}

int lines_next(struct lines *l, const char **p, size_t *n, struct err *e)
{
    size_t seen = 0;
    char *eol;

    while (!(eol = memchr(l->buf + l->from + seen, '\n', l->have - l->from - seen)) && !l->eof) {
        seen = l->have - l->from;
        if (refill(l, e))
            return -1;
    }
    if (!eol && l->from == l->have)
        return 0;
    *p = l->buf + l->from;
    *n = eol ? (size_t)(eol - *p) : l->have - l->from;
    l->from += *n + (eol != NULL);
    l->number++;
    if (*n && (*p)[*n - 1] == '\r')
        --*n;
    return 1;
}
