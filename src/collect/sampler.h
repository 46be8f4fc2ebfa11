/* SPDX-License-Identifier: Apache-2.0 */
/* The event that makes samples: chosen, opened on every CPU, and how many samples it should give. */
#ifndef WPROF_COLLECT_SAMPLER_H
#define WPROF_COLLECT_SAMPLER_H

#include "base/err.h"
#include "base/vec.h"
#include "platform/pfm.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A clock of one period keeps step with a program that has a rhythm of its own near a multiple of it, and
 * then meets it at the same few points only: 499 Hz and a loop of 10.02 ms, for one. So each CPU has several
 * slower clocks whose periods have nothing in common; together they tick as often as was asked for.
 */
struct sampler {
    struct pfm_event event;
    char why[200]; /* why it isn't a counter of the CPU; "" */
    VEC(int) fds;  /* disabled; of each CPU that is online and that the targets may use */
    double per_ns; /* ticks of a CPU's clocks; 0: the kernel adjusts the period to the frequency */
    uint64_t frequency;
};

/* event NULL: cycles where they can be counted, else cpu-clock. targets: the CPUs outside of their cpusets
 * are left alone; n 0: every CPU. */
int sampler_open(struct sampler *s, const char *event, uint64_t frequency, const pid_t *targets, size_t n,
                 struct err *e);
void sampler_close(struct sampler *s);

/* Samples that run_ns on CPUs should give; 0: that can't be said of this event. */
uint64_t sampler_expected(const struct sampler *s, uint64_t run_ns);

#endif
