/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: no crash; every sample refers to what is there; what is refused has a reason. */
#include "base/log.h"
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    log_set_level(LOG_ERROR);
    trace_check(&import_perf_data, data, size);
    return 0;
}
