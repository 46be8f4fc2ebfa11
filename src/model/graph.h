/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph view: who talks to whom, over what, on which hardware. Typed nodes and edges, their kinds in
 * graph_kinds.def; kept in libcgraph where wprof is built with it (graph_cgraph.c). Formats:
 * wprof-topology(5).
 *
 * Adding what is there already gives what is there: a node is its kind, namespace and key fields, an edge its
 * kind and ends. Texts are copied into the graph and live as long as it. libcgraph has state of its own: one
 * thread of a process works on graphs.
 */
#ifndef WPROF_MODEL_GRAPH_H
#define WPROF_MODEL_GRAPH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>

#define NODE(id, ...) GRAPH_##id,
#define EDGE(...)
enum graph_kind {
#include "model/graph_kinds.def"
    GRAPH_KINDS
};
#undef NODE
#undef EDGE

#define NODE(...)
#define EDGE(id, ...) GRAPH_EDGE_##id,
enum graph_relation {
#include "model/graph_kinds.def"
    GRAPH_RELATIONS
};
#undef NODE
#undef EDGE

enum graph_class {
    GRAPH_CLASS_PLACE,       /* what others are in: hosts, containers; their edges are the nesting */
    GRAPH_CLASS_COMPUTE,     /* processes, threads */
    GRAPH_CLASS_CHANNEL,     /* sockets, pipes, queues */
    GRAPH_CLASS_MEMORY,      /* shared memory, NUMA nodes */
    GRAPH_CLASS_HARDWARE,    /* packages, PCI, network and RDMA devices */
    GRAPH_CLASS_ACCELERATOR, /* GPUs, NPUs */
    GRAPH_CLASS_USE,         /* edges: open, mapped, near */
    GRAPH_CLASS_FLOW,        /* edges: data goes along them */
    GRAPH_CLASS_LINK,        /* edges: wires */
    GRAPH_CLASS_WAIT,        /* edges: of the profile */
    GRAPH_CLASS_OTHER,
};

enum { GRAPH_FIELDS = 4 };

#define GRAPH_LOCAL "local" /* the namespace of this machine; ids leave it out */

/* What graph_kinds.def says of a kind of nodes, and of edges. Static. */
struct graph_kind_info {
    const char *name, *abbr;
    enum graph_class class;
    const char *color, *shape;
    unsigned nkey;
    const char *instance; /* what an instance is called in an id, "" where the kind has none */
    const char *format;
    const char *field[GRAPH_FIELDS]; /* '#' before those that are whole numbers; see graph_field() */
};

struct graph_relation_info {
    const char *name, *witty;
    enum graph_class class;
    int directed;
    const char *color, *meaning;
};

const struct graph_kind_info *graph_kind(enum graph_kind k);
const struct graph_relation_info *graph_relation(enum graph_relation r);
/* The name of field i, NULL past the last. */
const char *graph_field(enum graph_kind k, unsigned i);
int graph_field_is_number(enum graph_kind k, unsigned i);
int graph_kind_find(const char *name);     /* by name or abbreviation; -1: none */
int graph_relation_find(const char *name); /* -1: none */

/* ---- attributes ---- */

enum graph_type { GRAPH_STR, GRAPH_INT, GRAPH_F64, GRAPH_BOOL, GRAPH_NULL, GRAPH_JSON };

struct graph_attr {
    const char *name;
    enum graph_type type;
    union {
        const char *str; /* GRAPH_STR; GRAPH_JSON: the text of an array or object */
        int64_t i;       /* GRAPH_INT, GRAPH_BOOL */
        double f;
    };
};

struct graph_attrs {
    VEC(struct graph_attr) list; /* in the order they were set; names are unique */
};

/* ---- nodes and edges ---- */

/* Merge: the earlier first, the later last, the greater confidence, the sum of weights and counts of edges.
 */
struct graph_node {
    enum graph_kind kind;
    uint32_t index;       /* in graph.nodes */
    const char *ns;       /* "local", or a host's */
    const char *key;      /* the key fields' texts, a \x1f between */
    const char *instance; /* start time, network namespace ...; "" where it is not known */
    const char *source;   /* who found it: "process,socket" */
    struct graph_attrs attrs;
    uint64_t first_ns, last_ns; /* CLOCK_REALTIME; 0: not known */
    double weight;              /* NAN: none; what it is, its kind's source tells */
    double confidence;          /* 0..1 */
    struct graph_group *group;  /* for nested pictures; NULL: at the top */
    void *handle;               /* Agnode_t *; NULL without libcgraph */
    struct graph_node *twin;    /* another of the same kind, namespace and key */
    struct graph_node *first_twin;
};

struct graph_edge {
    enum graph_relation kind;
    uint32_t index;           /* in graph.edges */
    struct graph_node *a, *b; /* of a kind that is not directed: a was added to the graph before b */
    uint64_t bytes_ab, bytes_ba, messages_ab, messages_ba;
    const char *source;
    struct graph_attrs attrs;
    uint64_t first_ns, last_ns;
    double weight, confidence;
    void *handle; /* Agedge_t * */
};

struct graph_group {
    const char *name; /* unique */
    const char *label;
    struct graph_group *parent;
    struct graph_node *node; /* the container, host ... that this is the inside of; or NULL */
    void *handle;            /* Agraph_t * */
};

/* How well a source saw what is there. */
struct graph_coverage {
    const char *source;
    const char *state; /* "ok", "partial", "failed", "timed out", "unavailable", "off" */
    const char *detail;
    uint64_t seen, denied, vanished;
    uint64_t duration_ns;
};

struct graph_store;

struct graph {
    VEC(struct graph_node *) nodes; /* in the order they were added */
    VEC(struct graph_edge *) edges;
    VEC(struct graph_group *) groups;
    VEC(struct graph_coverage) coverage;
    const char *ns;   /* of nodes that are added without one; "local" */
    const char *host; /* "" where it is not known */
    uint64_t time_ns; /* CLOCK_REALTIME of the snapshot; 0: none. New nodes and edges are first and last seen
                         then */
    const char *source; /* whoever adds now; "" */
    struct graph_store *store;
    struct index node_index, edge_index, text_index;
    VEC(char *) texts;
};

void graph_init(struct graph *g);
void graph_release(struct graph *g);
const char *graph_text(struct graph *g, const char *s); /* a copy of s that lives as long as the graph */

/* A node's identity. field: as graph_kinds.def lists them, NULL where one is not known (key fields must be);
 * ns NULL: the graph's; instance NULL: not known, then it is the one node of that key, if there is one. */
struct graph_id {
    enum graph_kind kind;
    const char *ns, *instance;
    const char *field[GRAPH_FIELDS];
};

struct graph_node *graph_add(struct graph *g, const struct graph_id *id);
struct graph_node *graph_find(const struct graph *g, const struct graph_id *id); /* NULL: none */

/* Short forms for what sources add most. start: ticks since boot of /proc/PID/stat, 0: not known. ppid -1:
 * not known. */
struct graph_node *graph_process(struct graph *g, int64_t pid, int64_t ppid, uint64_t start);
struct graph_node *graph_thread(struct graph *g, int64_t tid, uint64_t start);
/* Kinds whose id is one number (NUMA, PIPE, EVENTFD ...) or one text (CONTAINER, PCI ...). */
struct graph_node *graph_numbered(struct graph *g, enum graph_kind kind, int64_t number);
struct graph_node *graph_named(struct graph *g, enum graph_kind kind, const char *name);

/* Finds or adds an edge. a and b are of g. */
struct graph_edge *graph_edge(struct graph *g, enum graph_relation kind, struct graph_node *a,
                              struct graph_node *b);
struct graph_edge *graph_find_edge(const struct graph *g, enum graph_relation kind, struct graph_node *a,
                                   struct graph_node *b); /* NULL: none */
/* Adds what went from `from` to the other end. */
void graph_edge_flow(struct graph_edge *e, const struct graph_node *from, uint64_t bytes, uint64_t messages);
void graph_edge_weight(struct graph_edge *e, double w); /* adds */

/* Set, or replace. `to`: &node->attrs, &edge->attrs. */
void graph_set_str(struct graph *g, struct graph_attrs *to, const char *name, const char *v); /* NULL: null */
void graph_set_int(struct graph *g, struct graph_attrs *to, const char *name, int64_t v);
void graph_set_f64(struct graph *g, struct graph_attrs *to, const char *name, double v);
void graph_set_bool(struct graph *g, struct graph_attrs *to, const char *name, int v);
void graph_set_json(struct graph *g, struct graph_attrs *to, const char *name, const char *text);

const struct graph_attr *graph_attr(const struct graph_attrs *of, const char *name); /* NULL: none */
const char *graph_attr_str(const struct graph_attrs *of, const char *name, const char *otherwise);
int64_t graph_attr_int(const struct graph_attrs *of, const char *name, int64_t otherwise);

/* The id: "Process(pid=12,ppid=1)", "Process(ns=host2,pid=12,ppid=1)"; with its instance where the graph has
 * another node that would read the same. Appended to out. */
void graph_node_id(const struct graph_node *n, struct buf *out);
/* A name for people, one line: a process's name and pid, a socket's address ... Appended. */
void graph_node_label(const struct graph_node *n, struct buf *out);

struct graph_group *graph_group(struct graph *g, struct graph_group *parent, const char *name,
                                const char *label);
void graph_group_put(struct graph *g, struct graph_group *group, struct graph_node *n);

/* "process,socket" and "socket,pipe" give "process,socket,pipe". */
const char *graph_sources_joined(struct graph *g, const char *have, const char *more);

void graph_cover(struct graph *g, const struct graph_coverage *c); /* copies; replaces that of the source */

#endif
