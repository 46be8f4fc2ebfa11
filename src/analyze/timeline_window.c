/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline_window.h"

#include "model/store_log.h"

#include <string.h>

static int ran_on_gpu(const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&s->gpus, ev->attr) : NULL;

    return w && gpu_on_device(w);
}

static uint64_t since(const struct meta *m, uint64_t ts)
{
    return ts > m->start_mono ? ts - m->start_mono : 0;
}

int timeline_window_init(struct timeline_window *w, const struct store *s, const struct meta *m, size_t most)
{
    struct session *v = &w->view;
    size_t first = 0;
    int ran = 0;

    *w = (struct timeline_window){.view = {.store = *s, .meta = *m}};
    v->store.events.a = NULL;
    v->store.events.n = v->store.events.cap = 0;
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind == EVENT_GPU || ev->kind == EVENT_MARKER)
            *vec_push(&v->store.events) = *ev;
        ran |= ran_on_gpu(s, ev);
    }
    w->all = v->store.events.n;
    store_events_sort(v->store.events.a, w->all, 1);
    if (most && w->all > most) {
        first = (w->all - most) / 2;
        memmove(v->store.events.a, v->store.events.a + first, most * sizeof(*v->store.events.a));
        v->store.events.n = most;
    }
    if (v->store.events.n) {
        w->from = since(m, v->store.events.a[0].ts);
        w->to = since(m, v->store.events.a[v->store.events.n - 1].ts);
    }
    return ran;
}

void timeline_window_release(struct timeline_window *w)
{
    vec_release(&w->view.store.events);
}
