/* SPDX-License-Identifier: Apache-2.0 */
/* The profile view: a stack tree with self and total for one or more metrics. Renderers see nothing else. */
#ifndef WPROF_MODEL_PROFILE_H
#define WPROF_MODEL_PROFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "model/strtab.h"

#include <stdint.h>

struct profile_frame {
    uint32_t func, file, module; /* strings; func of an unnamed frame: "[module+0x1234]" */
    uint32_t line;               /* 0: unknown, or lines were not asked for */
    uint8_t kind;                /* enum frame_kind; process and thread frames: FRAME_NONE */
    uint8_t inlined, unknown, pad;
};

/* Node 0 is the root ("all"). A parent's index is below its children's. */
struct profile_node {
    uint32_t parent, frame; /* frame: index into frames */
    uint32_t child, next;   /* first child, next sibling; 0: none */
};

struct profile_metric {
    char *name, *unit;      /* "oncpu", "samples" or "ns" */
    uint64_t *self, *total; /* one per node */
    uint64_t sum;
};

/* One sample or span, for views that cut by time. */
struct profile_sample {
    uint64_t ts;           /* ns since the session's start */
    uint32_t node, metric; /* deepest node; index into metrics */
    uint64_t value;
};

struct profile {
    struct strtab strings;
    VEC(struct profile_frame) frames;
    VEC(struct profile_node) nodes;
    VEC(struct profile_metric) metrics;
    VEC(struct profile_sample) samples; /* in time order; only where the builder was asked for them */
};

void profile_release(struct profile *p);

/* Totals of all metrics from their selfs, which had none, and the links from nodes to their children, in the
 * order of nodes. */
void profile_link(struct profile *p);

/* Adds the metrics of `from`, with their samples, behind those of p: stacks of equal names become one. Both
 * were made by a builder; `from` is left as it is. Nodes keep their indexes. */
void profile_merge(struct profile *p, const struct profile *from);

/* Appends the frame's name as folded text and tables show it: Python "qualname (file.py)", with the line
 * where there is one; others the function, followed by " (file.c:12)" where there is a line. Imported names
 * that carry their place already ("f (file.py:12)") stay as they are. */
void profile_frame_label(const struct profile *p, uint32_t frame, struct buf *out);

/* Folded text of one metric: a line "a;b;c 12" for every stack with a value of its own, in the order of
 * `LC_ALL=C sort`.
 * `;` and control bytes inside a name become `_`. */
void profile_folded(const struct profile *p, size_t metric, struct buf *out);

/* Takes text that would be too much in one piece: `write` gets about a megabyte at a time, and leaves an
 * empty buffer, which may be another one. */
struct profile_folded_sink {
    int (*write)(void *arg, struct buf *text, struct err *e);
    void *arg;
};

/* The same of two values, one per node each, the first multiplied by `scale`: "a;b;c 12 15" for every stack
 * that has one of them, or with `difference` their difference alone, "a;b;c 3", "a;b;c -2", for every stack
 * where there is one. sink may be NULL; the rest is in `out`. -1 with `e`: the sink failed. */
int profile_folded_pair(const struct profile *p, const uint64_t *before, double scale, const uint64_t *after,
                        int difference, const struct profile_folded_sink *sink, struct buf *out,
                        struct err *e);

#endif
