/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/fakes/cuda.c tells the stub of tests/fakes/cupti.c, which it finds by dlsym(3). */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdint.h>

/* A thing that ran on the device; times are ns of CLOCK_MONOTONIC. */
struct fake_ran {
    const char *name; /* kernels alone */
    int kind;         /* CUPTI_ACTIVITY_KIND_*: 10 kernel, 1 copy, 2 set */
    uint32_t correlation, stream;
    uint64_t start, end, bytes, node;
    uint32_t graph, grid[3], block[3];
    int copy, from, to;
};

struct fake_cupti {
    uint32_t (*enter)(int domain, const char *name, uint32_t nested); /* gives the correlation id */
    void (*leave)(int domain, const char *name, uint32_t correlation, uint64_t start, int result);
    void (*ran)(const struct fake_ran *r);
    void (*graph_ran)(const struct fake_ran *r); /* a whole graph */
    void (*sync)(uint32_t correlation, uint32_t stream, uint64_t start, uint64_t end, int result);
    void (*memory)(uint32_t correlation, int operation, uint64_t address, uint64_t bytes);
    void (*node)(int cbid, void *node, void *original);
};

#define FAKE_CUPTI_SYMBOL "fake_cupti"

#endif
