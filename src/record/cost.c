/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cost.h"

#include "platform/clock.h"
#include "record/targets.h"

static uint64_t sum_of(const pid_t *pids, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += targets_cpu_ns(pids[i]);
    return sum;
}

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

void cost_begin(struct cost *c, const struct store *s, const pid_t *pids, size_t n)
{
    c->own_start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    c->tables_start = store_counter(s, "own.tables_ns", 0);
    c->target_start = sum_of(pids, n);
    c->running = 1;
}

static void set_own(const struct cost *c, struct store *s, uint64_t own)
{
    store_set_counter(s, "own.cpu_ns",
                      less(own, less(store_counter(s, "own.tables_ns", 0), c->tables_start)) +
                          store_counter(s, "topology.looks_ns", 0)); /* another process of ours takes them */
}

void cost_now(const struct cost *c, struct store *s)
{
    if (c->running)
        set_own(c, s, less(clock_ns(CLOCK_PROCESS_CPUTIME_ID), c->own_start));
}

void cost_end(struct cost *c)
{
    c->own = less(clock_ns(CLOCK_PROCESS_CPUTIME_ID), c->own_start);
}

void cost_report(struct cost *c, struct store *s, const pid_t *pids, size_t n, const struct rusage *ended)
{
    uint64_t target = store_counter(s, "target.cpu_ns", 0), seen;
    struct rusage own;

    if (!c->running)
        return;
    c->running = 0;
    set_own(c, s, c->own);
    seen = ended ? timeval_ns(ended->ru_utime) + timeval_ns(ended->ru_stime) : sum_of(pids, n);
    seen = less(seen, c->target_start);
    if (seen > target) { /* a process's last slice, all there is of a short one, is in its accounts only when
                            it is gone */
        uint64_t expected = store_counter(s, "cpu.expected", 0);

        if (expected && target)
            store_set_counter(s, "cpu.expected",
                              (uint64_t)((double)expected * (double)seen / (double)target + 0.5));
        target = seen;
    }
    if (target)
        store_set_counter(s, "target.cpu_ns", target);
    if (!getrusage(RUSAGE_SELF, &own))
        store_set_counter(s, "own.rss_max", (uint64_t)own.ru_maxrss * 1024u);
}
