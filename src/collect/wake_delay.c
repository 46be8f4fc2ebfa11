/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/wake_delay.h"

#include "platform/clock.h"

static int read_run(struct outside_thread *t, struct proctask_run *now)
{
    if (t->run_fd < 0)
        t->run_fd = proctask_open((pid_t)t->task.tgid, (pid_t)t->task.tid, "schedstat");
    return t->run_fd < 0 ? -1 : proctask_run(t->run_fd, now);
}

void wake_delay_begin(struct outside_thread *t)
{
    struct proctask_run now;
    struct outside_delay *d = &t->delay;

    d->unknown = read_run(t, &now) != 0;
    d->settled = d->unknown ? 0 : now.delay_ns;
    d->left = 0;
}

void wake_delay_waited(struct outside_thread *t, uint64_t ts, uint64_t dur, const struct outside_spot *spot)
{
    *vec_push(&t->delay.ended) =
        (struct outside_ended){.ts = ts, .dur = dur, .spot = *spot, .gate = t->delay.gated};
    t->delay.gated = 0;
}

void wake_delay_queued(struct outside_thread *t, uint64_t dur)
{
    t->delay.left -= (int64_t)dur;
}

void wake_delay_unknown(struct outside_thread *t)
{
    t->delay.unknown = 1;
    t->delay.gated = 0;
}

uint64_t wake_delay_share(struct outside_ended *waits, size_t n, uint64_t ns)
{
    size_t open = 1;

    while (ns && open) {
        uint64_t each;

        open = 0;
        for (size_t i = 0; i < n; i++)
            open += waits[i].queued < waits[i].dur;
        each = open ? (ns + open - 1) / open : 0;
        for (size_t i = 0; i < n && ns; i++) {
            uint64_t room = waits[i].dur - waits[i].queued, part = room < each ? room : each;

            part = part < ns ? part : ns;
            waits[i].queued += part;
            ns -= part;
        }
    }
    return ns;
}

static void make_events(struct outside *o, struct outside_thread *t)
{
    for (size_t i = 0; i < t->delay.ended.n; i++) {
        const struct outside_ended *w = &t->delay.ended.a[i];

        if (!w->gate)
            outside_wait(o, t, w->ts, w->dur - w->queued, w->queued, &w->spot);
    }
    vec_clear(&t->delay.ended);
}

/* The file said `delay` when all waits so far had ended, and no others had. */
static void settle(struct outside *o, struct outside_thread *t, uint64_t delay)
{
    struct outside_delay *d = &t->delay;

    d->left += (int64_t)(delay - d->settled);
    d->settled = delay;
    if (d->unknown)
        d->left = 0; /* some of it was where no record tells */
    else if (d->left > 0)
        d->left = (int64_t)wake_delay_share(d->ended.a, d->ended.n, (uint64_t)d->left);
    d->unknown = 0;
    make_events(o, t);
}

void wake_delay_settle(struct outside *o, struct outside_thread *t, uint64_t ts)
{
    struct outside_delay *d = &t->delay;

    if (!d->read_ns || d->read_ns >= ts)
        return;
    settle(o, t, d->read);
    d->read_ns = 0;
}

void wake_delay_read(struct outside *o, struct outside_thread *t)
{
    struct outside_delay *d = &t->delay;
    struct proctask_run now;

    if (!d->ended.n || d->read_ns)
        return;
    if (read_run(t, &now)) {
        make_events(o, t);
        return;
    }
    d->read = now.delay_ns;
    d->read_ns = clock_monotonic();
}

void wake_delay_end(struct outside *o, struct outside_thread *t)
{
    struct proctask_run now;

    if (t->delay.ended.n && !read_run(t, &now))
        settle(o, t, now.delay_ns);
    make_events(o, t);
    t->delay.read_ns = 0;
}
