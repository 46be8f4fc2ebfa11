/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's frames of a stack say that was taken at a switch or a waking: how many of them are our
 * own program's and the scheduler's inside, and whether an interrupt was being served.
 */
#ifndef WPROF_COLLECT_WAIT_KERNEL_H
#define WPROF_COLLECT_WAIT_KERNEL_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct kernel_range {
    uint64_t start, end;
};

struct wait_kernel {
    struct kernel_range schedule, wake;
    VEC(struct kernel_range) entries; /* where interrupts enter the kernel */
};

/* Reads the kernel's symbols, from proc_root (NULL: /proc). Where they are hidden, nothing is left out and no
 * interrupt is told. */
void wait_kernel_init(struct wait_kernel *k, const char *proc_root);
void wait_kernel_release(struct wait_kernel *k);

/* Frames, innermost first: how many lie within `r`'s function, further in. */
uint32_t wait_kernel_inner(const struct kernel_range *r, const uint64_t *frames, uint32_t n);

int wait_kernel_interrupted(const struct wait_kernel *k, const uint64_t *frames, uint32_t n);

#endif
