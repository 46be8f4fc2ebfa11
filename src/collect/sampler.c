/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampler.h"

#include "platform/perf_event.h"
#include "platform/procfs.h"

#include <unistd.h>

static int contains(const struct cpu_list *l, uint32_t cpu)
{
    for (size_t i = 0; i < l->list.n; i++)
        if (l->list.a[i] == cpu)
            return 1;
    return 0;
}

/* The CPUs of all targets' cpusets together. -1: they can't be told. */
static int targets_cpus(const pid_t *targets, size_t n, struct cpu_list *out)
{
    struct buf text = {0};
    int rc = n ? 0 : -1;

    for (size_t i = 0; !rc && i < n; i++) {
        buf_clear(&text);
        rc = procfs_cpuset(targets[i], &text) || perf_parse_cpus(buf_str(&text), out) ? -1 : 0;
    }
    buf_release(&text);
    return rc || !out->list.n ? -1 : 0;
}

/* A quarter of the rate each, more or less: the sum is 1. */
static const double clock_shares[] = {0.2213, 0.2419, 0.2591, 0.2777};

static int open_one(struct sampler *s, double hz, uint32_t cpu, uint64_t *period, struct err *e)
{
    int fd = perf_open_sampler(&s->event, hz, cpu, period, e);

    if (fd < 0)
        return -1;
    *vec_push(&s->fds) = fd;
    return 0;
}

static int open_on(struct sampler *s, uint32_t cpu, struct err *e)
{
    uint64_t period;

    if (!s->event.time)
        return open_one(s, (double)s->frequency, cpu, &period, e);
    s->per_ns = 0;
    for (size_t i = 0; i < ARRAY_SIZE(clock_shares); i++) {
        if (open_one(s, (double)s->frequency * clock_shares[i], cpu, &period, e))
            return -1;
        s->per_ns += 1 / (double)period;
    }
    return 0;
}

int sampler_open(struct sampler *s, const char *event, uint64_t frequency, const pid_t *targets, size_t n,
                 struct err *e)
{
    struct cpu_list cpus = {0}, theirs = {0};
    int rc, all;

    *s = (struct sampler){.frequency = frequency};
    if (!event)
        pfm_default_event(&s->event, s->why, sizeof(s->why));
    else if (pfm_encode(event, &s->event, e) < 0)
        return -1;
    rc = perf_cpus_online(&cpus, e);
    all = targets_cpus(targets, n, &theirs) < 0;
    for (size_t i = 0; !rc && i < cpus.list.n; i++) {
        if (all || contains(&theirs, cpus.list.a[i]))
            rc = open_on(s, cpus.list.a[i], e);
    }
    vec_release(&theirs.list);
    vec_release(&cpus.list);
    return rc;
}

void sampler_close(struct sampler *s)
{
    for (size_t i = 0; i < s->fds.n; i++)
        close(s->fds.a[i]);
    vec_release(&s->fds);
}

uint64_t sampler_expected(const struct sampler *s, uint64_t run_ns)
{
    if (s->per_ns > 0)
        return (uint64_t)((double)run_ns * s->per_ns + 0.5);
    if (!perf_keeps_rate(&s->event))
        return 0;
    return (uint64_t)((double)run_ns * (double)s->frequency / 1e9);
}
