/* SPDX-License-Identifier: Apache-2.0 */
#include "model/numbered.h"

#include "base/buf.h"

#include <string.h>

int numbered_is_usual(const char *word, size_t n)
{
    static const char *const usual[] = {"step", "request", "iteration", "iter", "batch"};

    for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
        if (strlen(usual[i]) == n && !memcmp(word, usual[i], n))
            return 1;
    return 0;
}

/* Without anything between, "conv2" or "fp16" are names, too. */
static size_t word_of(const char *text, size_t before)
{
    if (before > 1 && strchr(" _#:", text[before - 1]))
        return before - 1;
    return numbered_is_usual(text, before) ? before : 0;
}

int numbered_names(struct strtab *t, const char *text, uint32_t *word, uint32_t *mark)
{
    const char *end = text + strlen(text), *number = end;
    struct buf unit = {0};
    size_t n;

    while (number > text && number[-1] >= '0' && number[-1] <= '9')
        number--;
    n = number < end ? word_of(text, (size_t)(number - text)) : 0;
    if (!n)
        return 0;
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
