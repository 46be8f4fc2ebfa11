/* SPDX-License-Identifier: Apache-2.0 */
#include "render/markdown_text.h"

#include "render/text.h"

#include <string.h>

void markdown_text(struct buf *out, const char *s)
{
    struct buf clean = {0};

    text_clean(s, 0, &clean); /* a line feed is none any more */
    for (const char *p = buf_str(&clean); *p; p++) {
        if (strchr("<>&@", *p)) /* markup; a name behind @ would be notified */
            buf_addf(out, "&#%d;", *p);
        else if (strchr("\\`*_{}[]#|~$!", *p))
            buf_addf(out, "\\%c", *p);
        else
            buf_addch(out, *p);
    }
    buf_release(&clean);
}
