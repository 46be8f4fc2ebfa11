/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library, asked each second what its GPUs are at, by a thread of its own: its calls may
 * block for as long as the driver does, and those for PCIe take 20 ms each. Declarations: see nvml.h.
 */
#ifndef WPROF_PLATFORM_NVML_WATCH_H
#define WPROF_PLATFORM_NVML_WATCH_H

#include <stdint.h>

#define NVML_UNKNOWN UINT64_MAX /* a figure that the device does not tell */

enum nvml_figure {
    NVML_BUSY,        /* percent */
    NVML_MEMORY_BUSY, /* percent */
    NVML_MEMORY,      /* bytes in use */
    NVML_CLOCK,       /* MHz */
    NVML_MEMORY_CLOCK,
    NVML_POWER,       /* mW */
    NVML_TEMPERATURE, /* degrees Celsius */
    NVML_SLOW_POWER,  /* 0 or 1, as below: why the clock is held down */
    NVML_SLOW_HEAT,
    NVML_SLOW_HARDWARE, /* not its driver: for either, or a brake from outside */
    NVML_SLOW_OTHER,
    NVML_SENT, /* over PCIe, KB a second */
    NVML_RECEIVED,
    NVML_FIGURES
};

struct nvml_look {
    uint64_t ts; /* CLOCK_MONOTONIC ns */
    unsigned gpu;
    uint64_t figures[NVML_FIGURES];
};

struct nvml_watch;

/* NULL: there is no such library, or no thread. What it says when it does not work: nvml_watch_why(). */
struct nvml_watch *nvml_watch_new(void);
/* What was seen since the last call, in the order of time; `each` is called with no lock held. */
void nvml_watch_take(struct nvml_watch *w, void (*each)(void *arg, const struct nvml_look *look), void *arg);
/* "": all works. Else the first thing that does not: the library, one of its GPUs. Valid until it is freed.
 */
const char *nvml_watch_why(struct nvml_watch *w);
/* Waits for a call under way, but not for long: one that hangs in the driver is left behind. */
void nvml_watch_free(struct nvml_watch *w);

#endif
