/* SPDX-License-Identifier: Apache-2.0 */
/* A format that other tools read: one file, one line in export.def. */
#ifndef WPROF_EXCHANGE_EXPORT_H
#define WPROF_EXCHANGE_EXPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "model/graph.h"
#include "model/profile.h"
#include "model/session.h"
#include "model/timeline.h"

struct tables;

struct export_input {
    const struct session *session;
    const struct profile *profile;   /* folded as the command was told to; metric 0 is the one asked for */
    const struct timeline *timeline; /* whole; of these, an exporter gets the one that it wants */
    const struct graph *topology;
    struct tables *tables;
    const char *metric, *table; /* of what is made of events, of tables; NULL: the default */
    int gil;                    /* of events: only what threads did while they held the GIL */
};

struct exporter {
    const char *name;    /* "folded" */
    const char *summary; /* one line, no full stop */
    int wants_timeline, wants_topology, wants_tables, wants_events;
    int directory; /* no single product: see aiprof.h */
    int lines;     /* wants a profile with lines apart */
    /* Appends the whole product to `out`. 0, or -1 with `e`. */
    int (*run)(const struct export_input *in, struct buf *out, struct err *e);
    /* The same of a profile, for one who wants events: of what these can't tell. NULL: there is no such way.
     */
    int (*run_profile)(const struct export_input *in, struct buf *out, struct err *e);
};

#define EXPORTER(name) extern const struct exporter export_##name;
#include "exchange/export/export.def"
#undef EXPORTER

extern const struct exporter *const exporters[];
extern const size_t nexporters;

/* NULL with `e` naming the formats there are. */
const struct exporter *exporter_find(const char *name, struct err *e);

#endif
