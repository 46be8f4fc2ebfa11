/* SPDX-License-Identifier: Apache-2.0 */
/* cupti/kernels.jsonl of AIProf: no crash; every event refers to what is there. */
#include "exchange/import/kernel_lines.h"
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct importer lines = {.name = "kernel lines", .run = kernel_lines_run};

    trace_check(&lines, data, size);
    return 0;
}
