/* SPDX-License-Identifier: Apache-2.0 */
/* perf's records about own processes, and /proc's texts about threads: nothing in them may be believed. */
#include "base/mem.h"
#include "platform/perf_task.h"
#include "platform/proctask.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

static size_t sum_of(const void *p, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ((const uint8_t *)p)[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size);
    struct perf_task_record r;
    struct proctask_call call;
    struct proctask st;

    for (int kernel = 0; kernel < 2; kernel++) {
        const struct perf_task t = {.kernel = kernel};

        if (!perf_task_parse(&t, data, size, &r))
            continue;
        sink += sum_of(r.sample.stack, r.sample.stack_n); /* all of it lies within the record */
        sink += sum_of(r.sample.kernel, r.sample.kernel_n * sizeof(*r.sample.kernel));
        if (r.name)
            sink += strlen(r.name);
    }
    if (!proctask_parse_stat(text, &st) && st.comm[sizeof(st.comm) - 1])
        abort();
    sink += (size_t)proctask_parse_call(text, &call);
    free(text);
    return 0;
}
