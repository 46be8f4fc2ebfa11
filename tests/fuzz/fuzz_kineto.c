/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of PyTorch's profiler: no crash; every event refers to what is there, and none ends before it
 * begins. */
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trace_check(&import_kineto, data, size);
    return 0;
}
