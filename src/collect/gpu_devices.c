/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_devices.h"

#include <string.h>

void gpu_devices_release(struct gpu_devices *d)
{
    vec_release(&d->list);
}

static int is_same(const struct gpu_device_id *x, uint32_t wish, const uint8_t *uuid)
{
    return uuid ? x->has_uuid && !memcmp(x->uuid, uuid, GPU_UUID_BYTES) : x->number == wish;
}

static int is_taken(const struct gpu_devices *d, uint32_t number)
{
    for (size_t i = 0; i < d->list.n; i++)
        if (d->list.a[i].number == number)
            return 1;
    return 0;
}

uint32_t gpu_devices_find(struct gpu_devices *d, uint32_t wish, const uint8_t *uuid)
{
    struct gpu_device_id x = {.number = wish, .has_uuid = uuid != NULL};

    for (size_t i = 0; i < d->list.n; i++)
        if (is_same(&d->list.a[i], wish, uuid))
            return d->list.a[i].number;
    while (is_taken(d, x.number))
        x.number++;
    if (uuid)
        memcpy(x.uuid, uuid, GPU_UUID_BYTES);
    *vec_push(&d->list) = x;
    return x.number;
}
