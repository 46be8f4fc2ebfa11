/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/unit_gpu.h"

#include "analyze/gpu_trace.h"

static uint32_t pid_of(const struct store *s, uint32_t task)
{
    return task && task <= s->tasks.list.n ? s->tasks.list.a[task - 1].pid : 0;
}

static void add_device(struct unit_gpu *g, const struct gpu_trace *x, const struct gpu_device *d)
{
    struct unit_gpu_device *out = vec_push(&g->devices);

    *out = (struct unit_gpu_device){0};
    for (uint32_t i = d->first; i < d->first + d->n; i++) {
        const struct event *ran = gpu_event(x, &x->ran.a[i]), *call = gpu_launch(x, &x->ran.a[i]);

        gpu_ranges_add(&out->busy, ran->ts, ran->ts + ran->dur);
        if (call && !out->pid)
            out->pid = pid_of(g->s, call->task);
    }
    for (size_t i = 0; i < d->unseen.list.n; i++)
        gpu_ranges_add(&out->busy, d->unseen.list.a[i].start, d->unseen.list.a[i].end);
    gpu_ranges_settle(&out->busy);
}

void unit_gpu_init(struct unit_gpu *g, const struct session *s)
{
    struct gpu_trace x;

    *g = (struct unit_gpu){.s = &s->store};
    gpu_trace_init(&x, s);
    for (size_t i = 0; i < x.devices.n; i++)
        add_device(g, &x, &x.devices.a[i]);
    gpu_trace_release(&x);
}

void unit_gpu_release(struct unit_gpu *g)
{
    for (size_t i = 0; i < g->devices.n; i++)
        gpu_ranges_release(&g->devices.a[i].busy);
    vec_release(&g->devices);
}

uint64_t unit_gpu_idle(const struct unit_gpu *g, const struct unit *x)
{
    uint64_t own = 0, all = 0, busy_own = 0, busy_all = 0;

    for (size_t i = 0; i < g->devices.n; i++) {
        const struct unit_gpu_device *d = &g->devices.a[i];
        uint64_t busy = gpu_ranges_within(&d->busy, (struct gpu_range){x->start, x->end});
        int is_own = d->pid && d->pid == pid_of(g->s, x->task);

        all++;
        busy_all += busy;
        own += is_own;
        busy_own += is_own ? busy : 0;
    }
    if (!all)
        return 0;
    return x->end - x->start - (own ? busy_own / own : busy_all / all);
}
