/* SPDX-License-Identifier: Apache-2.0 */
/* austin's text: no crash; every sample refers to what is there. */
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trace_check(&import_austin, data, size);
    return 0;
}
