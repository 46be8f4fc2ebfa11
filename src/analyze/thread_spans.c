/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/thread_spans.h"

#include <stdlib.h>

void thread_spans_add(thread_spans *list, const struct event *ev, size_t index)
{
    *vec_push(list) = (struct thread_span){ev->ts, ev->ts + ev->dur, ev->task, (uint32_t)index};
}

static int by_nesting(const void *pa, const void *pb)
{
    const struct thread_span *a = pa, *b = pb;

    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

void thread_spans_sort(thread_spans *list)
{
    if (list->n)
        qsort(list->a, list->n, sizeof(*list->a), by_nesting);
}
