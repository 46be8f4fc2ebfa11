/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/numbered.h"

#include "base/buf.h"

#include <string.h>

int numbered_names(struct strtab *t, const char *text, uint32_t *word, uint32_t *mark)
{
    const char *end = text + strlen(text), *number = end;
    struct buf unit = {0};
    size_t n;

    while (number > text && number[-1] >= '0' && number[-1] <= '9')
        number--;
    if (number == end || number - text < 2 || !strchr(" _#:", number[-1]))
        return 0;
    n = (size_t)(number - text) - 1;
    *word = strtab_addn(t, text, n);
    buf_addf(&unit, "%.*s %s", (int)n, text, number);
    *mark = strtab_add(t, buf_str(&unit));
    buf_release(&unit);
    return 1;
}

void numbered_push(struct store *s, const struct event *span, uint32_t mark)
{
    struct event ev = *span;

    ev.kind = EVENT_MARKER;
    ev.value = 1;
    ev.attr = 0;
    ev.metric = mark;
    *vec_push(&s->events) = ev;
}
