/* SPDX-License-Identifier: Apache-2.0 */
#include "model/timeline.h"

#include "base/lower.h"

#include "model/frames.h"

static const char *const names[TIMELINE_STATES] = {
    [TIMELINE_RUNNING] = "running",
    [TIMELINE_RUNNABLE] = "runnable",
    [TIMELINE_PREEMPTED] = "preempted",
    [TIMELINE_WAITING + WAIT_UNKNOWN] = "waiting",
    [TIMELINE_WAITING + WAIT_SLEEP] = "sleep",
    [TIMELINE_WAITING + WAIT_DISK] = "disk",
    [TIMELINE_WAITING + WAIT_FUTEX] = "futex",
    [TIMELINE_WAITING + WAIT_POLL] = "poll",
    [TIMELINE_WAITING + WAIT_PIPE] = "pipe",
    [TIMELINE_WAITING + WAIT_SOCKET] = "socket",
    [TIMELINE_WAITING + WAIT_FAULT] = "page fault",
    [TIMELINE_WAITING + WAIT_LOCK] = "kernel lock",
    [TIMELINE_WAITING + WAIT_CHILD] = "child process",
    [TIMELINE_WAITING + WAIT_GIL] = "GIL",
    [TIMELINE_WAITING + WAIT_OTHER] = "other wait",
    [TIMELINE_MARK] = "mark",
    [TIMELINE_KERNEL] = "kernel",
    [TIMELINE_COMMUNICATION] = "communication",
    [TIMELINE_COPY] = "copy",
    [TIMELINE_CALL] = "call",
    [TIMELINE_SYNC] = "waiting for the GPU",
    [TIMELINE_OPERATOR] = "operator",
    [TIMELINE_OVERHEAD] = "overhead",
    [TIMELINE_IDLE + TIMELINE_IDLE_RAN] = "idle: host on CPU",
    [TIMELINE_IDLE + TIMELINE_IDLE_QUEUED] = "idle: host waits for a CPU",
    [TIMELINE_IDLE + TIMELINE_IDLE_BLOCKED] = "idle: host off CPU",
    [TIMELINE_IDLE + TIMELINE_IDLE_GIL] = "idle: host waits for the GIL",
    [TIMELINE_IDLE + TIMELINE_IDLE_CALLED] = "idle: host in a call",
    [TIMELINE_IDLE + TIMELINE_IDLE_UNSEEN] = "idle: host unseen",
    [TIMELINE_IDLE + TIMELINE_IDLE_LAUNCH] = "idle: launching",
    [TIMELINE_IDLE + TIMELINE_IDLE_IN_TIME] = "idle: asked in time",
};

void timeline_release(struct timeline *t)
{
    profile_release(&t->stacks);
    vec_release(&t->processes);
    vec_release(&t->tasks);
    vec_release(&t->lanes);
    vec_release(&t->spans);
    vec_release(&t->parts);
    vec_release(&t->ticks);
    vec_release(&t->points);
    vec_release(&t->works);
    *t = (struct timeline){0};
}

size_t timeline_parts(const struct timeline *t, uint32_t span, const struct timeline_part **parts)
{
    size_t low = lower_bound(t->parts, span, span), n = 0;

    *parts = t->parts.a + low;
    while (low + n < t->parts.n && t->parts.a[low + n].span == span)
        n++;
    return n;
}

const char *timeline_state_name(unsigned state)
{
    return state < TIMELINE_STATES ? names[state] : "?";
}

enum timeline_class timeline_class(unsigned state)
{
    if (state == TIMELINE_RUNNING ||
        (state >= TIMELINE_MARK && state < TIMELINE_IDLE && state != TIMELINE_SYNC))
        return TIMELINE_RUNS;
    return state < TIMELINE_WAITING ? TIMELINE_QUEUES : TIMELINE_WAITS;
}

struct metric_scale timeline_scale(const struct timeline_lane *lane)
{
    const struct metric *m = lane->metric ? metrics_get((enum metric_id)lane->metric) : NULL;

    return m ? metrics_scale(m->unit, m->kind == METRIC_COUNTER) : (struct metric_scale){1, ""};
}

void timeline_place(const struct timeline *t, uint32_t stack, struct buf *out)
{
    const struct profile *p = &t->stacks;
    uint32_t at = stack;

    if (!stack || stack >= p->nodes.n)
        return;
    while (at && (p->frames.a[p->nodes.a[at].frame].kind == FRAME_KERNEL ||
                  p->frames.a[p->nodes.a[at].frame].kind == FRAME_GIL))
        at = p->nodes.a[at].parent;
    profile_frame_label(p, p->nodes.a[at ? at : stack].frame, out);
}
