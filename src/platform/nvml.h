/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library, loaded while the program runs: GPUs, who uses them, NVLink. Its calls may
 * block for as long as the driver does. Declarations: NVIDIA's "NVML API Reference"; those used here are the
 * same since driver 450.
 */
#ifndef WPROF_PLATFORM_NVML_H
#define WPROF_PLATFORM_NVML_H

#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

struct nvml_process {
    int pid;        /* as the driver sees it: of the initial pid namespace, or of ours */
    uint64_t bytes; /* of GPU memory; 0: not told */
    int busy;       /* percent of the last samples, -1: not told */
};

struct nvml_link {
    char pci[24];   /* of the other end; "" where it is not told */
    int is_switch;  /* 1: an NVSwitch, 0: a GPU, -1: not told */
    unsigned index; /* of the link */
};

struct nvml_gpu {
    unsigned index;
    int minor; /* /dev/nvidiaN, -1: not told */
    char name[96], uuid[96];
    char pci[24];                                                /* as in /sys/bus/pci/devices */
    uint64_t memory_bytes, used_bytes;                           /* 0: not told */
    int busy, memory_busy;                                       /* percent, -1: not told */
    unsigned pcie_gen, pcie_width, pcie_max_gen, pcie_max_width; /* 0: not told */
    unsigned nvlink_version;
    int mig;                            /* divided into instances */
    VEC(struct nvml_process) processes; /* by pid, each once */
    VEC(struct nvml_link) links;        /* those that are up */
};

struct nvml {
    char driver[96];
    VEC(struct nvml_gpu) gpus;
    uint64_t lost; /* GPUs that answered nothing: fallen off the bus, or not to be accessed */
};

/* 0; 1: there is no such library; -1 with `e`: it does not work. */
int nvml_read(struct nvml *n, struct err *e);
void nvml_release(struct nvml *n);

#endif
