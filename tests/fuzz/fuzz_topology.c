/* SPDX-License-Identifier: Apache-2.0 */
/* topology.json: what is taken is written back as something that reads the same. */
#include "model/graph_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf first = {0}, second = {0}, packed = {0};
    struct graph g, again, unpacked;
    struct err e = {0};

    graph_init(&g);
    if (graph_json_read(&g, (const char *)data, size, &e)) {
        if (!e.msg[0])
            abort();
        graph_release(&g);
        return 0;
    }
    graph_json_write(&g, 0, &first);
    graph_init(&again);
    if (graph_json_read(&again, first.data, first.len, &e))
        abort();
    graph_json_write(&again, 0, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len))
        abort();
    graph_pack(&g, &packed);
    graph_init(&unpacked);
    if (graph_unpack(&unpacked, packed.data, packed.len, &e))
        abort();
    graph_release(&g);
    graph_release(&again);
    graph_release(&unpacked);
    buf_release(&first);
    buf_release(&second);
    buf_release(&packed);
    return 0;
}
