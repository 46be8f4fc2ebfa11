/* SPDX-License-Identifier: Apache-2.0 */
#include "model/barrier.h"

#include "base/mem.h"
#include "model/gpu.h"

#include <string.h>

static const char *const marks[] = {"barrier",    "collective", "allreduce",     "all_reduce",
                                    "all_gather", "allgather",  "reduce_scatter"};
static const char *const kernels[] = {"AllReduce", "AllGather", "ReduceScatter"};

static int is_kind(const char *text, const char *kind)
{
    size_t n = strcspn(text, " ");

    return strlen(kind) == n && !strncmp(text, kind, n);
}

int barrier_is_mark(const char *text, char *const *more, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (is_kind(text, marks[i]))
            return 1;
    for (size_t i = 0; i < n; i++)
        if (is_kind(text, more[i]))
            return 1;
    return 0;
}

int barrier_is_kernel(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kernels) && gpu_is_communication(name); i++)
        if (strstr(name, kernels[i]))
            return 1;
    return 0;
}
