/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of several processes, each of which counts those that it may use from 0 on: one number a device. */
#ifndef WPROF_COLLECT_GPU_DEVICES_H
#define WPROF_COLLECT_GPU_DEVICES_H

#include "base/vec.h"

#include <stdint.h>

enum { GPU_UUID_BYTES = 16 };

struct gpu_device_id {
    uint32_t number;
    int has_uuid;
    uint8_t uuid[GPU_UUID_BYTES];
};

struct gpu_devices {
    VEC(struct gpu_device_id) list;
};

void gpu_devices_release(struct gpu_devices *d);

/* The number of a device: where it is new the one that it wishes for, or the next that is free. uuid: NULL
 * where it is not known; then the wish is all that tells it. */
uint32_t gpu_devices_find(struct gpu_devices *d, uint32_t wish, const uint8_t *uuid);

#endif
