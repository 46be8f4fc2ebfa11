/* SPDX-License-Identifier: Apache-2.0 */
/* The settings file: no crash, and a refusal says where. */
#include "base/config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("config", MFD_CLOEXEC);
    char path[64];
    struct err e = {0};
    struct config *c;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    c = config_load(path, &e);
    if (!c && strncmp(e.msg, path, strlen(path)))
        abort();
    for (size_t i = 0; c && i < config_count(); i++)
        if (!config_get(c, config_key(i), NULL))
            abort();
    config_free(c);
    close(fd);
    return 0;
}
