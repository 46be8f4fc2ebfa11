/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topology of a recording: processes as they came and went, what went between them and when, and looks at
 * the machine beside that. It needs what src/collect shares (tier A's programs in the kernel) and what
 * src/topo finds, so its collector lies above both.
 */
#ifndef WPROF_RECORD_TOPOLOGY_H
#define WPROF_RECORD_TOPOLOGY_H

#include "model/graph.h"
#include "model/store.h"
#include "record/topology_flows.h"

#include <stdint.h>

struct topology_opts {
    uint64_t interval;                /* ns between snapshots in topology.ndjson; 0: none is kept */
    uint64_t min_bytes, min_messages; /* connections below one of them are left out and counted */
    unsigned hops;                    /* from the targets outward; 0: no limit */
    int pipe_bytes;                   /* also count pipes: every system call of the machine gets slower */
};

#define TOPOLOGY_LINES "topology.ndjson"

struct topology_how {
    uint64_t offset;        /* CLOCK_REALTIME less CLOCK_MONOTONIC, ns */
    uint64_t now;           /* CLOCK_REALTIME: when those that have not ended were last seen */
    uint64_t only_since;    /* CLOCK_BOOTTIME ns: older ones only where the graph has them: of a whole machine
                               threads of the kernel are among the tasks */
    int launched, launcher; /* the command's pid and that of whoever made it; 0: none */
    int looks_name;         /* nobody tells of exec: a name that a look has found is the later one */
};

/* All processes that the store's tasks tell of, into an initialised graph whose time is 0: what it finds was
 * seen when the tasks were. Returns how many there are. */
size_t topology_processes(struct graph *g, const struct store *s, const struct topology_how *how);

struct topology_pids {
    VEC(int) list;
};

/* Adds processes that are there, until the list has `max`: first those whose parent is not among them, who
 * are nobody's child to a look that is asked for the others. Returns how many of these there was no room for.
 */
size_t topology_living(const struct store *s, size_t max, struct topology_pids *out);

/* The process's node by what a task or record says: pid in our namespace, start since boot in ns. */
struct graph_node *topology_process(struct graph *g, uint32_t ns_pid, int64_t ns_ppid, uint64_t start_ns);
void topology_seen(uint64_t *first, uint64_t *last, uint64_t from, uint64_t to); /* widens */

#endif
