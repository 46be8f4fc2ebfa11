/* SPDX-License-Identifier: Apache-2.0 */
/* The other end: sends one line to a recording. */
#ifndef WPROF_RECORD_MARKS_SEND_H
#define WPROF_RECORD_MARKS_SEND_H

#include "base/err.h"

#include <stddef.h>

enum marks_sent {
    MARKS_SENT,
    MARKS_NOBODY, /* no such socket, or nobody takes what comes: the recording is over. `e` says it */
    MARKS_FULL,   /* it stayed full for a fifth of a second */
    MARKS_FAILED,
};

/* path: as WPROF_MARKS has it. All but MARKS_SENT with `e`. */
enum marks_sent marks_send(const char *path, const char *line, size_t n, struct err *e);

/* The same to the recording whose session lies in `dir`. */
enum marks_sent marks_send_to(const char *dir, const char *line, size_t n, struct err *e);

#endif
