/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps, as text. */
#include "topo/maps.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topo_ctx ctx = {.root = ""};
    char *text = mem_strndup((const char *)data, size);
    struct maps m;

    maps_init(&m, &ctx);
    maps_parse(&m, text);
    for (size_t i = 0; i < m.list.n; i++) {
        const struct shared_map *one = &m.list.a[i];

        if (one->end <= one->start || one->mode > 3 || (one->path && one->path >= m.text.len))
            abort();
    }
    maps_release(&m);
    free(text);
    return 0;
}
