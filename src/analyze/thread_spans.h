/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of threads, in the order in which they nest. */
#ifndef WPROF_ANALYZE_THREAD_SPANS_H
#define WPROF_ANALYZE_THREAD_SPANS_H

#include "base/vec.h"
#include "model/event.h"

struct thread_span {
    uint64_t start, end;
    uint32_t task, event; /* event: its index in the store */
};

typedef VEC(struct thread_span) thread_spans;

void thread_spans_add(thread_spans *list, const struct event *ev, size_t index);

/* Thread by thread, by start; of those that begin at once the longer, which has the others in it, first. */
void thread_spans_sort(thread_spans *list);

#endif
