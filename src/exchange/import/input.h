/* SPDX-License-Identifier: Apache-2.0 */
/* A file to be imported, or what comes through a pipe: its beginning can be looked at first, what is gzip is
 * unpacked, and what begins with a byte order mark becomes UTF-8 without one. */
#ifndef WPROF_EXCHANGE_INPUT_H
#define WPROF_EXCHANGE_INPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "exchange/import/utf16.h"

#include <stdint.h>
#include <sys/types.h>

enum {
    INPUT_HEAD = 64 << 10,
    INPUT_PAD = 8, /* readable bytes behind the head, the first of them NUL */
};

struct input {
    const char *path;      /* as it was named; "-": stdin. Borrowed */
    const char *name;      /* for messages */
    unsigned index, count; /* which of how many files that are imported at once, from 0 */
    const char *event;     /* of several that the file has, the one to take; NULL: the usual one. Borrowed */
    uint64_t size;         /* bytes of a regular file that is not packed; 0: not known */
    uint64_t bytes;        /* given out so far, unpacked and as UTF-8 */

    /* its own */
    int fd, own_fd;
    struct gunzip *gz;   /* NULL: not packed */
    int is_utf16, ended; /* ended: all of it is in `text` */
    struct utf16 utf16;
    struct buf text; /* of UTF-16: what was made of it */
    size_t taken;    /* of the text */
    struct buf head; /* INPUT_HEAD bytes or all there are; NUL behind them */
    size_t given;    /* of the head */
};

/* Opens and reads the head. -1 with `e`, which names the file. Release it in both cases. */
int input_open(struct input *in, const char *path, struct err *e);
int input_open_fd(struct input *in, int fd, const char *name, struct err *e); /* fd stays the caller's */
void input_release(struct input *in);

/* Up to n bytes to p: how many, 0 at the end, -1 with `e`. A json_read_fn where ctx is the input. */
ssize_t input_read(void *in, void *p, size_t n, struct err *e);
int input_read_all(struct input *in, struct buf *out, struct err *e); /* appends the rest */

struct json_doc *input_read_json(struct input *in, struct err *e); /* all of it as JSON; NULL with `e` */
int input_is_packed(const struct input *in);

/* Why the end was reached too early: of packed files; NULL: it was not, as far as one can tell. */
const char *input_damage(const struct input *in);

#endif
