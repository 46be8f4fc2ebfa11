/* SPDX-License-Identifier: Apache-2.0 */
/* What is next to which NUMA node. */
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_DIR "/sys/devices/system/node"

static void read_cpus(struct hw_near *n, struct topo_ctx *ctx, struct hw_near_node *node)
{
    char list[80], mask[80];

    snprintf(list, sizeof(list), NODE_DIR "/node%lld/cpulist", (long long)node->id);
    snprintf(mask, sizeof(mask), NODE_DIR "/node%lld/cpumap", (long long)node->id);
    hw_read_set(ctx, list, mask, &node->cpus);
    if (idset_count(&n->online))
        idset_intersect(&node->cpus, &n->online);
}

void hw_near_read(struct hw_near *n, struct topo_ctx *ctx)
{
    struct dir_names names = {0};

    *n = (struct hw_near){0};
    hw_read_list(ctx, "/sys/devices/system/cpu/online", &n->online);
    hw_gpu_memory_nodes(ctx, &n->of_gpu);
    topo_list(ctx, NODE_DIR, &names);
    for (size_t i = 0; i < names.list.n; i++) {
        int64_t id = hw_numbered(names.list.a[i], "node");

        if (id < 0 || id >= IDSET_MAX || idset_has(&n->of_gpu, (unsigned)id))
            continue;
        *vec_push(&n->nodes) = (struct hw_near_node){.id = id};
        read_cpus(n, ctx, &n->nodes.a[n->nodes.n - 1]);
    }
    dir_names_release(&names);
}

void hw_near_release(struct hw_near *n)
{
    for (size_t i = 0; i < n->nodes.n; i++)
        idset_release(&n->nodes.a[i].cpus);
    vec_release(&n->nodes);
    idset_release(&n->online);
    idset_release(&n->of_gpu);
}

/* The nodes that all the CPUs are of; empty where one of them is there in part. */
static void nodes_of(struct hw_near *n, const struct idset *cpus, struct idset *nodes)
{
    for (size_t i = 0; i < n->nodes.n; i++) {
        const struct hw_near_node *node = &n->nodes.a[i];

        if (!idset_meets(&node->cpus, cpus))
            continue;
        if (!idset_within(&node->cpus, cpus)) {
            n->contradicted++;
            idset_release(nodes);
            return;
        }
        idset_add(nodes, (unsigned)node->id);
    }
}

static void by_cpus(struct hw_near *n, struct topo_ctx *ctx, const char *folder, struct idset *nodes)
{
    struct idset list = {0}, mask = {0};
    char path[1100];
    int has_list, has_mask;

    snprintf(path, sizeof(path), "%s/local_cpulist", folder);
    has_list = !hw_read_list(ctx, path, &list);
    snprintf(path, sizeof(path), "%s/local_cpus", folder);
    has_mask = !hw_read_mask(ctx, path, &mask);
    if (has_list && has_mask && !idset_equal(&list, &mask))
        n->contradicted++;
    else if (has_list || has_mask) {
        struct idset *cpus = has_list ? &list : &mask;

        idset_intersect(cpus, &n->online);
        if (!idset_equal(cpus, &n->online))
            nodes_of(n, cpus, nodes);
    }
    idset_release(&list);
    idset_release(&mask);
}

size_t hw_near_join(struct hw_near *n, struct topo_ctx *ctx, struct graph *g, struct graph_node *device,
                    const char *folder)
{
    struct idset nodes = {0};
    char path[1100];
    int64_t told;
    size_t count;

    snprintf(path, sizeof(path), "%s/numa_node", folder);
    told = topo_read_int(ctx, path, -1);
    for (size_t i = 0; i < n->nodes.n; i++)
        if (n->nodes.a[i].id == told)
            idset_add(&nodes, (unsigned)told);
    if (!idset_count(&nodes))
        by_cpus(n, ctx, folder, &nodes);
    count = idset_count(&nodes);
    if (count) {
        graph_edge(g, GRAPH_EDGE_NUMA_AFFINITY, device, hw_numa_place(g, &nodes));
        hw_set_ids(g, &device->attrs, "numa_affinity", &nodes);
    }
    idset_release(&nodes);
    return count;
}

struct graph_node *hw_numa_place(struct graph *g, const struct idset *nodes)
{
    struct buf name = {0};
    struct graph_node *set;

    if (idset_count(nodes) < 2)
        return idset_count(nodes) ? graph_numbered(g, GRAPH_NUMA, idset_first(nodes)) : NULL;
    idset_text(nodes, &name);
    set = graph_named(g, GRAPH_NUMA_SET, buf_str(&name));
    for (int64_t i = idset_first(nodes); i >= 0; i = idset_next(nodes, i))
        graph_edge(g, GRAPH_EDGE_NUMA_CONTAIN, set, graph_numbered(g, GRAPH_NUMA, i));
    buf_release(&name);
    return set;
}

void hw_gpu_memory_nodes(struct topo_ctx *ctx, struct idset *nodes)
{
    struct dir_names gpus = {0};

    topo_list(ctx, "/proc/driver/nvidia/gpus", &gpus);
    for (size_t i = 0; i < gpus.list.n; i++) {
        struct buf text = {0};
        char path[128];
        const char *line;

        snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%.32s/numa_status", gpus.list.a[i]);
        if (!topo_read(ctx, path, &text) && (line = strstr(buf_str(&text), "Node:"))) {
            char *end;
            long node = strtol(line + 5, &end, 10);

            if (end != line + 5 && node >= 0 && node < IDSET_MAX)
                idset_add(nodes, (unsigned)node);
        }
        buf_release(&text);
    }
    dir_names_release(&gpus);
}
