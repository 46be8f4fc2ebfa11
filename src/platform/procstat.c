/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/procstat.h"

#include "platform/sysfile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void procstat_release(struct procstat *s)
{
    vec_release(&s->cpus);
}

static uint64_t tick_ns(void)
{
    long hz = sysconf(_SC_CLK_TCK);

    return 1000000000ull / (uint64_t)(hz > 0 ? hz : 100);
}

/* user nice system idle iowait irq softirq steal guest guest_nice; user and nice hold the guests' time. */
static int parse_times(const char *text, struct procstat_cpu *out)
{
    unsigned long long t[8] = {0};
    uint64_t tick = tick_ns();

    if (sscanf(text, "%llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5],
               &t[6], &t[7]) < 4)
        return -1;
    out->user = (t[0] + t[1]) * tick;
    out->system = t[2] * tick;
    out->idle = t[3] * tick;
    out->iowait = t[4] * tick;
    out->irq = (t[5] + t[6]) * tick;
    out->steal = t[7] * tick;
    return 0;
}

static int parse_cpu_line(const char *line, struct procstat *out)
{
    struct procstat_cpu cpu = {0};
    char *end;

    if (line[3] == ' ')
        return parse_times(line + 3, &out->all);
    if (!isdigit((unsigned char)line[3]))
        return -1;
    cpu.cpu = (uint32_t)strtoul(line + 3, &end, 10);
    if (cpu.cpu > UINT16_MAX || parse_times(end, &cpu))
        return -1;
    *vec_push(&out->cpus) = cpu;
    return 0;
}

int procstat_parse(const char *text, struct procstat *out)
{
    int whole = 0;

    vec_clear(&out->cpus);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "cpu", 3))
            break; /* they come first */
        whole |= !parse_cpu_line(line, out);
    }
    if (sysfile_key(text, "ctxt", &out->switches) || sysfile_key(text, "procs_running", &out->running) ||
        sysfile_key(text, "procs_blocked", &out->blocked))
        return -1;
    return whole ? 0 : -1;
}

/* "kB" are KiB. */
static int kib(const char *text, const char *key, uint64_t *bytes)
{
    if (sysfile_key(text, key, bytes))
        return -1;
    *bytes *= 1024;
    return 0;
}

int procstat_parse_memory(const char *text, struct procstat_memory *out)
{
    *out = (struct procstat_memory){0};
    out->has_available = !kib(text, "MemAvailable:", &out->available);
    out->has_swap = !kib(text, "SwapTotal:", &out->swap_total) && !kib(text, "SwapFree:", &out->swap_free) &&
                    out->swap_free <= out->swap_total;
    return out->has_available || out->has_swap ? 0 : -1;
}

int procstat_parse_vm(const char *text, struct procstat_vm *out)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    if (sysfile_key(text, "pgfault", &out->faults) || sysfile_key(text, "pgmajfault", &out->major_faults) ||
        kib(text, "pgpgin", &out->paged_in) || kib(text, "pgpgout", &out->paged_out))
        return -1;
    out->swapped_in = out->swapped_out = 0;
    if (!sysfile_key(text, "pswpin", &out->swapped_in))
        out->swapped_in *= page;
    if (!sysfile_key(text, "pswpout", &out->swapped_out))
        out->swapped_out *= page;
    return 0;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", total in us. */
static int pressure_total(const char *text, const char *word, uint64_t *ns)
{
    const char *line = strstr(text, word), *at = line ? strstr(line, "total=") : NULL;

    if (!at || memchr(line, '\n', (size_t)(at - line)) || sysfile_number(at + 6, ns))
        return -1;
    *ns *= 1000;
    return 0;
}

int procstat_parse_pressure(const char *text, struct procstat_pressure *out)
{
    *out = (struct procstat_pressure){0};
    out->has_full = !pressure_total(text, "full ", &out->full_ns);
    return pressure_total(text, "some ", &out->some_ns);
}

int procstat_parse_delay(const char *text, uint64_t *ns)
{
    int some = 0;

    *ns = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        unsigned long long delay;

        line += *line == '\n';
        /* cpu<N>: six counts, then ns run, ns waited, timeslices (Documentation/scheduler/sched-stats.rst) */
        if (strncmp(line, "cpu", 3) || sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %*u %llu", &delay) != 1)
            continue;
        *ns += delay;
        some = 1;
    }
    return some ? 0 : -1;
}
