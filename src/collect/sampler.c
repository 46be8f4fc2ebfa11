/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/sampler.h"

#include "platform/perf_event.h"

#include <unistd.h>

int sampler_open(struct sampler *s, const char *event, uint64_t frequency, struct err *e)
{
    struct cpu_list cpus = {0};
    int rc;

    *s = (struct sampler){.frequency = frequency};
    if (!event)
        pfm_default_event(&s->event, s->why, sizeof(s->why));
    else if (pfm_encode(event, &s->event, e) < 0)
        return -1;
    rc = perf_cpus_online(&cpus, e);
    for (size_t i = 0; !rc && i < cpus.list.n; i++) {
        int fd = perf_open_sampler(&s->event, frequency, cpus.list.a[i], &s->period, e);

        if (fd < 0)
            rc = -1;
        else
            *vec_push(&s->fds) = fd;
    }
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
