/* SPDX-License-Identifier: Apache-2.0 */
/* graph.json of witty-profiler: what is taken is given back as something that reads the same. */
#include "exchange/export/export.h"
#include "exchange/import/import.h"
#include "model/graph_ops.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    struct graph g, again;
    struct err e = {0};

    graph_init(&g);
    graph_init(&again);
    if (import_witty_graph(&g, (const char *)data, size, &e)) {
        if (!e.msg[0])
            abort();
    } else {
        if (export_witty.run(&(struct export_input){.topology = &g}, &out, &e) ||
            import_witty_graph(&again, out.data, out.len, &e) || again.nodes.n != g.nodes.n ||
            again.edges.n != g.edges.n)
            abort();
    }
    graph_release(&g);
    graph_release(&again);
    buf_release(&out);
    return 0;
}
