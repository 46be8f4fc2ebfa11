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
        int fd;

        if (!all && !contains(&theirs, cpus.list.a[i]))
            continue;
        fd = perf_open_sampler(&s->event, frequency, cpus.list.a[i], &s->period, e);

        if (fd < 0)
            rc = -1;
        else
            *vec_push(&s->fds) = fd;
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
    if (s->period)
        return run_ns / s->period;
    if (!perf_keeps_rate(&s->event))
        return 0;
    return (uint64_t)((double)run_ns * (double)s->frequency / 1e9);
}
