/* SPDX-License-Identifier: Apache-2.0 */
/* What a source's process sends: any bytes end in a graph or an error. */
#include "model/graph_json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct graph g;
    struct buf out = {0};
    struct err e = {0};

    graph_init(&g);
    if (graph_unpack(&g, data, size, &e) && !e.msg[0])
        abort();
    graph_json_write(&g, 0, &out);
    buf_release(&out);
    graph_release(&g);
    return 0;
}
