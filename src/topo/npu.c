/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ascend NPUs: by the driver's library, which also tells who uses how much of them; else by /dev/davinciN,
 * PCI, and who has the devices open.
 */
#include "platform/dcmi.h"
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCI_DIR "/sys/bus/pci/devices"

enum { VENDOR = 0x19e5, ACCELERATOR = 0x12 }; /* Huawei; the base class */

struct npu {
    int64_t id;
    char pci[HW_PCI_LEN]; /* "": not known */
    struct graph_node *node;
};

struct npus {
    struct topo_ctx *ctx;
    struct graph *g;
    VEC(struct npu) list;
    struct hw_near near;
    uint64_t strangers; /* processes that the driver names and /proc does not */
};

/* Its cpu_affinity is a part of its id, so it must be known when it is added. */
static struct npu *add(struct npus *u, int64_t id, const char *pci, const char *affinity)
{
    struct npu *n = vec_push(&u->list);
    char number[24], path[128], cpus[256];

    *n = (struct npu){.id = id};
    snprintf(n->pci, sizeof(n->pci), "%s", pci);
    snprintf(number, sizeof(number), "%lld", (long long)id);
    snprintf(cpus, sizeof(cpus), "%s", affinity);
    snprintf(path, sizeof(path), PCI_DIR "/%s/local_cpulist", pci);
    if (!*cpus && *pci)
        topo_read_line(u->ctx, path, cpus, sizeof(cpus));
    n->node = graph_add(u->g, &(struct graph_id){.kind = GRAPH_NPU, .field = {number, *cpus ? cpus : NULL}});
    graph_set_str(u->g, &n->node->attrs, "device_type", "npu");
    if (*pci)
        graph_set_str(u->g, &n->node->attrs, "pci_bus_id", pci);
    u->ctx->seen++;
    return n;
}

/* ---- where it is ---- */

/* The NUMA nodes of the CPUs that the library names, which know more than /sys does. */
static int near_cpus(struct npus *u, const struct npu *n, const char *affinity)
{
    struct idset cpus = {0}, nodes = {0};
    int found;

    if (!idset_parse_list(&cpus, affinity))
        for (size_t i = 0; i < u->near.nodes.n; i++)
            if (idset_meets(&u->near.nodes.a[i].cpus, &cpus))
                idset_add(&nodes, (unsigned)u->near.nodes.a[i].id);
    found = idset_count(&nodes) > 0;
    if (found) {
        graph_edge(u->g, GRAPH_EDGE_NUMA_AFFINITY, n->node, hw_numa_place(u->g, &nodes));
        hw_set_ids(u->g, &n->node->attrs, "numa_affinity", &nodes);
    }
    idset_release(&cpus);
    idset_release(&nodes);
    return found;
}

static void place(struct npus *u, const struct npu *n, const char *affinity)
{
    struct graph_node *bus = *n->pci ? hw_pci_node(u->ctx, u->g, n->pci) : NULL;
    char folder[80];

    if (near_cpus(u, n, affinity)) {
        if (bus)
            graph_edge(u->g, GRAPH_EDGE_HOST, bus, n->node);
    } else if (*n->pci) {
        hw_place(&u->near, u->ctx, u->g, n->node, n->pci);
    }
    snprintf(folder, sizeof(folder), PCI_DIR "/%s", n->pci);
    if (*n->pci)
        hw_pci_set_link(u->ctx, u->g, &n->node->attrs, folder);
}

/* ---- by the library ---- */

static void add_processes(struct npus *u, const struct npu *n, const struct dcmi_npu *told)
{
    for (size_t i = 0; i < told->processes.n; i++) {
        struct graph_node *p = topo_process(u->ctx, u->g, told->processes.a[i].pid);
        struct graph_edge *e;

        if (!p) {
            u->strangers++;
            continue;
        }
        e = graph_edge(u->g, GRAPH_EDGE_ACCESS, p, n->node);
        graph_set_int(u->g, &e->attrs, "memory_bytes", (int64_t)told->processes.a[i].bytes);
        graph_edge_weight(e, (double)told->processes.a[i].bytes);
    }
}

static void add_told(struct npus *u, const struct dcmi_npu *told)
{
    struct npu *n = add(u, told->id, told->pci, told->affinity);
    struct graph_attrs *attrs = &n->node->attrs;

    graph_set_str(u->g, attrs, "name", told->name);
    graph_set_int(u->g, attrs, "card", told->card);
    if (told->memory_bytes) {
        graph_set_int(u->g, attrs, "memory_bytes", (int64_t)told->memory_bytes);
        graph_set_int(u->g, attrs, "used_bytes", (int64_t)told->used_bytes);
    }
    if (told->busy >= 0)
        graph_set_int(u->g, attrs, "busy_percent", told->busy);
    place(u, n, told->affinity);
    add_processes(u, n, told);
}

/* 0: the library has told. */
static int by_library(struct npus *u, struct err *e)
{
    struct dcmi d = {0};
    int rc = dcmi_read(&d, e);

    for (size_t i = 0; !rc && i < d.npus.n; i++)
        add_told(u, &d.npus.a[i]);
    for (size_t i = 0; !rc && i < d.links.n; i++) {
        const struct dcmi_link *l = &d.links.a[i];
        struct graph_edge *edge =
            graph_edge(u->g, GRAPH_EDGE_LINK, u->list.a[l->a].node, u->list.a[l->b].node);

        graph_set_str(u->g, &edge->attrs, "link", l->switched ? "HCCS, switched" : "HCCS");
    }
    if (!rc && d.lost) {
        hw_note(u->ctx, "%llu NPUs or cards do not answer", (unsigned long long)d.lost);
        u->ctx->denied += d.lost;
    }
    rc = rc || !d.npus.n;
    dcmi_release(&d);
    return rc;
}

/* ---- by files ---- */

static void list_pci(struct topo_ctx *ctx, struct dir_names *out)
{
    struct dir_names all = {0};

    topo_list(ctx, PCI_DIR, &all);
    for (size_t i = 0; i < all.list.n; i++) {
        char path[320];
        int64_t class, vendor;

        snprintf(path, sizeof(path), PCI_DIR "/%.255s/class", all.list.a[i]);
        class = topo_read_int(ctx, path, -1);
        snprintf(path, sizeof(path), PCI_DIR "/%.255s/vendor", all.list.a[i]);
        vendor = topo_read_int(ctx, path, -1);
        if (vendor == VENDOR && class >> 16 == ACCELERATOR && hw_is_pci(all.list.a[i]))
            *vec_push(&out->list) = mem_strdup(all.list.a[i]);
    }
    if (out->list.n)
        qsort(out->list.a, out->list.n, sizeof(*out->list.a), hw_by_pci);
    dir_names_release(&all);
}

/* Devices in /dev are numbered; where PCI has as many, these are taken to be in the same order, which nobody
 * guarantees: confidence 0.5. In a container a part of the devices is seen, and where they are is not told.
 */
static void by_files(struct npus *u)
{
    struct dir_names dev = {0}, pci = {0};
    VEC(int64_t) ids = {0};

    topo_list(u->ctx, "/dev", &dev);
    list_pci(u->ctx, &pci);
    for (size_t i = 0; i < dev.list.n; i++)
        if (hw_numbered(dev.list.a[i], "davinci") >= 0)
            *vec_push(&ids) = hw_numbered(dev.list.a[i], "davinci");
    for (size_t i = 0; i < (ids.n ? ids.n : pci.list.n); i++) {
        const char *at = ids.n == pci.list.n || !ids.n ? pci.list.a[i] : "";
        struct npu *n = add(u, ids.n ? ids.a[i] : (int64_t)i, at, "");

        place(u, n, "");
        if (*at)
            n->node->confidence = 0.5;
    }
    vec_release(&ids);
    dir_names_release(&dev);
    dir_names_release(&pci);
}

static void add_open(struct npus *u)
{
    const struct scan *s = u->ctx->scan;

    for (size_t i = 0; i < s->fds.n; i++) {
        const struct scan_fd *f = &s->fds.a[i];
        int64_t id = f->kind == SCAN_FD_DEVICE ? hw_numbered(scan_text(s, f->path), "/dev/davinci") : -1;

        for (size_t k = 0; id >= 0 && k < u->list.n; k++)
            if (u->list.a[k].id == id)
                hw_add_open(u->ctx, u->g, f, u->list.a[k].node);
    }
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct npus u = {.ctx = ctx, .g = g};

    hw_near_read(&u.near, ctx);
    if (!ctx->live || by_library(&u, e))
        by_files(&u);
    add_open(&u);
    if (!u.list.n && !*e->msg) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "no Ascend NPU, no driver");
    }
    if (u.strangers)
        hw_note(ctx, "processes that the driver names and that are not seen here: %llu",
                (unsigned long long)u.strangers);
    hw_near_release(&u.near);
    vec_release(&u.list);
    return *e->msg ? -1 : 0;
}

const struct topo_source topo_source_npu = {
    .name = "npu",
    .summary = "Ascend NPUs, HCCS between them, and the processes that use them",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_USES,
    .devices = "/dev/davinci\0/dev/hisi_hdc\0/dev/devmm_svm\0",
    .witty = "NPU",
    .collect = collect,
};
