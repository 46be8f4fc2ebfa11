/* SPDX-License-Identifier: Apache-2.0 */
/* A format that other tools write: one file, one line in import.def. */
#ifndef WPROF_EXCHANGE_IMPORT_H
#define WPROF_EXCHANGE_IMPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "exchange/import/input.h"
#include "model/graph.h"
#include "model/session.h"
#include "model/store.h"

/* What became of what the input held. */
enum import_fate {
    IMPORT_TOOK,
    IMPORT_NOTED, /* taken, but it is to be known: "without length" */
    IMPORT_LEFT,  /* left out on purpose: it says nothing more */
    IMPORT_LOST,  /* could not be taken: it makes no sense */
    IMPORT_FATES,
};

/* So many of a thing. */
struct import_count {
    const char *what; /* a literal: "copy|copies", or what fits any number */
    uint64_t n;
    uint8_t fate; /* enum import_fate */
};

/* Times before are no times since the epoch: 2000, in ns. */
#define IMPORT_EPOCH 946684800000000000u

/* A file of one rank, of several that are imported at once: ranks.h. */
struct import_rank {
    char *name;
    uint32_t rank;
    uint64_t first, last; /* ns: its events' */
    size_t begin, end;    /* those */
    size_t tasks, tasks_end;
};

/* What the input held; whatever was not taken is counted here. */
/* What values are that are no samples of CPUs: costs that were counted, times, bytes. */
enum import_measure { IMPORT_SAMPLES, IMPORT_COSTS, IMPORT_NS, IMPORT_BYTES };

struct import_stats {
    uint64_t bytes;           /* of all files, unpacked */
    uint64_t stacks, samples; /* samples: the sum of the stacks' values; 0: it has none */
    enum import_measure measured;
    uint64_t rounded;    /* values with a fraction */
    uint64_t bad;        /* lines or records that made no sense */
    uint64_t first_bad;  /* the line of the first one */
    struct buf bad_text; /* what it said, shortened */
    VEC(struct import_rank) ranks;
    VEC(struct import_count) counts; /* of formats that hold other things than stacks */
};

void import_stats_release(struct import_stats *st);
void import_count(struct import_stats *st, enum import_fate fate, const char *what, uint64_t n);

/* "8,568 kernels, 1 copy": all of one fate. */
void import_counts_text(const struct import_stats *st, enum import_fate fate, struct buf *out);

/* "import.kernels", "import.lost.events_without_a_time" of each, into the store's counters. */
void import_counts_store(const struct import_stats *st, struct store *s);

struct importer {
    const char *name;    /* "folded" */
    const char *summary; /* one line, no full stop */
    int many;            /* several files make one session: run() is called for each */
    int events;          /* of several events, or kinds of values, input.event chooses */
    /* Whether a file that begins with head[0..n) is one; a NUL follows. Asked in import.def's order.
     * NULL: of directories. */
    int (*probe)(const char *head, size_t n);
    /* Reads the input to its end into the store, sets what it learns in meta. 0, or -1 with `e`: nothing
     * usable in it. */
    int (*run)(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e);
    /* Of formats whose frames come raw, to be named from files and symbols here: called after that was tried,
     * for those that have no name. NULL: frames come with their names. */
    void (*unnamed)(struct store *s);
    /* Of a directory, instead of these or besides: whether it is one of this format, and the same as run().
     */
    int (*probe_dir)(const char *path);
    int (*run_dir)(const char *path, const char *event, struct store *s, struct meta *m,
                   struct import_stats *st, struct err *e);
    /* Of a topology, instead: into an initialised graph. */
    int (*graph)(struct input *in, struct graph *g, struct import_stats *st, struct err *e);
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

/* The format of an input by its beginning. NULL with `e`: none of those there are. */
const struct importer *importer_detect(const struct input *in, struct err *e);

/* The same of a directory. */
const struct importer *importer_detect_dir(const char *path, struct err *e);

/* For probes: the first byte that is no white space, '\0' where there is none; and
 * whether the head holds a text. */
char import_first(const char *head);
int import_holds(const char *head, size_t n, const char *text);

#endif
