/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's records about mappings, and lines of /proc/PID/maps: from outside, so nothing in them may be
 * believed. */
#include "base/mem.h"
#include "platform/perf_event.h"
#include "platform/procfs.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = mem_strndup((const char *)data, size);
    struct perf_record r;
    struct procfs_map m;
    struct cpu_list l = {0};
    int exec;

    if (perf_record_parse(data, size, &r)) {
        if (r.build_id_len > sizeof(r.build_id))
            abort();
        if (r.path)
            sink += strlen(r.path); /* ends within the record */
    }
    if (procfs_parse_map(line, &m, &exec)) {
        if (m.start >= m.end)
            abort();
        sink += strlen(m.path);
    }
    if (size < 64) /* a list may name a million CPUs */
        perf_parse_cpus((const char *)line, &l);
    vec_release(&l.list);
    free(line);
    return 0;
}
