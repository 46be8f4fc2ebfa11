/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of /proc and /sys that the metrics are read from: each parser takes any text. */
#include "platform/cgroup.h"
#include "platform/cpufreq.h"
#include "platform/procstat.h"
#include "platform/procuse.h"
#include "platform/sysfile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void machine(const char *text)
{
    struct procstat_pressure pressure;
    struct procstat_memory memory;
    struct cpufreq rates = {0};
    struct procstat stat = {0};
    struct procstat_vm vm;
    uint64_t ns;

    if (!procstat_parse(text, &stat) && stat.cpus.n > strlen(text) / 4)
        abort();
    procstat_parse_memory(text, &memory);
    if (memory.has_swap && memory.swap_free > memory.swap_total)
        abort();
    procstat_parse_vm(text, &vm);
    procstat_parse_pressure(text, &pressure);
    procstat_parse_delay(text, &ns);
    cpufreq_parse_cpuinfo(text, &rates);
    procstat_release(&stat);
    cpufreq_release(&rates);
}

static void process(const char *text)
{
    struct procuse_switches switches;
    struct procuse_io io;
    struct procuse use;
    uint64_t swap;

    procuse_parse(text, &use);
    procuse_parse_io(text, &io);
    procuse_parse_switches(text, &switches);
    procuse_parse_swap(text, &swap);
}

static void group(const char *text)
{
    static const char *const controllers[] = {"cpu", "memory", ""};
    struct buf a = {0}, b = {0};
    double cpus = 1;

    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        buf_clear(&a);
        if (!cgroup_parse_path(text, controllers[i], &a) && (!a.len || a.data[0] != '/'))
            abort();
        cgroup_parse_mount(text, controllers[i], &a, &b);
    }
    if (!cgroup_parse_max(text, &cpus) && !(cpus > 0))
        abort();
    buf_release(&a);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    machine(text);
    process(text);
    group(text);
    free(text);
    return 0;
}
