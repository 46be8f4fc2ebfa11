/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/heaviest.h"

#include <stdlib.h>
#include <string.h>

static int heavier(const void *pa, const void *pb)
{
    const struct heaviest_stack *a = pa, *b = pb;

    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->text < b->text ? -1 : a->text > b->text; /* folded text is sorted */
}

/* "a;b;c 12": the count is behind the last space. */
static void add_line(struct heaviest *h, const char *line, const char *end)
{
    const char *space = memrchr(line, ' ', (size_t)(end - line));

    if (space)
        *vec_push(&h->list) =
            (struct heaviest_stack){line, (size_t)(space - line), strtoull(space + 1, NULL, 10)};
}

void heaviest_stacks(struct heaviest *h, const struct profile *p, size_t metric)
{
    const char *at, *end;

    profile_folded(p, metric, &h->folded);
    for (at = buf_str(&h->folded); (end = strchr(at, '\n')); at = end + 1)
        add_line(h, at, end);
    if (h->list.n)
        qsort(h->list.a, h->list.n, sizeof(*h->list.a), heavier);
}

void heaviest_release(struct heaviest *h)
{
    vec_release(&h->list);
    buf_release(&h->folded);
}

int heaviest_text(const struct heaviest_stack *s, size_t max, struct buf *out)
{
    size_t head = max / 2, tail = s->len - max / 2;
    const char *cut;

    if (s->len <= max) {
        buf_add(out, s->text, s->len);
        return 0;
    }
    /* Whole frames, where one ends within the half; a single one that is longer ends with a character. */
    if ((cut = memrchr(s->text, ';', head)))
        head = (size_t)(cut - s->text);
    if ((cut = memchr(s->text + tail, ';', s->len - tail)))
        tail = (size_t)(cut - s->text) + 1;
    while (head && ((unsigned char)s->text[head] & 0xc0) == 0x80)
        head--;
    while (tail < s->len && ((unsigned char)s->text[tail] & 0xc0) == 0x80)
        tail++;
    buf_add(out, s->text, head);
    buf_addstr(out, ";[...];");
    buf_add(out, s->text + tail, s->len - tail);
    return 1;
}
