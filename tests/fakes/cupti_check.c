/* SPDX-License-Identifier: Apache-2.0 */
/* The stub's records and what it hands over against the real declarations: tests/cli/gpu_cupti.bats compiles
 * this for each CUPTI_MAJOR, where a toolkit of CUDA 13 is installed, which has the older records, too. */
#include "cupti_records.h"

#include <cupti.h>

#define SIZE(mine, of_11, of_12, of_13)                                                                      \
    _Static_assert((mine) == BY_MAJOR(sizeof(of_11), sizeof(of_12), sizeof(of_13)), #mine)

SIZE(KERNEL_SIZE, CUpti_ActivityKernel8, CUpti_ActivityKernel9, CUpti_ActivityKernel10);
SIZE(COPY_SIZE, CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6);
SIZE(SET_SIZE, CUpti_ActivityMemset4, CUpti_ActivityMemset4, CUpti_ActivityMemset4);
SIZE(CALL_SIZE, CUpti_ActivityAPI, CUpti_ActivityAPI, CUpti_ActivityAPI);
SIZE(SYNC_SIZE, CUpti_ActivitySynchronization, CUpti_ActivitySynchronization, CUpti_ActivitySynchronization2);
SIZE(MARKER_SIZE, CUpti_ActivityMarker2, CUpti_ActivityMarker2, CUpti_ActivityMarker2);
SIZE(MEMORY_SIZE, CUpti_ActivityMemory3, CUpti_ActivityMemory3, CUpti_ActivityMemory4);
SIZE(GRAPH_SIZE, CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2);
_Static_assert(GRAPH_KIND == (int)CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "GRAPH_KIND");
