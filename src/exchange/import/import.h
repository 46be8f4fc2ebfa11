/* SPDX-License-Identifier: Apache-2.0 */
/* A format that other tools write: one file, one line in import.def. */
#ifndef WPROF_EXCHANGE_IMPORT_H
#define WPROF_EXCHANGE_IMPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "model/graph.h"
#include "model/session.h"
#include "model/store.h"

/* What the input held; whatever was not taken is counted here. */
struct import_stats {
    uint64_t bytes, stacks, samples; /* samples: the sum of the stacks' values */
    uint64_t rounded;                /* values with a fraction */
    uint64_t bad;                    /* lines or records that made no sense */
    uint64_t first_bad;              /* the line of the first one */
    struct buf bad_text;             /* what it said, shortened */
};

struct importer {
    const char *name;    /* "folded" */
    const char *summary; /* one line, no full stop */
    /* Reads fd to its end into the store, sets what it learns in meta. 0, or -1 with `e`: nothing usable in
     * it. */
    int (*run)(int fd, struct store *s, struct meta *m, struct import_stats *st, struct err *e);
    /* Of a topology, instead: into an initialised graph. */
    int (*graph)(int fd, struct graph *g, struct import_stats *st, struct err *e);
};

#define IMPORTER(name) extern const struct importer import_##name;
#include "exchange/import/import.def"
#undef IMPORTER

extern const struct importer *const importers[];
extern const size_t nimporters;

/* witty.c: the text of a graph.json, into an initialised graph. */
int import_witty_graph(struct graph *g, const char *text, size_t n, struct err *e);

/* NULL with `e` naming the formats there are. */
const struct importer *importer_find(const char *name, struct err *e);

#endif
