/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of Nsight Systems: damaged ones crash nothing, and what is taken of them holds together. The
 * database is read by its name, so it lies in a file. */
#include "trace_check.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("nsys", MFD_CLOEXEC);
    struct import_stats st = {0};
    struct input in;
    struct store s = {0};
    struct meta m = {0};
    struct err e = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || input_open(&in, path, &e))
        abort();
    if (import_nsys.probe(buf_str(&in.head), in.head.len)) {
        if (!import_nsys.run(&in, &s, &m, &st, &e))
            trace_check_events(&s);
        else if (!e.msg[0])
            abort();
    }
    import_stats_release(&st);
    input_release(&in);
    close(fd);
    store_release(&s);
    meta_release(&m);
    return 0;
}
