/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/metrics_cache.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The kernel's own names of cache events, which each PMU's driver maps to what its CPU has. */
static const char *const usual[METRICS_EVENTS] = {
    [METRICS_CYCLES] = "cycles",
    [METRICS_INSTRUCTIONS] = "instructions",
    [METRICS_L1I] = "PERF_COUNT_HW_CACHE_L1I:READ:MISS",
    [METRICS_LLC] = "PERF_COUNT_HW_CACHE_LL:READ:MISS",
    [METRICS_LLC_READS] = "PERF_COUNT_HW_CACHE_LL:READ:ACCESS",
};

/* Of a thread; of a tree. */
static const enum metric_id ids[2][METRICS_EVENTS] = {
    {
        [METRICS_CYCLES] = METRIC_ID_CYCLES,
        [METRICS_INSTRUCTIONS] = METRIC_ID_INSTRUCTIONS,
        [METRICS_L1I] = METRIC_ID_L1I_MISSES,
        [METRICS_LLC] = METRIC_ID_LLC_MISSES,
        [METRICS_LLC_READS] = METRIC_ID_LLC_READS,
    },
    {
        [METRICS_CYCLES] = METRIC_ID_TREE_CYCLES,
        [METRICS_INSTRUCTIONS] = METRIC_ID_TREE_INSTRUCTIONS,
        [METRICS_L1I] = METRIC_ID_TREE_L1I_MISSES,
        [METRICS_LLC] = METRIC_ID_TREE_LLC_MISSES,
        [METRICS_LLC_READS] = METRIC_ID_TREE_LLC_READS,
    },
};

void metrics_cache_init(struct metrics_cache *c, const char *const *names)
{
    *c = (struct metrics_cache){0};
    for (int i = 0; i < METRICS_EVENTS; i++) {
        int fd = -1;

        errno = ENOENT;
        if (!pfm_encode(names ? names[i] : usual[i], &c->events[i], NULL))
            fd = perf_count_open(&c->events[i], 0, 0);
        c->there[i] = fd >= 0;
        c->count += fd >= 0;
        if (fd >= 0)
            close(fd);
        else
            c->errnum = errno;
    }
}

const char *metrics_cache_why(const struct metrics_cache *c, char *text, size_t n)
{
    int no_pmu = c->errnum == ENOENT || c->errnum == EOPNOTSUPP || c->errnum == ENODEV;
    const char *why = no_pmu ? "no PMU" : strerror(c->errnum);
    size_t len;

    *text = '\0';
    if (!c->count) {
        snprintf(text, n, "%s (cache misses, IPC)", why);
        return text;
    }
    for (int i = 0; i < METRICS_EVENTS; i++) {
        len = strlen(text);
        if (!c->there[i])
            snprintf(text + len, n - len, "%s%s (%s)", len ? ", " : "", metrics_get(ids[0][i])->title,
                     no_pmu ? "the PMU has none" : why);
    }
    return text;
}

size_t metrics_counts_open(struct metrics_cache *c, struct metrics_counts *x, pid_t tid, int inherit)
{
    size_t n = 0;

    *x = (struct metrics_counts){0};
    for (int i = 0; i < METRICS_EVENTS; i++) {
        x->fds[i] = c->there[i] ? perf_count_open(&c->events[i], tid, inherit) : -1;
        n += x->fds[i] >= 0;
    }
    c->refused += c->count && !n;
    return n;
}

size_t metrics_counts_close(struct metrics_counts *x)
{
    size_t n = 0;

    for (int i = 0; i < METRICS_EVENTS; i++) {
        if (x->fds[i] < 0)
            continue;
        close(x->fds[i]);
        x->fds[i] = -1;
        n++;
    }
    return n;
}

void metrics_counted_begin(struct metrics_counted *d, uint64_t ts)
{
    *d = (struct metrics_counted){.ts = ts};
    for (int i = 0; i < METRICS_EVENTS; i++)
        metrics_begin(&d->series[i], ts, 0);
}

void metrics_counts_add(struct metrics_cache *c, struct metrics_counts *x, struct metrics_counted *d)
{
    for (int i = 0; i < METRICS_EVENTS; i++) {
        struct perf_count now;
        uint64_t n;

        if (x->fds[i] < 0 || perf_count_read(x->fds[i], &now))
            continue;
        if (perf_count_grown(&x->last[i], &now, &n)) {
            c->untold++;
            continue;
        }
        x->last[i] = now;
        d->grown[i] += n;
        d->known[i] = 1;
    }
}

void metrics_counted_put(struct metrics_counted *d, struct metrics_out *out, int tree, uint32_t task,
                         uint64_t ts)
{
    enum metric_id ipc = tree ? METRIC_ID_TREE_IPC : METRIC_ID_IPC;

    if (d->known[METRICS_CYCLES] && d->known[METRICS_INSTRUCTIONS] && d->grown[METRICS_CYCLES])
        metrics_level(out, &d->ipc, (struct metrics_key){ipc, task, 0}, d->ts,
                      (uint64_t)((double)d->grown[METRICS_INSTRUCTIONS] / (double)d->grown[METRICS_CYCLES] *
                                 METRIC_MILLION));
    for (int i = 0; i < METRICS_EVENTS; i++) {
        if (!d->known[i])
            continue;
        d->sums[i] += d->grown[i];
        metrics_count(out, &d->series[i], (struct metrics_key){ids[tree][i], task, 0}, ts, d->sums[i]);
        d->grown[i] = 0;
        d->known[i] = 0;
    }
    d->ts = ts;
}

void metrics_counted_end(struct metrics_counted *d, struct metrics_out *out, int tree, uint32_t task)
{
    for (int i = 0; i < METRICS_EVENTS; i++)
        if (d->sums[i])
            metrics_end(out, &d->series[i], (struct metrics_key){ids[tree][i], task, 0});
}
