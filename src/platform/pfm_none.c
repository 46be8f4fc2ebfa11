/* SPDX-License-Identifier: Apache-2.0 */
/* What is there without libpfm4: the kernel's software events. */
#include "platform/pfm.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *desc;
    uint64_t config;
} events[] = {
    {"cpu-clock", "time on the CPU, by a high-resolution timer", PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", "time on the CPU, of the task", PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", "page faults", PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", "page faults without I/O", PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", "page faults with I/O", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", "context switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", "moves to another CPU", PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", "unaligned accesses the kernel had to mend", PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", "instructions the kernel had to emulate", PERF_COUNT_SW_EMULATION_FAULTS},
};

int pfm_encode(const char *name, struct pfm_event *ev, struct err *e)
{
    struct pfm_list l;
    char near[256];

    *ev = (struct pfm_event){.type = PERF_TYPE_SOFTWARE};
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        if (strcmp(events[i].name, name))
            continue;
        ev->config = events[i].config;
        ev->time = ev->config == PERF_COUNT_SW_CPU_CLOCK || ev->config == PERF_COUNT_SW_TASK_CLOCK;
        snprintf(ev->name, sizeof(ev->name), "%s", name);
        return 0;
    }
    pfm_list(&l, NULL);
    pfm_nearest(&l, name, 3, near, sizeof(near));
    pfm_list_release(&l);
    return err_set(e, "event '%s' is unknown%s%s (this wprof is built without libpfm4: software events only)",
                   name, *near ? "; nearest: " : "", near);
}

int pfm_list(struct pfm_list *l, struct err *e)
{
    *l = (struct pfm_list){0};
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        *vec_push(&l->items) =
            (struct pfm_item){mem_strdup(events[i].name), mem_strdup("perf"), mem_strdup(events[i].desc)};
    return 0;
}
