/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session out of many: of the ranks of a run, of the hosts of a system. Each is an origin of the merged
 * one (model/origins.h), its times are moved to one clock, what is equal in several (strings, frames, stacks)
 * is there once.
 *
 *     merge_init(), merge_know() of each meta.json, merge_plan();
 *     where merge_wants_evidence(): merge_look() at each session, in any order;
 *     merge_clocks(); merge_about(); then merge_add() of each in the order of the parts, with a flush of the
 *     store after each, so that one session at a time is in memory; merge_finish().
 */
#ifndef WPROF_EXCHANGE_MERGE_H
#define WPROF_EXCHANGE_MERGE_H

#include "base/map.h"
#include "exchange/merge/clocks.h"
#include "model/graph.h"
#include "model/session.h"
#include "model/source_text.h"

/* A host as its sessions name it. Several may share a clock: containers, namespaces. */
struct merge_host {
    char *name; /* no two are equal: "node1", "node1-2" */
    uint32_t domain;
    struct graph graph; /* of all its sessions */
    size_t graphs;      /* how many those were */
    uint32_t others;    /* origin of tasks that no recording is of; 0: none yet */
    uint32_t machine;   /* task that stands for it; 0: none yet */
};

/* A session to be merged. */
struct merge_part {
    char *path;
    struct meta meta;
    long rank;             /* -1: none is told */
    uint32_t host, domain; /* indices */
    size_t order;          /* as they were given */
};

/* Whose times are one: a boot and a time namespace. */
struct merge_domain {
    char *id;
    uint64_t realtime_offset; /* CLOCK_REALTIME less its clock; 0 with `dated` 0: nothing tells */
    int dated;
    uint32_t machine; /* task that what only holds on this machine is bound to (modules without a build id) */
    struct clocks_offset offset;
};

/* What was left out, or is to be known. */
struct merge_left {
    uint64_t files;  /* of sessions, that are not carried over */
    uint64_t looks;  /* topology.ndjson, of them */
    uint64_t blocks; /* unknown ones, of newer versions */
    uint64_t damaged, unsealed;
    uint64_t lines;    /* of source, whose text is another one in two sessions */
    uint64_t renamed;  /* files of extra/ whose name another session's have */
    uint64_t others;   /* in extra/: links, devices, what is too deep */
    uint64_t frames;   /* that two sessions name differently, though their files are one */
    uint64_t readings; /* of a machine, while another recording has read the same there */
};

/* When a metric of a machine was read: [from, to] of each recording that is in, by another one than the last.
 */
struct merge_read {
    uint64_t from, to;
    size_t part;
};

struct merge_series {
    VEC(struct merge_read) list;
};

struct merge_opts {
    enum clocks_how how;
    const char *const *barriers; /* kinds of marks that all ranks leave together, besides the usual ones */
    size_t nbarriers;
};

struct merge {
    struct merge_opts opts;
    VEC(struct merge_part) parts; /* by rank where all have one, else as given */
    VEC(struct merge_host) hosts;
    VEC(struct merge_domain) domains;
    struct clocks clocks;
    struct store store;
    struct meta meta;
    VEC(char *)
    barriers;           /* kinds of marks that are barriers, besides the usual ones: wanted, or a session's */
    struct map ranks;   /* that there are */
    uint32_t nranks;    /* above the highest of them */
    struct map threads; /* of a boot, by tid and start -> task */
    struct map samples; /* stack << 16 | flags -> weight: of what has been flushed */
    uint64_t nevents;   /* flushed ones, and those of no kind that this version knows */
    uint64_t joined;    /* connections between hosts */
    int numbered;       /* ranks were given in the order of the arguments */
    struct map groups;  /* of a boot, a control group's number -> the task that its figures bear */
    struct map machines; /* machine, metric and part of it -> index + 1 of the series */
    VEC(struct merge_series) series;
    struct source_text source;
    VEC(char *) extra; /* files that were carried over: paths in the merged session */
    struct merge_left left;
};

/* Where files go: an empty directory of ours, or what is there was put by us. */
struct merge_to {
    int dirfd;
    uid_t uid; /* (uid_t)-1: this process's user */
    gid_t gid;
};

void merge_init(struct merge *m, const struct merge_opts *o);
void merge_release(struct merge *m);

/* Takes over the meta. */
void merge_know(struct merge *m, const char *path, struct meta *meta);
/* Order, ranks, hosts and clocks. -1 with `e`: a session is there twice. */
int merge_plan(struct merge *m, struct err *e);

int merge_wants_evidence(const struct merge *m);
/* What of a session tells how its clock is apart from others'. `files`: the directory it lies in. */
int merge_look(struct merge *m, size_t part, const struct session *s, struct err *e);
void merge_clocks(struct merge *m);

/* What the merged session's meta.json says before its end; session_id and state are there after merge_init().
 */
void merge_about(struct merge *m);
int merge_add(struct merge *m, size_t part, const struct session *s, struct err *e);
/* Copies what lies in its extra/. */
int merge_extra_add(struct merge *m, size_t part, const struct session *s, const struct merge_to *to,
                    struct err *e);

/* The topologies of all hosts as one, into an initialised graph; 0: there are none. */
int merge_graph(struct merge *m, struct graph *out);

/* The store's events become sums of all samples, for the figures of meta.json: session_reload() said that
 * they are too many. */
void merge_sums(struct merge *m);
/* The last of the meta: notes of what was left out. */
void merge_finish(struct merge *m);

/* ---- between the files of this folder ---- */

int merge_topology_read(const struct session *s, struct graph *g, struct err *e);
int merge_topology_add(struct merge *m, size_t part, const struct session *s, struct err *e);
void merge_source_add(struct merge *m, const struct session *s);
void merge_meta_add(struct merge *m, const struct merge_part *p);
/* Recordings of one machine read the same figures of it: those of the first that did at a time are kept. 0:
 * this reading is another one's already. */
int merge_machine_keep(struct merge *m, const struct merge_part *p, const struct event *ev);
void merge_machine_release(struct merge *m);
void merge_counters_add(struct merge *m, const struct store *from);
/* Its tables and events into the store, moved by `offset`. */
void merge_tables_add(struct merge *m, struct merge_part *p, const struct store *from);

#endif
