/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv.h"

#include "base/json.h"

#include <math.h>

void csv_text(struct buf *out, const char *s)
{
    if (!s[strcspn(s, "\",\r\n")] && *s != ' ') {
        buf_addstr(out, s);
        return;
    }
    buf_addch(out, '"');
    for (; *s; s++) {
        if (*s == '"')
            buf_addch(out, '"');
        buf_addch(out, *s);
    }
    buf_addch(out, '"');
}

void csv_real(struct buf *out, double v)
{
    struct json_writer w = {.out = out};

    if (isfinite(v))
        json_f64(&w, NULL, v);
}
