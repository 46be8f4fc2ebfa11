/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/fold_spans.h"

#include "analyze/thread_spans.h"
#include "base/mem.h"

int fold_spans_counts(const struct gpu_work *w)
{
    return w->op == GPU_OPERATOR;
}

static void collect(thread_spans *list, const struct store *s)
{
    store_each(s, i, 1 << EVENT_GPU) {
        const struct event *ev = &s->events.a[i];
        const struct gpu_work *w = gpu_works_get(&s->gpus, ev->attr);

        if (ev->task && ev->dur && w && fold_spans_counts(w))
            thread_spans_add(list, ev, i);
    }
    thread_spans_sort(list);
}

uint64_t *fold_spans_self(const struct store *s)
{
    uint64_t *self = mem_calloc(s->events.n + 1, sizeof(*self));
    thread_spans list = {0}, open = {0};

    collect(&list, s);
    for (size_t i = 0; i < list.n; i++) {
        const struct thread_span *x = &list.a[i];

        while (open.n && (open.a[open.n - 1].task != x->task || open.a[open.n - 1].end <= x->start))
            open.n--;
        if (open.n) {
            const struct thread_span *around = &open.a[open.n - 1];
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
