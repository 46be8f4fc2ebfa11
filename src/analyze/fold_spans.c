/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/fold_spans.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>

struct span {
    uint64_t start, end;
    uint32_t task, event;
};

typedef VEC(struct span) spans;

int fold_spans_counts(const struct gpu_work *w)
{
    return w->op == GPU_OPERATOR;
}

/* Thread by thread; of those that begin at once, the longer is outside. */
static int by_nesting(const void *pa, const void *pb)
{
    const struct span *a = pa, *b = pb;

    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

static void collect(spans *list, const struct store *s)
{
    store_each(s, i, 1 << EVENT_GPU) {
        const struct event *ev = &s->events.a[i];
        const struct gpu_work *w = gpu_works_get(&s->gpus, ev->attr);

        if (ev->task && ev->dur && w && fold_spans_counts(w))
            *vec_push(list) = (struct span){ev->ts, ev->ts + ev->dur, ev->task, (uint32_t)i};
    }
    if (list->n)
        qsort(list->a, list->n, sizeof(*list->a), by_nesting);
}

uint64_t *fold_spans_self(const struct store *s)
{
    uint64_t *self = mem_calloc(s->events.n + 1, sizeof(*self));
    spans list = {0}, open = {0};

    collect(&list, s);
    for (size_t i = 0; i < list.n; i++) {
        const struct span *x = &list.a[i];

        while (open.n && (open.a[open.n - 1].task != x->task || open.a[open.n - 1].end <= x->start))
            open.n--;
        if (open.n) {
            const struct span *around = &open.a[open.n - 1];
            uint64_t part = (x->end < around->end ? x->end : around->end) - x->start;

            self[around->event] -= part < self[around->event] ? part : self[around->event];
        }
        self[x->event] = x->end - x->start;
        *vec_push(&open) = *x;
    }
    vec_release(&list);
    vec_release(&open);
    return self;
}
