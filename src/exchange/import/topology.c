/* SPDX-License-Identifier: Apache-2.0 */
/* topology.json, as wprof topo --format json writes it: wprof-topology(5). */
#include "exchange/import/import.h"

#include "base/io.h"
#include "model/graph_json.h"

static int run(int fd, struct graph *g, struct import_stats *st, struct err *e)
{
    struct buf text = {0};
    int rc = io_read_fd(fd, &text, e);

    st->bytes = text.len;
    if (!rc)
        rc = graph_json_read(g, buf_str(&text), text.len, e);
    buf_release(&text);
    return rc;
}

const struct importer import_topology = {
    .name = "topology",
    .summary = "topology.json of wprof topo",
    .graph = run,
};
