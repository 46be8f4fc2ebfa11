/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_ranges.h"

void gpu_ranges_add(struct gpu_ranges *r, uint64_t start, uint64_t end)
{
    struct gpu_range *last = r->list.n ? &r->list.a[r->list.n - 1] : NULL;

    if (end <= start)
        return;
    if (last && start >= last->start && start <= last->end)
        last->end = end > last->end ? end : last->end;
    else
        *vec_push(&r->list) = (struct gpu_range){start, end};
}

static int by_start(const void *pa, const void *pb)
{
    const struct gpu_range *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

void gpu_ranges_settle(struct gpu_ranges *r)
{
    size_t n = r->list.n;

    if (!n)
        return;
    qsort(r->list.a, n, sizeof(*r->list.a), by_start);
    r->list.n = 1;
    for (size_t i = 1; i < n; i++) {
        struct gpu_range next = r->list.a[i];

        gpu_ranges_add(r, next.start, next.end);
    }
}

void gpu_ranges_release(struct gpu_ranges *r)
{
    vec_release(&r->list);
}

uint64_t gpu_ranges_sum(const struct gpu_ranges *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->list.n; i++)
        sum += r->list.a[i].end - r->list.a[i].start;
    return sum;
}

uint64_t gpu_ranges_common(const struct gpu_ranges *a, const struct gpu_ranges *b)
{
    uint64_t sum = 0;

    for (size_t i = 0, k = 0; i < a->list.n && k < b->list.n;) {
        const struct gpu_range *x = &a->list.a[i], *y = &b->list.a[k];
        uint64_t start = x->start > y->start ? x->start : y->start, end = x->end < y->end ? x->end : y->end;

        sum += end > start ? end - start : 0;
        if (x->end < y->end)
            i++;
        else
            k++;
    }
    return sum;
}

uint64_t gpu_ranges_within(const struct gpu_ranges *r, struct gpu_range within)
{
    uint64_t sum = 0;

    for (size_t i = gpu_ranges_find(r, within.start); i < r->list.n && r->list.a[i].start < within.end; i++) {
        const struct gpu_range *x = &r->list.a[i];

        sum +=
            (x->end < within.end ? x->end : within.end) - (x->start > within.start ? x->start : within.start);
    }
    return sum;
}

void gpu_ranges_gaps(struct gpu_ranges *gaps, const struct gpu_ranges *of, struct gpu_range from)
{
    uint64_t at = from.start;

    for (size_t i = gpu_ranges_find(of, at); i < of->list.n && of->list.a[i].start < from.end; i++) {
        gpu_ranges_add(gaps, at, of->list.a[i].start);
        at = of->list.a[i].end;
    }
    gpu_ranges_add(gaps, at, from.end);
}

size_t gpu_ranges_find(const struct gpu_ranges *r, uint64_t ts)
{
    size_t low = 0, high = r->list.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->list.a[mid].end <= ts)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
