/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/cpufreq.h"

#include "platform/sysfile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = 4096 }; /* more than NR_CPUS of any distribution's kernel */

void cpufreq_release(struct cpufreq *f)
{
    vec_release(&f->list);
}

/* The value behind the colon of a line "key<tabs>: value"; NULL: another line. */
static const char *value_of(const char *line, const char *key)
{
    size_t n = strlen(key);

    if (strncmp(line, key, n))
        return NULL;
    line += n + strspn(line + n, " \t");
    return *line == ':' ? line + 1 : NULL;
}

size_t cpufreq_parse_cpuinfo(const char *text, struct cpufreq *out)
{
    uint64_t cpu = UINT64_MAX;
    const char *value;

    vec_clear(&out->list);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if ((value = value_of(line, "processor")) && sysfile_number(value, &cpu))
            cpu = UINT64_MAX;
        if ((value = value_of(line, "cpu MHz")) && cpu < CPUS_MAX) {
            double mhz = strtod(value, NULL);

            if (mhz > 0 && mhz < 1e6)
                *vec_push(&out->list) = (struct cpufreq_rate){(uint32_t)cpu, (uint64_t)(mhz * 1e6)};
            cpu = UINT64_MAX;
        }
    }
    return out->list.n;
}

/* scaling_cur_freq is in kHz; a CPU that is offline has none. */
static size_t read_scaling(int root, struct cpufreq *out)
{
    struct buf text = {0};
    unsigned missing = 0;
    uint64_t khz;

    vec_clear(&out->list);
    for (uint32_t cpu = 0; cpu < CPUS_MAX && missing < 64; cpu++) {
        char path[96];

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
        if (sysfile_read_path(root, path, &text) || sysfile_number(text.data, &khz)) {
            if (cpu == 0) { /* the boot CPU can't be taken away: there is no cpufreq */
                out->no_scaling = 1;
                break;
            }
            missing++;
            continue;
        }
        missing = 0;
        *vec_push(&out->list) = (struct cpufreq_rate){cpu, khz * 1000};
    }
    buf_release(&text);
    return out->list.n;
}

size_t cpufreq_read(int root, struct cpufreq *out)
{
    struct buf text = {0};

    if ((out->no_scaling || !read_scaling(root, out)) && !sysfile_read_path(root, "proc/cpuinfo", &text))
        cpufreq_parse_cpuinfo(text.data, out);
    buf_release(&text);
    return out->list.n;
}
