/* SPDX-License-Identifier: Apache-2.0 */
/* What py-spy writes as raw: no crash; every sample refers to what is there. */
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trace_check(&import_pyspy, data, size);
    return 0;
}
