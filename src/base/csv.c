/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv.h"

#include "base/json.h"
#include "base/utf8.h"

#include <math.h>

static void quote(struct buf *out, const char *s)
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

/* Readers refuse a file with bytes that are no UTF-8. */
void csv_text(struct buf *out, const char *s)
{
    struct buf valid = {0};

    if (!utf8_is(s)) {
        utf8_add(&valid, s);
        s = buf_str(&valid);
    }
    quote(out, s);
    buf_release(&valid);
}

void csv_real(struct buf *out, double v)
{
    struct json_writer w = {.out = out};

    if (isfinite(v))
        json_f64(&w, NULL, v);
    else if (!isnan(v))
        buf_addstr(out, v > 0 ? "Inf" : "-Inf");
}
