/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_slots.h"

static int by_start(const struct gpu_slot *a, const struct gpu_slot *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->run < b->run ? -1 : a->run > b->run;
}

/* From where on the order ends that a[from] begins. */
static uint32_t run_end(const struct gpu_slot *a, uint32_t n, uint32_t from)
{
    uint32_t i = from + 1;

    while (i < n && by_start(&a[i - 1], &a[i]) < 0)
        i++;
    return i < n ? i : n;
}

static void merge(struct gpu_slot *to, const struct gpu_slot *a, uint32_t from, uint32_t mid, uint32_t end)
{
    for (uint32_t i = from, k = mid, out = from; out < end; out++)
        to[out] = k == end || (i < mid && by_start(&a[i], &a[k]) < 0) ? a[i++] : a[k++];
}

/* Two neighbouring runs become one, again and again: streams are in order, and few. */
static struct gpu_slot *sort(struct gpu_slot *a, uint32_t n)
{
    struct gpu_slot *spare, *done;

    if (run_end(a, n, 0) >= n)
        return a;
    spare = mem_alloc(n * sizeof(*spare));
    while (run_end(a, n, 0) < n) {
        for (uint32_t from = 0, mid, end; from < n; from = end) {
            mid = run_end(a, n, from);
            end = mid < n ? run_end(a, n, mid) : n;
            merge(spare, a, from, mid, end);
        }
        done = spare;
        spare = a;
        a = done;
    }
    free(spare);
    return a;
}

struct gpu_slot *gpu_slots(const struct gpu_trace *t, uint32_t first, uint32_t n)
{
    struct gpu_slot *a = mem_alloc(n * sizeof(*a));

    for (uint32_t i = 0; i < n; i++) {
        const struct event *ev = gpu_event(t, &t->ran.a[first + i]);

        a[i] = (struct gpu_slot){ev->ts, ev->ts + ev->dur, first + i};
    }
    return sort(a, n);
}

static enum gpu_idle cause(const struct gpu_trace *t, const struct gpu_slot *next, const struct gpu_gap *gap)
{
    const struct event *call = gpu_launch(t, &t->ran.a[next->run]);

    if (call && call->ts > gap->start)
        return GPU_IDLE_HOST;
    return gap->end - gap->start < GPU_KERNEL_WAIT_NS ? GPU_IDLE_KERNEL : GPU_IDLE_OTHER;
}

int gpu_gap_next(const struct gpu_trace *t, const struct gpu_slot *a, uint32_t n, uint32_t *at,
                 uint64_t *busy_to, struct gpu_gap *gap)
{
    for (; *at < n; (*at)++) {
        const struct gpu_slot *x = &a[*at];
        uint64_t before = *busy_to;

        *busy_to = x->end > before ? x->end : before;
        if (!*at || x->start <= before)
            continue;
        *gap = (struct gpu_gap){before, x->start, *at, GPU_IDLE_OTHER};
        gap->why = cause(t, x, gap);
        (*at)++;
        return 1;
    }
    return 0;
}
