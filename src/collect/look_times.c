/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/look_times.h"

void look_times_begin(struct look_times *t, uint64_t ts)
{
    *t = (struct look_times){.last = ts, .seen = ts, .ran_from = ts};
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

static uint64_t positive(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

/* The wait ended `after` ns after the look that found it. */
static void end_wait(struct look_times *t, uint64_t after, struct look_spans *out)
{
    out->wait_ts = t->begin;
    out->wait_ns = t->found + after - t->begin;
    t->left -= (int64_t)after;
    t->found = t->over = 0;
}

/*
 * It waits again: of what is left, how much was the earlier wait? It went on till the last look, or was in
 * the run queue by then; or it was over by a look in between. At least what the new one can't have been, at
 * most all: the middle, so that neither has more than its due in the long run.
 */
static void end_by_next(struct look_times *t, uint64_t ts, uint64_t delay, struct look_spans *out)
{
    int64_t left = (int64_t)positive(t->left), most = left, least;

    if (t->over) {
        most = clamp((int64_t)t->most, 0, left);
        least = left - (int64_t)(ts - t->seen);
    } else {
        least = (int64_t)(t->seen - t->found) - (int64_t)delay;
        if (least < left - (int64_t)(ts - t->seen))
            least = left - (int64_t)(ts - t->seen);
    }
    least = clamp(least, 0, most);
    end_wait(t, (uint64_t)(least + (most - least) / 2), out);
}

/* It is runnable, and has been on a CPU since the wait: what is left may hold new time in the run queue,
 * which the next looks will show. */
static void not_waiting(struct look_times *t, uint64_t ts, uint64_t run, struct look_spans *out)
{
    uint64_t left = positive(t->left);

    if (left > ts - t->found)
        left = ts - t->found;
    if (!t->over) {
        t->over = ts;
        t->most = left;
        return;
    }
    if (left < t->most)
        t->most = left;
    if (run)
        end_wait(t, t->most, out);
}

static void unseen(struct look_times *t, uint64_t ns, struct look_spans *out)
{
    out->unseen_ns = ns;
    out->unseen_ts = t->seen > ns ? t->seen - ns : 0;
    t->left -= (int64_t)ns;
}

/* The wait that is under way began since the last look. */
static void begin_wait(struct look_times *t, uint64_t ts, struct look_spans *out)
{
    uint64_t left = positive(t->left), ns = left < ts - t->seen ? left : ts - t->seen;

    if (left > ns)
        unseen(t, left - ns, out);
    t->left -= (int64_t)ns;
    t->found = ts;
    t->begin = ts - ns;
}

void look_times_add(struct look_times *t, uint64_t ts, const struct look_figures *f, struct look_spans *out)
{
    *out = (struct look_spans){0};
    if (ts < t->seen) /* found after ts was read */
        ts = t->seen;
    t->left += (int64_t)(ts - t->last) - (int64_t)(f->run_ns + f->delay_ns);
    if (f->run_ns)
        t->ran_from = t->seen;
    if (t->found && f->blocked)
        end_by_next(t, ts, f->delay_ns, out);
    else if (t->found)
        not_waiting(t, ts, f->run_ns, out);
    if (f->blocked)
        begin_wait(t, ts, out);
    else if (!t->found && t->left > (int64_t)(ts - t->ran_from))
        unseen(t, (uint64_t)t->left - (ts - t->ran_from), out);
    t->last = t->seen = ts;
}

int look_times_waits(const struct look_times *t)
{
    return t->found && !t->over;
}

void look_times_same(struct look_times *t, uint64_t ts)
{
    t->seen = ts;
}

void look_times_end(struct look_times *t, uint64_t ts, int ended, struct look_spans *out)
{
    uint64_t after;

    *out = (struct look_spans){0};
    if (!t->found)
        return;
    ts = ts > t->seen ? ts : t->seen;
    if (t->over)
        after = t->most;
    else if (ended) /* it ran for a while in between: nobody knows when */
        after = t->seen - t->found + (ts - t->seen) / 2;
    else
        after = ts - t->found;
    end_wait(t, after, out);
}
