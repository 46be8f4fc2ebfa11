/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What takes a blocked thread's stack when it comes back, and the wait's length is known: on its way to the
 * user's code, where the user's stack is still as it was. Linux 6.18 on (bpf_task_work_schedule_resume); the
 * kernel's frames are taken before, while the thread's kernel stack is at rest.
 */
#ifndef WPROF_BPF_LATE_H
#define WPROF_BPF_LATE_H

#include "bpf/maps.h"

#include <bpf/bpf_core_read.h>

struct bpf_map { /* of which a callback gets one */
    __u32 id;
};

/* A type that the kernel knows by its name: it must lie in a map's value. */
struct bpf_task_work {
    __u64 __opaque;
} __attribute__((aligned(8)));

extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *tw,
                                              void *map__map,
                                              int (*callback)(struct bpf_map *, void *, void *),
                                              void *aux__prog) __weak __ksym;
extern void bpf_local_irq_save(unsigned long *flags__irq_flag) __weak __ksym;
extern void bpf_local_irq_restore(unsigned long *flags__irq_flag) __weak __ksym;

enum { LATE_SLOTS = 1024 }; /* a power of two */

/* One thread's, from when it runs again until it is about to leave the kernel. */
struct late {
    struct bpf_task_work work;
    __u32 tid; /* whose; 0: free */
    __u32 kernel_n;
    struct wire_span span; /* sent after the stack */
    __u64 kernel[WIRE_KERNEL_MAX];
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LATE_SLOTS);
    __type(key, __u32);
    __type(value, struct late);
} lates SEC(".maps");

const volatile __u32 config_late = 0; /* user space asks for it */

static __always_inline int late_possible(void)
{
    return config_late && bpf_task_work_schedule_resume_impl && bpf_local_irq_save;
}

static __always_inline struct late *late_slot(__u32 tid)
{
    __u32 i = tid & (LATE_SLOTS - 1);

    return bpf_map_lookup_elem(&lates, &i);
}

#endif
