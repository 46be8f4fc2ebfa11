/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat, as a dump reads it: threads name themselves. */
#include "base/mem.h"
#include "collect/dump_proc.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size);
    struct dump_stat st;

    if (!dump_stat_parse(text, &st) && st.comm[sizeof(st.comm) - 1])
        abort();
    free(text);
    return 0;
}
