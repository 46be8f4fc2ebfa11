/* SPDX-License-Identifier: Apache-2.0 */
/* What machine this is, for meta.json. */
#ifndef WPROF_PLATFORM_MACHINE_H
#define WPROF_PLATFORM_MACHINE_H

#include <stdint.h>

/* Strings are owned, "unknown" is NULL. */
struct machine {
    char *host, *arch, *kernel; /* "x86_64", "6.1.0-13-amd64" */
    char *os;                   /* PRETTY_NAME of os-release(5) */
    char *cpu_model;            /* "model name" of /proc/cpuinfo */
    char *clock;                /* what CLOCK_MONOTONIC is one in: the boot's id and the time namespace */
    uint32_t ncpus;             /* online */
};

void machine_read(struct machine *m);
void machine_release(struct machine *m);

#endif
