/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/held.h"

#include "base/mem.h"

#include <string.h>

static int is_metric(const struct fold_opts *fold, const char *name)
{
    return !strcmp(fold->metric ? fold->metric : "oncpu", name);
}

static int any(const struct session *s, unsigned kinds, unsigned flags)
{
    store_each(&s->store, i, kinds)
        if ((s->store.events.a[i].flags & flags) == flags)
            return 1;
    return 0;
}

static int only_gil(struct fold_opts *fold, struct session *s, struct err *e)
{
    if (is_metric(fold, "gil"))
        return err_set(e, "who waits for the GIL does not hold it: --gil is for the other metrics");
    if (!any(s, ~0u, EVENT_GIL_READ))
        return err_set(
            e,
            "nothing in %s tells who held the GIL: no Python with one ran, or it was not recorded by wprof",
            s->path);
    fold->gil = 1;
    *vec_push(&s->meta.notes) = mem_strdup("only what threads did while they held the GIL");
    return 0;
}

static int also_idle(struct fold_opts *fold, struct session *s, struct err *e)
{
    if (!is_metric(fold, "oncpu"))
        return err_set(
            e, "--idle adds samples of threads off the CPU to those on it: it is for the metric oncpu");
    if (!s->meta.frequency || !any(s, 1 << EVENT_OFFCPU | 1 << EVENT_RUNQ, 0))
        return err_set(e, "no time off the CPU is in %s (record it with the collector offcpu)", s->path);
    fold->idle_ns = 1000000000u / s->meta.frequency;
    *vec_push(&s->meta.notes) = mem_printf("threads off the CPU are counted too, a sample for each %.3g ms",
                                           (double)fold->idle_ns / 1e6);
    return 0;
}

int held_apply(struct fold_opts *fold, struct session *s, int gil, int idle, struct err *e)
{
    if (gil && only_gil(fold, s, e))
        return -1;
    return idle ? also_idle(fold, s, e) : 0;
}
