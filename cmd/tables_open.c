/* SPDX-License-Identifier: Apache-2.0 */
#include "tables_open.h"

#include "analyze/open.h"
#include "analyze/topology.h"
#include "base/log.h"
#include "collect/gpu_rest.h"

static int read_topology(const struct session *s, struct graph *g, struct err *e)
{
    return topology_has(s) ? topology_read(s, g, e) : 0;
}

static int read_log(struct session *s, struct err *e)
{
    return open_log(s, gpu_rest_take, e);
}

const struct tables_reader tables_open_reader = {read_log, read_topology};

struct tables *tables_open(char *const *paths, size_t n, struct err *e)
{
    struct tables *t = tables_new(&tables_open_reader);

    for (size_t i = 0; i < (n ? n : 1); i++) {
        if (tables_add(t, n ? paths[i] : NULL, e)) {
            tables_free(t);
            return NULL;
        }
    }
    if (!n)
        log_info("session: %s (the newest here)", tables_path(t, 0));
    return t;
}
