/* SPDX-License-Identifier: Apache-2.0 */
/* CSV as RFC 4180 has it, with LF as line end. */
#ifndef WPROF_BASE_CSV_H
#define WPROF_BASE_CSV_H

#include "base/buf.h"

/* A field of a line: what must be is quoted. Bytes that are not UTF-8 stay as they are. */
void csv_text(struct buf *out, const char *s);
/* The shortest that reads back the same; "Inf", "-Inf", as sqlite3 writes them; NaN: empty. */
void csv_real(struct buf *out, double v);

#endif
