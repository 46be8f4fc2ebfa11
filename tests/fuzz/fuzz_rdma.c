/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of RDMA netlink: whatever they hold, names end and nothing is read beyond them. */
#include "platform/rdma.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* its end is the end of what may be read */
    int error;

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    for (enum rdma_kind kind = RDMA_DEVICE; kind <= RDMA_PD; kind++) {
        struct rdma_objects r = {0};

        if (rdma_parse(&r, kind, copy, size, &error) < 0 && !error)
            abort();
        for (size_t i = 0; i < r.list.n; i++)
            if (!memchr(r.list.a[i].dev, '\0', sizeof(r.list.a[i].dev)))
                abort();
        rdma_release(&r);
    }
    free(copy);
    return 0;
}
