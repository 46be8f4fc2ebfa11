/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's GPUs that compute: the topology of the kernel's driver amdkfd in /sys/class/kfd, its processes, and
 * who has the render devices open. Facts: include/uapi/linux/kfd_sysfs.h and kfd_topology.c of the kernel.
 */
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_DIR "/sys/class/kfd/kfd/topology/nodes"
#define PROCS_DIR "/sys/class/kfd/kfd/proc"
#define PCI_DIR   "/sys/bus/pci/devices"

enum { HEAP_PUBLIC = 1, HEAP_PRIVATE = 2 }; /* HSA_MEM_HEAP_TYPE_FB_*: memory of the GPU */
enum { LINK_XGMI = 11 };                    /* CRAT_IOLINK_TYPE_XGMI */

struct gpu {
    int64_t kfd_node;
    uint64_t gpu_id;
    int64_t render; /* /dev/dri/renderDN, -1: not known */
    char pci[HW_PCI_LEN];
    struct graph_node *node;
};

struct gpus {
    struct topo_ctx *ctx;
    struct graph *g;
    VEC(struct gpu) list;
};

/* "name value" lines. */
static int64_t property(const char *text, const char *name, int64_t otherwise)
{
    size_t n = strlen(name);

    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, name, n) && line[n] == ' ')
            return strtoll(line + n + 1, NULL, 10);
    return otherwise;
}

/* ---- one GPU ---- */

static void set_memory(struct gpus *u, const struct gpu *gpu)
{
    struct dir_names banks = {0};
    char path[160];
    int64_t bytes = 0;

    snprintf(path, sizeof(path), NODES_DIR "/%lld/mem_banks", (long long)gpu->kfd_node);
    topo_list(u->ctx, path, &banks);
    for (size_t i = 0; i < banks.list.n; i++) {
        struct buf text = {0};
        int64_t heap;

        snprintf(path, sizeof(path), NODES_DIR "/%lld/mem_banks/%.16s/properties", (long long)gpu->kfd_node,
                 banks.list.a[i]);
        topo_read(u->ctx, path, &text);
        heap = property(buf_str(&text), "heap_type", -1);
        if (heap == HEAP_PUBLIC || heap == HEAP_PRIVATE)
            bytes += property(buf_str(&text), "size_in_bytes", 0);
        buf_release(&text);
    }
    if (bytes)
        graph_set_int(u->g, &gpu->node->attrs, "memory_bytes", bytes);
    dir_names_release(&banks);
}

static void set_pci(struct gpus *u, const struct gpu *gpu)
{
    static const char *const files[][2] = {
        {"mem_info_vram_used", "used_bytes"},
        {"gpu_busy_percent", "busy_percent"},
        {"mem_busy_percent", "memory_busy_percent"},
    };
    char folder[80], path[128], text[96];

    snprintf(folder, sizeof(folder), PCI_DIR "/%s", gpu->pci);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        int64_t v;

        snprintf(path, sizeof(path), "%s/%s", folder, files[i][0]);
        v = topo_read_int(u->ctx, path, -1);
        if (v >= 0)
            graph_set_int(u->g, &gpu->node->attrs, files[i][1], v);
    }
    snprintf(path, sizeof(path), "%s/product_name", folder);
    if (!topo_read_line(u->ctx, path, text, sizeof(text)) && *text)
        graph_set_str(u->g, &gpu->node->attrs, "name", text);
    snprintf(path, sizeof(path), "%s/unique_id", folder);
    if (!topo_read_line(u->ctx, path, text, sizeof(text)) && *text)
        graph_set_str(u->g, &gpu->node->attrs, "device_id", text);
    hw_pci_set_link(u->ctx, u->g, &gpu->node->attrs, folder);
}

/* location_id is bus << 8 | device << 3 | function. */
static void add(struct gpus *u, struct hw_near *near, int64_t kfd_node, uint64_t gpu_id,
                const char *properties)
{
    int64_t at = property(properties, "location_id", 0), domain = property(properties, "domain", 0),
            gfx = property(properties, "gfx_target_version", 0);
    struct gpu *gpu = vec_push(&u->list);
    char id[24], name[64], path[160];

    *gpu = (struct gpu){kfd_node, gpu_id, property(properties, "drm_render_minor", -1)};
    snprintf(gpu->pci, sizeof(gpu->pci), "%04x:%02x:%02x.%x", (unsigned)domain & 0xffffff,
             (unsigned)(at >> 8) & 0xff, (unsigned)(at >> 3) & 0x1f, (unsigned)at & 7);
    snprintf(id, sizeof(id), "%zu", u->list.n - 1);
    gpu->node = graph_add(u->g, &(struct graph_id){.kind = GRAPH_GPU, .field = {id, gpu->pci}});
    snprintf(path, sizeof(path), NODES_DIR "/%lld/name", (long long)kfd_node);
    if (topo_read_line(u->ctx, path, name, sizeof(name)) || !*name)
        snprintf(name, sizeof(name), "AMD GPU");
    graph_set_str(u->g, &gpu->node->attrs, "name", name);
    graph_set_str(u->g, &gpu->node->attrs, "device_type", "gpu");
    if (gfx > 0) { /* 90402: gfx942, stepping in hexadecimal */
        snprintf(name, sizeof(name), "gfx%lld%lld%llx", (long long)gfx / 10000, (long long)gfx / 100 % 100,
                 (unsigned long long)gfx % 100);
        graph_set_str(u->g, &gpu->node->attrs, "architecture", name);
    }
    set_memory(u, gpu);
    set_pci(u, gpu);
    hw_place(near, u->ctx, u->g, gpu->node, gpu->pci);
    u->ctx->seen++;
}

/* ---- links between them ---- */

static void join_links(struct gpus *u, const struct gpu *from)
{
    struct dir_names links = {0};
    char path[160];

    snprintf(path, sizeof(path), NODES_DIR "/%lld/io_links", (long long)from->kfd_node);
    topo_list(u->ctx, path, &links);
    for (size_t i = 0; i < links.list.n; i++) {
        struct buf text = {0};

        snprintf(path, sizeof(path), NODES_DIR "/%lld/io_links/%.16s/properties", (long long)from->kfd_node,
                 links.list.a[i]);
        topo_read(u->ctx, path, &text);
        for (size_t k = 0; k < u->list.n; k++) {
            struct graph_edge *e;

            if (property(buf_str(&text), "type", -1) != LINK_XGMI || &u->list.a[k] <= from ||
                property(buf_str(&text), "node_to", -1) != u->list.a[k].kfd_node)
                continue;
            e = graph_edge(u->g, GRAPH_EDGE_LINK, from->node, u->list.a[k].node);
            graph_set_str(u->g, &e->attrs, "link", "xGMI");
            if (property(buf_str(&text), "max_bandwidth", 0) > 0)
                graph_set_int(u->g, &e->attrs, "max_mb_per_s", property(buf_str(&text), "max_bandwidth", 0));
        }
        buf_release(&text);
    }
    dir_names_release(&links);
}

/* ---- who uses them ---- */

/* The driver has a folder for each process, with a file for its memory on each GPU. */
static void add_processes(struct gpus *u)
{
    struct dir_names pids = {0};

    topo_list(u->ctx, PROCS_DIR, &pids);
    for (size_t i = 0; i < pids.list.n; i++) {
        struct graph_node *p = topo_process(u->ctx, u->g, atoi(pids.list.a[i]));

        for (size_t k = 0; p && k < u->list.n; k++) {
            struct graph_edge *e;
            char path[160];
            int64_t bytes;

            snprintf(path, sizeof(path), PROCS_DIR "/%.16s/vram_%llu", pids.list.a[i],
                     (unsigned long long)u->list.a[k].gpu_id);
            bytes = topo_read_int(u->ctx, path, 0);
            if (bytes <= 0)
                continue;
            e = graph_edge(u->g, GRAPH_EDGE_ACCESS, p, u->list.a[k].node);
            graph_set_int(u->g, &e->attrs, "memory_bytes", bytes);
            graph_edge_weight(e, (double)bytes);
        }
    }
    dir_names_release(&pids);
}

static void add_open(struct gpus *u)
{
    const struct scan *s = u->ctx->scan;

    for (size_t i = 0; i < s->fds.n; i++) {
        const struct scan_fd *f = &s->fds.a[i];
        int64_t minor =
            f->kind == SCAN_FD_DEVICE ? hw_numbered(scan_text(s, f->path), "/dev/dri/renderD") : -1;

        for (size_t k = 0; minor >= 0 && k < u->list.n; k++)
            if (u->list.a[k].render == minor)
                hw_add_open(u->ctx, u->g, f, u->list.a[k].node);
    }
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct gpus u = {.ctx = ctx, .g = g};
    struct dir_names nodes = {0};
    struct hw_near near;

    topo_list(ctx, NODES_DIR, &nodes);
    hw_near_read(&near, ctx);
    for (size_t i = 0; i < nodes.list.n; i++) {
        struct buf text = {0};
        char path[160];
        int64_t id;

        snprintf(path, sizeof(path), NODES_DIR "/%.16s/gpu_id", nodes.list.a[i]);
        id = topo_read_int(ctx, path, 0);
        snprintf(path, sizeof(path), NODES_DIR "/%.16s/properties", nodes.list.a[i]);
        if (id > 0 && !topo_read(ctx, path, &text)) /* 0: CPUs are nodes there, too */
            add(&u, &near, atoll(nodes.list.a[i]), (uint64_t)id, buf_str(&text));
        buf_release(&text);
    }
    for (size_t i = 0; i < u.list.n; i++)
        join_links(&u, &u.list.a[i]);
    add_processes(&u);
    add_open(&u);
    if (!u.list.n) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "no AMD GPU that computes, no driver amdkfd");
    }
    hw_near_release(&near);
    dir_names_release(&nodes);
    vec_release(&u.list);
    return 0;
}

const struct topo_source topo_source_amd = {
    .name = "amd",
    .summary = "AMD's GPUs, xGMI, and the processes that use them",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_USES,
    .devices = "/dev/kfd\0/dev/dri/\0",
    .witty = "GPU",
    .collect = collect,
};
