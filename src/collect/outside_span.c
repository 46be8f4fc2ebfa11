/* SPDX-License-Identifier: Apache-2.0 */
/* Times off the CPU, of tiers B and C. */
#include "collect/outside.h"

uint32_t outside_marker(struct outside *o, enum outside_marker m)
{
    static const char *const texts[] = {
        [OUTSIDE_SHORT_WAITS] = "[short waits]",   [OUTSIDE_SHORT_DELAYS] = "[short delays]",
        [OUTSIDE_NOT_LOOKED] = "[not seen]",       [OUTSIDE_NATIVE] = "[native, not seen]",
        [OUTSIDE_BETWEEN] = "[ran between looks]", [OUTSIDE_BRIEF] = "[ran for less than a period]",
        [OUTSIDE_INFERRED] = "[inferred]",
    };

    if (!o->markers[m])
        o->markers[m] = stacks_push(&o->ctx->store->stacks, 0, intern_marker(&o->taker.intern, texts[m]));
    return o->markers[m];
}

/* A span is a part of a wait for the GIL, or the end of one; so is what wasn't looked at, for all that is
 * known.
 */
static void note_gil(struct outside *o, struct outside_thread *t, const struct event *ev, uint64_t queued,
                     const struct outside_spot *spot)
{
    struct gil_part part = {.ts = ev->ts,
                            .end = ev->ts + ev->dur + queued,
                            .task = ev->task,
                            .stack = ev->stack,
                            .flags = ev->flags,
                            .walked = 1,
                            .open = (ev->flags & EVENT_OPEN) != 0};

    if (!spot || !spot->stack || !spot->at_gil) {
        gils_other(&o->gils, &t->task, ev);
        return;
    }
    part.gil = spot->gil;
    gils_part(&o->gils, &t->task, &part);
}

static void add_span(struct outside *o, struct outside_thread *t, uint16_t kind, uint64_t ts, uint64_t dur,
                     uint64_t queued, const struct outside_spot *spot, uint16_t flags)
{
    int delay = kind == EVENT_RUNQ;
    struct event ev = {.ts = ts, .dur = dur, .value = 1, .kind = kind, .flags = flags};

    if (!o->off || !dur)
        return;
    if (dur < o->ctx->min_block) {
        if (!t->short_n[0] && !t->short_n[1])
            t->short_since = o->ctx->ring ? ts : o->ctx->start_mono;
        t->short_ns[delay] += dur;
        t->short_n[delay]++;
        return;
    }
    ev.task = who_task(&o->who, &t->task, ts);
    if (spot && spot->stack) {
        ev.stack = spot->stack;
        ev.flags |= spot->flags;
    } else {
        ev.stack = outside_marker(o, OUTSIDE_NOT_LOOKED);
        o->stats.not_looked += !delay;
    }
    if (!delay) {
        struct wait none = {0};

        ev.attr = spot && spot->stack ? spot->wait : waits_add(&o->ctx->store->waits, &none);
    }
    *vec_push(&o->ctx->store->events) = ev;
    if (!delay)
        note_gil(o, t, &ev, queued, spot);
}

void outside_span(struct outside *o, struct outside_thread *t, uint16_t kind, uint64_t ts, uint64_t dur,
                  const struct outside_spot *spot, uint16_t flags)
{
    add_span(o, t, kind, ts, dur, 0, spot, flags);
}

void outside_wait(struct outside *o, struct outside_thread *t, uint64_t ts, uint64_t dur, uint64_t queued,
                  const struct outside_spot *spot)
{
    add_span(o, t, EVENT_OFFCPU, ts, dur, queued, spot, 0);
    add_span(o, t, EVENT_RUNQ, ts + dur, queued, 0, NULL, 0);
}

void outside_spans_end(struct outside *o, struct outside_thread *t, uint64_t ts)
{
    for (int delay = 0; delay < 2; delay++) {
        struct wait none = {0};

        if (!t->short_n[delay] || !o->off)
            continue;
        *vec_push(&o->ctx->store->events) =
            (struct event){.ts = t->short_since,
                           .dur = t->short_ns[delay],
                           .value = t->short_n[delay],
                           .task = who_task(&o->who, &t->task, ts),
                           .stack = outside_marker(o, delay ? OUTSIDE_SHORT_DELAYS : OUTSIDE_SHORT_WAITS),
                           .attr = delay ? 0 : waits_add(&o->ctx->store->waits, &none),
                           .flags = EVENT_SHORT,
                           .kind = delay ? EVENT_RUNQ : EVENT_OFFCPU};
        t->short_n[delay] = 0;
        t->short_ns[delay] = 0;
    }
}
