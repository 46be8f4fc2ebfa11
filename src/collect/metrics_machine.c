/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the whole machine: task 0. */
#include "collect/metrics.h"

#include <string.h>

/* Asking each of many CPUs for its clock rate interrupts it. */
enum { FEW_CPUS = 32 };
#define RATES_EVERY 10000000000ull

static void count(struct metrics *m, enum metric_id id, uint64_t value)
{
    metrics_count(&m->out, &m->machine.series[id], (struct metrics_key){.id = id}, m->ts, value);
}

static void level(struct metrics *m, enum metric_id id, uint64_t value)
{
    metrics_level(&m->out, &m->machine.series[id], (struct metrics_key){.id = id}, m->ts, value);
}

/* The series of a CPU, in a list by number. */
#define OF_CPU(list, cpu)                                                                                    \
    (__extension__({                                                                                         \
        while ((list)->n <= (cpu))                                                                           \
            *vec_push(list) = (struct metrics_series){0};                                                    \
        &(list)->a[cpu];                                                                                     \
    }))

static void look_at_cpus(struct metrics *m)
{
    struct metrics_machine *x = &m->machine;
    const struct procstat *s = &x->stat;

    if (metrics_read(m, "proc/stat", METRICS_NO_STAT))
        return;
    if (procstat_parse(m->text.data, &x->stat)) {
        m->missing[METRICS_NO_STAT]++;
        return;
    }
    count(m, METRIC_ID_CPU_USER, s->all.user);
    count(m, METRIC_ID_CPU_SYSTEM, s->all.system);
    count(m, METRIC_ID_CPU_IRQ, s->all.irq);
    count(m, METRIC_ID_CPU_IOWAIT, s->all.iowait);
    count(m, METRIC_ID_CPU_STEAL, s->all.steal);
    count(m, METRIC_ID_SWITCHES, s->switches);
    level(m, METRIC_ID_SCHED_RUNNING, s->running);
    level(m, METRIC_ID_SCHED_BLOCKED, s->blocked);
    for (size_t i = 0; i < s->cpus.n; i++) {
        const struct procstat_cpu *cpu = &s->cpus.a[i];
        struct metrics_key key = {METRIC_ID_SCHED_ONCPU, 0, (uint16_t)cpu->cpu};

        metrics_count(&m->out, OF_CPU(&x->oncpu, cpu->cpu), key, m->ts, cpu->user + cpu->system + cpu->irq);
    }
}

static void look_at_rates(struct metrics *m)
{
    struct metrics_machine *x = &m->machine;

    if (x->rates_ts && x->stat.cpus.n > FEW_CPUS && m->ts - x->rates_ts < RATES_EVERY)
        return;
    x->rates_ts = m->ts;
    if (!cpufreq_read(m->root, &x->rates))
        m->missing[METRICS_NO_FREQUENCY]++;
    for (size_t i = 0; i < x->rates.list.n; i++) {
        struct cpufreq_rate r = x->rates.list.a[i];
        struct metrics_key key = {METRIC_ID_CPU_FREQUENCY, 0, (uint16_t)r.cpu};

        metrics_level(&m->out, OF_CPU(&x->frequency, r.cpu), key, m->ts, r.hz);
    }
}

static void look_at_memory(struct metrics *m)
{
    struct procstat_memory mem;
    struct procstat_vm vm;

    if (metrics_read(m, "proc/meminfo", METRICS_NO_MEMORY) == 0) {
        if (procstat_parse_memory(m->text.data, &mem))
            m->missing[METRICS_NO_MEMORY]++;
        if (mem.has_available)
            level(m, METRIC_ID_MEMORY_AVAILABLE, mem.available);
        if (mem.has_swap)
            level(m, METRIC_ID_MEMORY_SWAP, mem.swap_total - mem.swap_free);
    }
    if (metrics_read(m, "proc/vmstat", METRICS_NO_VM))
        return;
    if (procstat_parse_vm(m->text.data, &vm)) {
        m->missing[METRICS_NO_VM]++;
        return;
    }
    count(m, METRIC_ID_FAULTS_MINOR, vm.faults > vm.major_faults ? vm.faults - vm.major_faults : 0);
    count(m, METRIC_ID_FAULTS_MAJOR, vm.major_faults);
    count(m, METRIC_ID_IO_READ, vm.paged_in);
    count(m, METRIC_ID_IO_WRITE, vm.paged_out);
    count(m, METRIC_ID_MEMORY_SWAPPED_IN, vm.swapped_in);
    count(m, METRIC_ID_MEMORY_SWAPPED_OUT, vm.swapped_out);
}

static void look_at_pressure(struct metrics *m)
{
    static const struct {
        const char *path;
        enum metric_id some, full;
    } files[] = {{"proc/pressure/cpu", METRIC_ID_PRESSURE_CPU, METRIC_NONE}, /* full: none by design */
                 {"proc/pressure/memory", METRIC_ID_PRESSURE_MEMORY, METRIC_ID_PRESSURE_MEMORY_FULL},
                 {"proc/pressure/io", METRIC_ID_PRESSURE_IO, METRIC_ID_PRESSURE_IO_FULL}};
    struct procstat_pressure p;

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (metrics_read(m, files[i].path, METRICS_NO_PRESSURE))
            continue;
        if (procstat_parse_pressure(m->text.data, &p)) {
            m->missing[METRICS_NO_PRESSURE]++;
            continue;
        }
        count(m, files[i].some, p.some_ns);
        if (files[i].full && p.has_full)
            count(m, files[i].full, p.full_ns);
    }
}

static void look_at_delay(struct metrics *m)
{
    uint64_t ns;

    if (metrics_read(m, "proc/schedstat", METRICS_NO_ALL_DELAY))
        return;
    if (procstat_parse_delay(m->text.data, &ns))
        m->missing[METRICS_NO_ALL_DELAY]++;
    else
        count(m, METRIC_ID_SCHED_DELAY, ns);
}

void metrics_machine_look(struct metrics *m)
{
    look_at_cpus(m);
    look_at_rates(m);
    look_at_memory(m);
    look_at_pressure(m);
    look_at_delay(m);
    level(m, METRIC_ID_TARGETS, m->processes.n);
}

void metrics_machine_end(struct metrics *m)
{
    struct metrics_machine *x = &m->machine;

    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        metrics_end(&m->out, &x->series[id], (struct metrics_key){.id = (enum metric_id)id});
    for (size_t cpu = 0; cpu < x->oncpu.n; cpu++)
        metrics_end(&m->out, &x->oncpu.a[cpu], (struct metrics_key){METRIC_ID_SCHED_ONCPU, 0, (uint16_t)cpu});
}

void metrics_machine_release(struct metrics_machine *x)
{
    procstat_release(&x->stat);
    cpufreq_release(&x->rates);
    vec_release(&x->oncpu);
    vec_release(&x->frequency);
}
