/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an accelerator did and what was asked of it: the side table at `attr` of EVENT_GPU events. Equal rows
 * have one id, so that ten million launches of a thousand kernels are a thousand rows.
 *
 * An EVENT_GPU: ts and dur as always; value: the correlation id that a launch and what it launched share, 0:
 * none (GPU_ALLOC and GPU_FREE: the address); task: the thread that asked, also of what ran on the device, 0:
 * not known; stack: where it asked, root first, also of what ran on the device. What ran on the device
 * (gpu_on_device()) has device, context and stream; what ran on the host has a thread.
 */
#ifndef WPROF_MODEL_GPU_H
#define WPROF_MODEL_GPU_H

#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>

enum gpu_op {
    GPU_NONE,
    /* on the device */
    GPU_KERNEL,
    GPU_COPY,
    GPU_SET,   /* memset */
    GPU_GRAPH, /* a whole graph's run, where its nodes were not traced */
    /* on the host */
    GPU_RUNTIME,  /* a call of the runtime's API: cudaLaunchKernel */
    GPU_DRIVER,   /* a call of the driver's API: cuLaunchKernel */
    GPU_SYNC,     /* waiting for a stream, an event, a device: has device, context, stream, too */
    GPU_OVERHEAD, /* of whoever measured: buffers flushed, code loaded */
    GPU_ALLOC,
    GPU_FREE,
    GPU_OPERATOR, /* a framework's operator or function, as its own profiler tells: aten::mm. With a device
                     and no thread: an annotation's range as it showed on the device */
    GPU_OPS,
};

const char *gpu_op_name(unsigned op); /* "kernel"; "unknown" for numbers beyond */

/* Ends of a copy, and of what an allocation is of. */
enum gpu_place {
    GPU_PLACE_UNKNOWN,
    GPU_PAGEABLE,
    GPU_PINNED,
    GPU_DEVICE,
    GPU_ARRAY,
    GPU_MANAGED,
    GPU_HOST, /* pageable or pinned: AMD's traces don't tell */
    GPU_PLACES
};

const char *gpu_place_name(unsigned place); /* "pageable"; "?" for unknown ones */

/* The name of a mark of a process, over the time in which another profiler had its records. */
#define GPU_TAKEN_MARK "[GPU records taken by another profiler]"

struct gpu_work {
    uint32_t name; /* strtab: the kernel (demangled), the call, the operator */
    uint32_t context, stream;
    uint32_t grid[3], block[3];
    uint32_t shared;      /* bytes of shared memory a block, static and dynamic */
    uint32_t graph, node; /* of a CUDA graph; 0: none */
    uint64_t bytes;       /* of copies, sets, allocations */
    uint16_t registers;   /* a thread */
    uint16_t occupancy;   /* achieved, estimated: per mille + 1; 0: not told */
    uint16_t device;      /* device number + 1; 0: none */
    uint16_t rank;        /* rank + 1 of a distributed run; 0: none */
    uint8_t op;           /* enum gpu_op */
    uint8_t from, to;     /* enum gpu_place */
    uint8_t result;       /* 1: the call failed */
    uint32_t pad;
};

_Static_assert(sizeof(struct gpu_work) == 72, "compared by its bytes");

struct gpu_works {
    VEC(struct gpu_work) list; /* an id is index + 1 */
    struct index index;
};

void gpu_works_release(struct gpu_works *g);
uint32_t gpu_works_add(struct gpu_works *g,
                       const struct gpu_work *key); /* finds or adds; identity: all bytes */

static inline const struct gpu_work *gpu_works_get(const struct gpu_works *g, uint32_t id)
{
    return id && id <= g->list.n ? &g->list.a[id - 1] : NULL;
}

static inline int gpu_on_device(const struct gpu_work *w)
{
    return w->op >= GPU_KERNEL && w->op <= GPU_GRAPH;
}

/* Collective communication, by its kernels' names: NCCL's, RCCL's, and what HTA takes for it (nccl prefix).
 */
int gpu_is_communication(const char *kernel);

#endif
