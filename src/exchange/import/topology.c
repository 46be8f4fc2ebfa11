/* SPDX-License-Identifier: Apache-2.0 */
/* topology.json, as wprof topo --format json writes it, and lines of it, --format ndjson: wprof-topology(5).
 */
#include "exchange/import/import.h"

#include "model/graph_json.h"

static int run(struct input *in, struct graph *g, struct import_stats *st, struct err *e)
{
    struct buf text = {0};
    int rc = input_read_all(in, &text, e);

    if (!rc)
        rc = graph_json_is_lines(buf_str(&text), text.len)
                 ? graph_json_read_lines(g, buf_str(&text), text.len, e)
                 : graph_json_read(g, buf_str(&text), text.len, e);
    buf_release(&text);
    return rc;
}

static int probe(const char *head, size_t n)
{
    return import_first(head) == '{' && import_holds(head, n, "\"wprof-topology\"");
}

const struct importer import_topology = {
    .name = "topology",
    .summary = "topology.json of wprof topo, or lines of them",
    .probe = probe,
    .graph = run,
};
