/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that people paste into a shell. */
#ifndef WPROF_BASE_SHELL_H
#define WPROF_BASE_SHELL_H

#include "base/buf.h"

/* Appends one word of POSIX's shell that stands for `s`: in single quotes where it would not stand for
 * itself. */
void shell_word(struct buf *out, const char *s);

#endif
