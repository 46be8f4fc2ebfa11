/* SPDX-License-Identifier: Apache-2.0 */
#include "model/gpu.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static const char *const ops[GPU_OPS] = {
    [GPU_NONE] = "unknown",   [GPU_KERNEL] = "kernel", [GPU_COPY] = "copy",
    [GPU_SET] = "set",        [GPU_GRAPH] = "graph",   [GPU_RUNTIME] = "runtime",
    [GPU_DRIVER] = "driver",  [GPU_SYNC] = "sync",     [GPU_OVERHEAD] = "overhead",
    [GPU_ALLOC] = "allocate", [GPU_FREE] = "free",     [GPU_OPERATOR] = "operator",
};

const char *gpu_op_name(unsigned op)
{
    return op < GPU_OPS ? ops[op] : ops[GPU_NONE];
}

static const char *const places[GPU_PLACES] = {
    [GPU_PLACE_UNKNOWN] = "?", [GPU_PAGEABLE] = "pageable", [GPU_PINNED] = "pinned", [GPU_DEVICE] = "device",
    [GPU_ARRAY] = "array",     [GPU_MANAGED] = "managed",   [GPU_HOST] = "host",
};

const char *gpu_place_name(unsigned place)
{
    return places[place < GPU_PLACES ? place : GPU_PLACE_UNKNOWN];
}

void gpu_works_release(struct gpu_works *g)
{
    vec_release(&g->list);
    index_release(&g->index);
}

struct lookup {
    const struct gpu_works *g;
    const struct gpu_work *key;
};

static int is_same(const void *ctx, uint32_t id)
{
    const struct lookup *l = ctx;

    return !memcmp(gpu_works_get(l->g, id), l->key, sizeof(*l->key));
}

uint32_t gpu_works_add(struct gpu_works *g, const struct gpu_work *key)
{
    struct lookup l = {g, key};
    uint64_t hash = hash_bytes(key, sizeof(*key));
    uint32_t id;

    /* A table that was loaded has no index yet. */
    while (g->index.n < g->list.n) {
        id = (uint32_t)g->index.n + 1;
        index_add(&g->index, hash_bytes(gpu_works_get(g, id), sizeof(*key)), id);
    }
    id = index_find(&g->index, hash, is_same, &l);
    if (!id) {
        *vec_push(&g->list) = *key;
        id = (uint32_t)g->list.n;
        index_add(&g->index, hash, id);
    }
    return id;
}

int gpu_is_communication(const char *kernel)
{
    return !strncmp(kernel, "nccl", 4) || !strncmp(kernel, "rccl", 4) || !strncmp(kernel, "hccl", 4) ||
           strstr(kernel, "ncclKernel") || strstr(kernel, "ncclDevKernel");
}
