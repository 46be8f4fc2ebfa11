/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_clock.h"

void gpu_clock_release(struct gpu_clock *c)
{
    vec_release(&c->pairs);
}

void gpu_clock_add(struct gpu_clock *c, uint64_t theirs, uint64_t ours, uint64_t width)
{
    const struct gpu_clock_pair *last = c->pairs.n ? &c->pairs.a[c->pairs.n - 1] : NULL;

    if (last && (theirs <= last->theirs || ours <= last->ours))
        return;
    *vec_push(&c->pairs) = (struct gpu_clock_pair){theirs, ours};
    if (width > c->widest)
        c->widest = width;
}

uint64_t gpu_clock_ours(const struct gpu_clock *c, uint64_t theirs)
{
    size_t lo = 0, hi = c->pairs.n;
    const struct gpu_clock_pair *p;

    if (!c->pairs.n)
        return 0;
    while (lo < hi) { /* most are between the last two */
        size_t mid = hi == c->pairs.n && hi > 2 && lo < hi - 2 ? hi - 2 : lo + (hi - lo) / 2;

        if (c->pairs.a[mid].theirs <= theirs)
            lo = mid + 1;
        else
            hi = mid;
    }
    p = &c->pairs.a[lo ? lo - 1 : 0];
    if (!lo || lo == c->pairs.n)
        return p->ours + (theirs - p->theirs);
    return p->ours + (uint64_t)((unsigned __int128)(theirs - p->theirs) * (p[1].ours - p->ours) /
                                (p[1].theirs - p->theirs));
}
