/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_figures.h"

#include "model/table.h"

#include <math.h>

typedef VEC(uint64_t) numbers;

static int by_value(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

    return a < b ? -1 : a > b;
}

static void sort(numbers *v)
{
    if (v->n)
        qsort(v->a, v->n, sizeof(*v->a), by_value);
}

static void count(struct gpu_figures *f, const struct gpu_work *w)
{
    f->kernels += w->op == GPU_KERNEL;
    f->copies += w->op == GPU_COPY;
    f->sets += w->op == GPU_SET;
    f->graphs += w->op == GPU_GRAPH;
}

static void add_busy(struct gpu_figures *f, const struct gpu_trace *t, const struct gpu_slot *a, uint32_t n)
{
    struct gpu_ranges all = {0}, of[GPU_CLASSES] = {{{0}}}, kernels = {0};

    for (uint32_t i = 0; i < n; i++) {
        const struct event *ev = gpu_event(t, &t->ran.a[a[i].run]);
        enum gpu_class class = gpu_class_of(t, ev);

        gpu_ranges_add(&all, a[i].start, a[i].end);
        gpu_ranges_add(&of[class], a[i].start, a[i].end);
        if (class != GPU_MOVE)
            gpu_ranges_add(&kernels, a[i].start, a[i].end);
        f->to = a[i].end > f->to ? a[i].end : f->to;
        count(f, gpu_work_of(t, ev));
    }
    f->from = n ? a[0].start : 0;
    f->span = f->to - f->from;
    f->busy = gpu_ranges_sum(&all);
    for (unsigned c = 0; c < GPU_CLASSES; c++)
        f->of[c] = gpu_ranges_sum(&of[c]);
    f->overlap = gpu_ranges_common(&of[GPU_COMMUNICATE], &of[GPU_COMPUTE]);
    f->exposed = f->of[GPU_COMMUNICATE] - f->overlap;
    f->hidden = gpu_ranges_common(&of[GPU_MOVE], &kernels);
    for (unsigned c = 0; c < GPU_CLASSES; c++)
        gpu_ranges_release(&of[c]);
    gpu_ranges_release(&all);
    gpu_ranges_release(&kernels);
}

static void add_gaps(struct gpu_figures *f, const struct gpu_trace *t, const struct gpu_slot *a, uint32_t n)
{
    uint64_t busy_to = 0;
    struct gpu_gap gap;

    for (uint32_t at = 0; gpu_gap_next(t, a, n, &at, &busy_to, &gap);) {
        uint64_t ns = gap.end - gap.start;

        f->idle += ns;
        f->idle_of[gap.why] += ns;
        f->longest_gap = ns > f->longest_gap ? ns : f->longest_gap;
        f->gaps++;
    }
    f->unseen = f->span - f->busy - f->idle;
}

static void add_latency(struct gpu_figures *f, const struct gpu_trace *t, uint32_t first, uint32_t n)
{
    numbers v = {0};

    for (uint32_t i = first; i < first + n; i++) {
        const struct event *ev = gpu_event(t, &t->ran.a[i]), *call = gpu_launch(t, &t->ran.a[i]);

        if (call)
            *vec_push(&v) = ev->ts > call->ts + call->dur ? ev->ts - call->ts - call->dur : 0;
    }
    sort(&v);
    f->launched = v.n;
    f->latency_median = v.n ? v.a[v.n / 2] : TABLE_NONE;
    f->latency_p95 = v.n ? v.a[v.n - 1 - v.n / 20] : TABLE_NONE;
    f->latency_max = v.n ? v.a[v.n - 1] : TABLE_NONE;
    vec_release(&v);
}

void gpu_figures(struct gpu_figures *f, const struct gpu_trace *t, uint32_t first, uint32_t n)
{
    struct gpu_slot *a = gpu_slots(t, first, n);

    *f = (struct gpu_figures){0};
    add_busy(f, t, a, n);
    add_gaps(f, t, a, n);
    add_latency(f, t, first, n);
    free(a);
}

void gpu_queue(struct gpu_queue *q, const struct gpu_trace *t, const struct gpu_stream *x)
{
    numbers asked = {0}, started = {0};
    uint64_t depth = 0;
    double sum = 0;

    for (uint32_t i = x->first; i < x->first + x->n; i++) {
        const struct event *ev = gpu_event(t, &t->ran.a[i]), *call = gpu_launch(t, &t->ran.a[i]);

        if (!call || ev->ts < call->ts)
            continue;
        *vec_push(&asked) = call->ts;
        *vec_push(&started) = ev->ts;
    }
    sort(&asked);
    sort(&started);
    *q = (struct gpu_queue){.mean = NAN};
    for (size_t i = 0, k = 0; k < started.n;) {
        uint64_t now;

        if (i < asked.n && asked.a[i] <= started.a[k]) {
            now = asked.a[i++];
            depth++;
        } else {
            now = started.a[k++];
            depth--;
        }
        q->most = depth > q->most ? depth : q->most;
        if (k < started.n) {
            uint64_t next = i < asked.n && asked.a[i] < started.a[k] ? asked.a[i] : started.a[k];

            sum += (double)depth * (double)(next - now);
        }
    }
    if (started.n && started.a[started.n - 1] > asked.a[0])
        q->mean = sum / (double)(started.a[started.n - 1] - asked.a[0]);
    vec_release(&asked);
    vec_release(&started);
}
