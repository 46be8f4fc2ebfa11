/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the records of cupti_activity.h in CUDA 11.8, 12.6 and 13.0 (CUPTI_MAJOR), by what the stub of
 * tests/fakes/cupti.c makes; tests/fakes/cupti_check.c holds them against the real headers.
 */
#ifndef FAKE_CUPTI_RECORDS_H
#define FAKE_CUPTI_RECORDS_H

#ifndef CUPTI_MAJOR
#define CUPTI_MAJOR 12
#endif

#define BY_MAJOR(cuda_11, cuda_12, cuda_13)                                                                  \
    (CUPTI_MAJOR == 11 ? (cuda_11) : CUPTI_MAJOR == 12 ? (cuda_12) : (cuda_13))

enum {
    KERNEL_SIZE = BY_MAJOR(200, 208, 216), /* CUpti_ActivityKernel8, 9, 10 */
    COPY_SIZE = BY_MAJOR(88, 88, 96),      /* CUpti_ActivityMemcpy5, 5, 6 */
    SET_SIZE = 88,                         /* CUpti_ActivityMemset4 */
    CALL_SIZE = 40,                        /* CUpti_ActivityAPI */
    SYNC_SIZE = BY_MAJOR(40, 40, 56),      /* CUpti_ActivitySynchronization, ..., 2 */
    MARKER_SIZE = 56,                      /* CUpti_ActivityMarker2 */
    MEMORY_SIZE = BY_MAJOR(120, 120, 128), /* CUpti_ActivityMemory3, 3, 4 */
    GRAPH_SIZE = BY_MAJOR(48, 48, 56),     /* CUpti_ActivityGraphTrace, ..., 2 */
    GRAPH_KIND = 51,
    STRANGE_SIZE = 64,
    STRANGE_KIND = 60,
};

#endif
