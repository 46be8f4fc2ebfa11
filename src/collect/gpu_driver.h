/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there is a CUDA driver here, where our library for it is, and what became of it in a process. */
#ifndef WPROF_COLLECT_GPU_DRIVER_H
#define WPROF_COLLECT_GPU_DRIVER_H

#include <sys/types.h>

/* 1: its library lies where programs find it, or its device files are there. */
int gpu_driver_here(void);

enum gpu_seen {
    GPU_SEEN_NOTHING, /* no libcuda in the process, or it is gone */
    GPU_SEEN_LIBRARY, /* libcuda is mapped, our library is not */
    GPU_SEEN_DEVICE,  /* the same, and a GPU is open: CUDA was initialised */
    GPU_SEEN_OURS,    /* our library is mapped */
};

enum gpu_seen gpu_driver_seen(pid_t pid);

#endif
