/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_slots.h"

#include "analyze/gpu_unseen.h"

static int by_start(const struct gpu_slot *a, const struct gpu_slot *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->run < b->run ? -1 : a->run > b->run;
}

static struct gpu_slot slot_of(const struct gpu_trace *t, uint32_t run)
{
    const struct event *ev = gpu_event(t, &t->ran.a[run]);

    return (struct gpu_slot){ev->ts, ev->ts + ev->dur, run};
}

/* What of a stream is still to come; its slots are in order. */
struct head {
    struct gpu_slot next;
    uint32_t end; /* of `ran` */
};

/* The heap's first comes to where it belongs. */
static void sift(struct head *h, size_t n, size_t i)
{
    struct head x = h[i];

    for (size_t k = 2 * i + 1; k < n; i = k, k = 2 * i + 1) {
        if (k + 1 < n && by_start(&h[k + 1].next, &h[k].next) < 0)
            k++;
        if (by_start(&x.next, &h[k].next) <= 0)
            break;
        h[i] = h[k];
    }
    h[i] = x;
}

/* The streams that ran[first .. first + n) is of. Owned by the caller. */
static struct head *heads(const struct gpu_trace *t, uint32_t first, uint32_t n, size_t *count)
{
    struct head *h = mem_alloc(t->streams.n * sizeof(*h));

    *count = 0;
    for (size_t i = 0; i < t->streams.n; i++) {
        const struct gpu_stream *x = &t->streams.a[i];
        uint32_t from = x->first > first ? x->first : first,
                 to = x->first + x->n < first + n ? x->first + x->n : first + n;

        if (from < to)
            h[(*count)++] = (struct head){slot_of(t, from), to};
    }
    for (size_t i = *count / 2; i-- > 0;)
        sift(h, *count, i);
    return h;
}

struct gpu_slot *gpu_slots(const struct gpu_trace *t, uint32_t first, uint32_t n)
{
    struct gpu_slot *a = mem_alloc(n * sizeof(*a));
    size_t open;
    struct head *h = heads(t, first, n, &open);

    for (uint32_t i = 0; i < n; i++) {
        a[i] = h[0].next;
        if (a[i].run + 1 < h[0].end)
            h[0].next = slot_of(t, a[i].run + 1);
        else
            h[0] = h[--open];
        sift(h, open, 0);
    }
    free(h);
    return a;
}

static enum gpu_idle cause(const struct gpu_trace *t, const struct gpu_slot *next, const struct gpu_gap *gap)
{
    const struct event *call = gpu_launch(t, &t->ran.a[next->run]);

    if (call && call->ts > gap->start)
        return GPU_IDLE_HOST;
    return gap->end - gap->start < GPU_KERNEL_WAIT_NS ? GPU_IDLE_KERNEL : GPU_IDLE_OTHER;
}

static const struct gpu_device *device_of(const struct gpu_trace *t, uint32_t run)
{
    size_t i = 0;

    while (i + 1 < t->devices.n && t->devices.a[i + 1].first <= run)
        i++;
    return &t->devices.a[i];
}

int gpu_gap_next(const struct gpu_trace *t, const struct gpu_slot *a, uint32_t n, uint32_t *at,
                 uint64_t *busy_to, struct gpu_gap *gap)
{
    const struct gpu_device *d = n ? device_of(t, a[0].run) : NULL;

    for (; *at < n; (*at)++) {
        const struct gpu_slot *x = &a[*at];
        uint64_t before = *busy_to;

        *busy_to = x->end > before ? x->end : before;
        if (!*at || x->start <= before)
            continue;
        before = gpu_unseen_until(d, before, x->start);
        if (before == x->start)
            continue;
        *gap = (struct gpu_gap){before, x->start, *at, GPU_IDLE_OTHER};
        gap->why = cause(t, x, gap);
        (*at)++;
        return 1;
    }
    return 0;
}
