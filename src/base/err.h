/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: a function that can fail returns -1 and fills a struct err; callers add context in front.
 */
#ifndef WPROF_BASE_ERR_H
#define WPROF_BASE_ERR_H

struct err {
    char msg[1024]; /* "" while nothing failed */
};

/* Sets the message. Always returns -1, so that `return err_set(e, ...)` reads as it acts. e may be NULL. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same followed by ": " and strerror(errnum). Returns -1. */
int err_sys(struct err *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "fmt: " in front of the message that is there. Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
