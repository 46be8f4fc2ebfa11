/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source of the topology: one file in src/topo, one line in sources.def:
 *     SOURCE(socket)   ->   const struct topo_source topo_source_socket = {...};
 *
 * Each source runs in a process of its own (a forked child), beside the others, with an empty graph; what it
 * has put there when collect() returns is sent back and merged. So it may block or crash: after the time
 * limit it is ended and listed as "timed out". It must not need what other sources find: merging joins them,
 * since equal nodes are one. It may use up what it likes, but does not print, exit or start threads that
 * outlive it.
 */
#ifndef WPROF_TOPO_SOURCE_H
#define WPROF_TOPO_SOURCE_H

#include "base/dir.h"
#include "base/err.h"
#include "model/graph.h"
#include "topo/scan.h"

#include <stdint.h>

struct topo_limits {
    uint64_t timeout_ns;  /* of one source */
    uint64_t duration_ns; /* what is a rate may be watched for so long (top CPU, RDMA counters); 0: a look */
    unsigned max_pairs;   /* of processes joined by one object; more are counted as a crowd */
    unsigned max_threads; /* threads are nodes where there are no more; else those of the pids' trees alone */
    unsigned top_cpu;     /* how many processes the source of that name takes */
    double numa_switches; /* a thread is kept from this share of switches on, */
    double numa_cpu;      /* or from this share of its process's CPU time on (witty-profiler: 0.1 both) */
    double numa_busy;     /* processes that use less of a CPU are not looked at for it */
    uint64_t
        numa_walk; /* bytes of a process whose pages are looked up: the kernel walks 256 GiB in a second */
    uint64_t min_bytes, min_messages; /* flows below both are left out and counted; 0: none is */
};

struct topo_ctx {
    const char *root;        /* "" or a folder that stands for /: root/proc, root/sys, root/dev */
    int live;                /* root is "": system calls tell the same as the files do */
    const struct scan *scan; /* one pass over root/proc, for those with needs_scan; else NULL */
    const int *pids;         /* --pid; processes of this root */
    size_t npids;
    int own; /* a pid that the scan leaves out */
    struct topo_limits limits;
    uint64_t seen, denied,
        vanished; /* the source counts: objects found, not allowed to be read, gone meanwhile */
    const char
        *state; /* NULL: ok, or partial where denied is not 0. "unavailable": there is no such thing here */
    char detail[256]; /* a phrase for people: "no NVIDIA driver" */
};

/* What a source is for, and so what a look at a few processes asks of it (narrow.c). */
enum topo_part {
    TOPO_JOINS,  /* processes with others, by their parents and descriptors: asked of all */
    TOPO_SHARES, /* by what they map or name: asked of those joined, then of all where they have something */
    TOPO_DESCRIBES, /* a process: asked of those that are in the graph */
    TOPO_USES,      /* who uses devices: asked where somebody in the graph has one open */
    TOPO_HARDWARE, /* devices, or other nodes: asked where the graph has one of the kinds that it describes */
};
enum { TOPO_KINDS = 6 };

struct topo_source {
    const char *name, *summary;
    int on_by_default;
    int needs_scan;
    enum topo_part part;
    int goes_away;       /* into other namespaces: has a process of its own even where others have none */
    const char *devices; /* of TOPO_USES: beginnings of paths, each ended by a NUL */
    struct {
        uint8_t n, kind[TOPO_KINDS];
    } describes;       /* of TOPO_HARDWARE */
    const char *witty; /* the seeds of witty-profiler that it stands for, "" where none */
    /* -1 with `e`: failed; what is in g is taken all the same. */
    int (*collect)(struct topo_ctx *ctx, struct graph *g, struct err *e);
};

#define SOURCE(name) extern const struct topo_source topo_source_##name;
#include "topo/sources.def"
#undef SOURCE

/* A file of the root ("/sys/class/..."), appended to out; -1, quietly: not there; denied and vanished are
 * counted by errno. */
int topo_read(struct topo_ctx *ctx, const char *path, struct buf *out);
/* The same without the newline at its end, in a buffer of n bytes; "" where it is not there. Returns 0 or -1.
 */
int topo_read_line(struct topo_ctx *ctx, const char *path, char *out, size_t n);
/* The number in it, or `otherwise`. */
int64_t topo_read_int(struct topo_ctx *ctx, const char *path, int64_t otherwise);
/* root + path, owned by the caller. */
char *topo_path(const struct topo_ctx *ctx, const char *path);
/* dir_names() of a folder of the root. */
int topo_list(struct topo_ctx *ctx, const char *path, struct dir_names *out);

/* The node of a process that the scan has, with its name and command line; NULL: not there (any more). */
struct graph_node *topo_process(const struct topo_ctx *ctx, struct graph *g, int pid);

/* Whether it is one of the pids asked for, or descends from one. */
int topo_asked(const struct topo_ctx *ctx, const struct scan_process *p);

/* Joins all pairs of `n` processes (nodes of g) by edges of that kind, unless there are more pairs than the
 * limit: returns how many pairs were left out. */
uint64_t topo_join(const struct topo_ctx *ctx, struct graph *g, enum graph_relation kind,
                   struct graph_node *const *p, size_t n);

#endif
