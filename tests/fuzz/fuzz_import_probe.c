/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its beginning, whatever that is: no probe crashes, and what it names is read without a
 * crash. */
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Some of what others write, in UTF-16 and gzip, too: the importer is whichever is found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    const struct importer *x = NULL;
    struct input in;
    struct err e = {0};

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
        abort();
    if (!input_open_fd(&in, fd, "file", &e))
        x = importer_detect(&in, &e);
    else if (!e.msg[0])
        abort();
    input_release(&in);
    close(fd);
    if (x && x->run)
        trace_check(x, data, size);
    return 0;
}
