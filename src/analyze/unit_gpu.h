/* SPDX-License-Identifier: Apache-2.0 */
/* How long the devices of a unit's process did nothing while it went on. */
#ifndef WPROF_ANALYZE_UNIT_GPU_H
#define WPROF_ANALYZE_UNIT_GPU_H

#include "analyze/gpu_ranges.h"
#include "analyze/units.h"

struct unit_gpu_device {
    uint32_t pid; /* of the process that it worked for, 0: not known */
    struct gpu_ranges busy;
};

struct unit_gpu {
    const struct store *s;
    VEC(struct unit_gpu_device) devices;
};

void unit_gpu_init(struct unit_gpu *g, const struct session *s);
void unit_gpu_release(struct unit_gpu *g);

/* The mean over its process's devices, of all devices where that process has none; 0 where there are none. */
uint64_t unit_gpu_idle(const struct unit_gpu *g, const struct unit *x);

#endif
