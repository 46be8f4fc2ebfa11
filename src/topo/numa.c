/* SPDX-License-Identifier: Apache-2.0 */
/* NUMA nodes: their CPUs, memory, counters and distances. Documentation/ABI/stable/sysfs-devices-node,
 * Documentation/admin-guide/numastat.rst. */
#include "topo/hardware.h"

#include "base/json.h"
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_DIR "/sys/devices/system/node"

enum { EDGES_MAX = 16 }; /* with more nodes, distances are attributes alone: 120 edges are still looked at */

struct numa_node {
    int64_t id;
    struct graph_node *node;
    VEC(int64_t) distances; /* to the nodes online, in their order */
};

struct numa {
    VEC(struct numa_node) nodes;
    struct idset known;  /* all that the kernel has */
    struct idset of_gpu; /* whose memory is a GPU's */
    struct idset online_cpus;
    struct hw_allowed allowed;
    int restricted;
};

/* ---- one node ---- */

/* "Node 0 MemTotal:  131507688 kB": their mem_info, and the total in bytes. */
static void set_memory(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *folder)
{
    struct buf text = {0}, json = {0};
    struct json_writer w = {.out = &json};
    char path[128], *rest, *line;
    int64_t total = -1, left = -1;

    snprintf(path, sizeof(path), "%s/meminfo", folder);
    topo_read(ctx, path, &text);
    rest = text.data;
    json_object(&w, NULL);
    while ((line = strsep(&rest, "\n"))) {
        char *key, *value;

        if (strncmp(line, "Node ", 5) != 0)
            continue;
        key = line + 5 + strspn(line + 5, "0123456789 ");
        value = strchr(key, ':');
        if (!value)
            continue;
        *value++ = '\0';
        value += strspn(value, " \t");
        json_str(&w, key, value);
        if (!strcmp(key, "MemTotal"))
            total = strtoll(value, NULL, 10) << 10;
        else if (!strcmp(key, "MemFree"))
            left = strtoll(value, NULL, 10) << 10;
    }
    json_end_object(&w);
    if (total >= 0)
        graph_set_int(g, &n->attrs, "memory_bytes", total);
    if (left >= 0)
        graph_set_int(g, &n->attrs, "free_bytes", left);
    if (text.len)
        graph_set_json(g, &n->attrs, "mem_info", buf_str(&json));
    buf_release(&text);
    buf_release(&json);
}

static void set_counters(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *folder)
{
    struct buf text = {0}, json = {0};
    struct json_writer w = {.out = &json};
    char path[128], *rest, *line;

    snprintf(path, sizeof(path), "%s/numastat", folder);
    topo_read(ctx, path, &text);
    rest = text.data;
    json_object(&w, NULL);
    while ((line = strsep(&rest, "\n"))) {
        char *value = strchr(line, ' ');

        if (!value)
            continue;
        *value++ = '\0';
        json_u64(&w, line, strtoull(value, NULL, 10));
    }
    json_end_object(&w);
    if (text.len)
        graph_set_json(g, &n->attrs, "numa_stats", buf_str(&json));
    buf_release(&text);
    buf_release(&json);
}

static void read_distances(struct topo_ctx *ctx, struct numa_node *n, const char *folder)
{
    char path[128], *p, *end;
    struct buf text = {0};

    snprintf(path, sizeof(path), "%s/distance", folder);
    topo_read(ctx, path, &text);
    for (p = text.data; p && *p; p = end) {
        long d = strtol(p, &end, 10);

        if (end == p)
            break;
        *vec_push(&n->distances) = d;
    }
    buf_release(&text);
}

/* The blocks of memory ("memory37"), which their graphs tell. */
static void set_blocks(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *folder)
{
    struct dir_names names = {0};
    struct idset blocks = {0};

    topo_list(ctx, folder, &names);
    for (size_t i = 0; i < names.list.n; i++) {
        int64_t block = hw_numbered(names.list.a[i], "memory");

        if (block >= 0 && block < IDSET_MAX)
            idset_add(&blocks, (unsigned)block);
    }
    if (idset_count(&blocks))
        hw_set_ids(g, &n->attrs, "memory_set", &blocks);
    idset_release(&blocks);
    dir_names_release(&names);
}

/* The packages that its CPUs are of. */
static void join_packages(struct topo_ctx *ctx, struct graph *g, struct graph_node *n,
                          const struct idset *cpus)
{
    for (int64_t cpu = idset_first(cpus); cpu >= 0; cpu = idset_next(cpus, cpu)) {
        char path[128];
        int64_t id;

        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%lld/topology/physical_package_id",
                 (long long)cpu);
        id = topo_read_int(ctx, path, -2);
        if (id > -2)
            graph_edge(g, GRAPH_EDGE_HOST, graph_numbered(g, GRAPH_PACKAGE, id < 0 ? 0 : id), n);
    }
}

static void read_node(struct numa *m, struct topo_ctx *ctx, struct graph *g, int64_t id)
{
    struct numa_node *n = vec_push(&m->nodes);
    char folder[80], list[128], mask[128];
    struct idset cpus = {0};

    *n = (struct numa_node){.id = id, .node = graph_numbered(g, GRAPH_NUMA, id)};
    snprintf(folder, sizeof(folder), NODE_DIR "/node%lld", (long long)id);
    snprintf(list, sizeof(list), "%s/cpulist", folder);
    snprintf(mask, sizeof(mask), "%s/cpumap", folder);
    if (hw_read_set(ctx, list, mask, &cpus))
        ctx->vanished++;
    if (idset_count(&m->online_cpus))
        idset_intersect(&cpus, &m->online_cpus);
    hw_set_ids(g, &n->node->attrs, "cpu_set", &cpus);
    set_blocks(ctx, g, n->node, folder);
    set_counters(ctx, g, n->node, folder);
    set_memory(ctx, g, n->node, folder);
    read_distances(ctx, n, folder);
    join_packages(ctx, g, n->node, &cpus);
    if (m->restricted)
        graph_set_bool(g, &n->node->attrs, "allowed",
                       id < IDSET_MAX && idset_has(&m->allowed.mems, (unsigned)id));
    ctx->seen++;
    idset_release(&cpus);
}

/* ---- distances ---- */

/* How many nodes stand before that one in the files "distance". */
static size_t place_of(const struct numa *m, int64_t id)
{
    size_t n = 0;

    for (int64_t i = idset_first(&m->known); i >= 0 && i < id; i = idset_next(&m->known, i))
        n++;
    return n;
}

static int64_t distance(const struct numa *m, const struct numa_node *a, const struct numa_node *b)
{
    size_t place = place_of(m, b->id);

    /* A list of another length is of other nodes than we see. */
    return a->distances.n == idset_count(&m->known) ? a->distances.a[place] : -1;
}

static void set_distances(const struct numa *m, struct graph *g, const struct numa_node *n)
{
    struct buf json = {0};
    struct json_writer w = {.out = &json};

    json_object(&w, NULL);
    for (size_t i = 0; i < m->nodes.n; i++) {
        int64_t d = distance(m, n, &m->nodes.a[i]);
        char id[24];

        snprintf(id, sizeof(id), "%lld", (long long)m->nodes.a[i].id);
        if (d >= 0)
            json_i64(&w, id, d);
    }
    json_end_object(&w);
    if (n->distances.n)
        graph_set_json(g, &n->node->attrs, "distance_to_all_numa", buf_str(&json));
    buf_release(&json);
}

static void join_pair(const struct numa *m, struct graph *g, const struct numa_node *a,
                      const struct numa_node *b)
{
    int64_t there = distance(m, a, b), back = distance(m, b, a);
    struct graph_edge *edge;

    if (there < 0 && back < 0)
        return;
    edge = graph_edge(g, GRAPH_EDGE_NUMA_DISTANCE, a->node, b->node);
    graph_edge_weight(edge, (double)(there < 0 ? back : there));
    if (there >= 0 && back >= 0 && there != back)
        graph_set_int(g, &edge->attrs, "distance_back", back);
}

static void add_distances(const struct numa *m, struct topo_ctx *ctx, struct graph *g)
{
    for (size_t i = 0; i < m->nodes.n; i++)
        set_distances(m, g, &m->nodes.a[i]);
    if (m->nodes.n > EDGES_MAX) {
        hw_note(ctx, "distances of so many nodes are attributes, not edges");
        return;
    }
    for (size_t i = 0; i < m->nodes.n; i++)
        for (size_t k = i + 1; k < m->nodes.n; k++)
            join_pair(m, g, &m->nodes.a[i], &m->nodes.a[k]);
}

/* ---- all ---- */

static void release(struct numa *m)
{
    for (size_t i = 0; i < m->nodes.n; i++)
        vec_release(&m->nodes.a[i].distances);
    vec_release(&m->nodes);
    idset_release(&m->known);
    idset_release(&m->of_gpu);
    idset_release(&m->online_cpus);
    hw_allowed_release(&m->allowed);
}

static void note(struct topo_ctx *ctx, const struct numa *m)
{
    struct buf b = {0};

    idset_text(&m->allowed.mems, &b);
    if (m->restricted)
        hw_note(ctx, "the control group allows memory of nodes %s", buf_str(&b));
    buf_clear(&b);
    idset_text(&m->of_gpu, &b);
    if (idset_count(&m->of_gpu))
        hw_note(ctx, "nodes %s are memory of GPUs", buf_str(&b));
    buf_release(&b);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct dir_names names = {0};
    struct numa m = {0};

    if (topo_list(ctx, NODE_DIR, &names)) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "the kernel tells of no NUMA nodes");
        return 0;
    }
    for (size_t i = 0; i < names.list.n; i++) {
        int64_t id = hw_numbered(names.list.a[i], "node");

        if (id >= 0 && id < IDSET_MAX)
            idset_add(&m.known, (unsigned)id);
    }
    hw_read_list(ctx, "/sys/devices/system/cpu/online", &m.online_cpus);
    hw_gpu_memory_nodes(ctx, &m.of_gpu);
    hw_allowed_read(ctx, &m.allowed);
    m.restricted = m.allowed.has_mems && !idset_within(&m.known, &m.allowed.mems);
    for (int64_t id = idset_first(&m.known); id >= 0; id = idset_next(&m.known, id))
        if (!idset_has(&m.of_gpu, (unsigned)id))
            read_node(&m, ctx, g, id);
    add_distances(&m, ctx, g);
    note(ctx, &m);
    dir_names_release(&names);
    release(&m);
    return 0;
}

const struct topo_source topo_source_numa = {
    .name = "numa",
    .summary = "NUMA nodes: their CPUs, memory and distances",
    .on_by_default = 1,
    .part = TOPO_HARDWARE,
    .describes = {2, {GRAPH_NUMA, GRAPH_NUMA_SET}},
    .witty = "Numa",
    .collect = collect,
};
