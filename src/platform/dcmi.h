/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huawei's management library of Ascend NPUs, loaded while the program runs. Its calls may block for as long
 * as the driver does. Declarations: Huawei's "DCMI API Reference" of the Ascend drivers (910 and later).
 */
#ifndef WPROF_PLATFORM_DCMI_H
#define WPROF_PLATFORM_DCMI_H

#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

struct dcmi_process {
    int pid;
    uint64_t bytes; /* of the NPU's memory */
};

struct dcmi_npu {
    int card, device; /* as the library numbers them */
    int id;           /* the logical one, of /dev/davinciN */
    char name[80];
    char pci[24];                      /* as in /sys/bus/pci/devices; "" where it is not told */
    char affinity[64];                 /* CPUs next to it, "" where it is not told */
    uint64_t memory_bytes, used_bytes; /* 0: not told */
    int busy;                          /* percent of its AI cores, -1: not told */
    VEC(struct dcmi_process) processes;
};

struct dcmi_link { /* by HCCS, Ascend's own bus; a < b, in dcmi.npus */
    uint32_t a, b;
    int switched;
};

struct dcmi {
    VEC(struct dcmi_npu) npus;
    VEC(struct dcmi_link) links;
    uint64_t lost; /* cards that answered nothing */
};

/* 0; 1: there is no such library; -1 with `e`: it does not work. */
int dcmi_read(struct dcmi *d, struct err *e);
void dcmi_release(struct dcmi *d);

#endif
