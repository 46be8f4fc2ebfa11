/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCI devices that move or compute data, and the bridges where the ways to them part: what is below one
 * switch shares its way up. Bridges with one way down are an attribute of what is behind them.
 * Documentation/PCI/sysfs-pci.rst.
 */
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCI_DIR "/sys/bus/pci/devices"

enum { BRIDGE = 0x0604, DEPTH_MAX = 32 };

struct device {
    char name[HW_PCI_LEN];
    int64_t class;
    int parent;    /* in devices; -1: at the root */
    unsigned ways; /* slots below it that lead to a device that is shown */
    uint8_t wanted, on_way;
};

struct devices {
    VEC(struct device) list;
};

/* ---- reading ---- */

static int find(const struct devices *d, const char *name)
{
    for (size_t i = 0; i < d->list.n; i++)
        if (!strcmp(d->list.a[i].name, name))
            return (int)i;
    return -1;
}

/* The PCI address that stands before the last one in the path behind a device's link. */
static int parent_of(const struct topo_ctx *ctx, const struct devices *d, const char *name)
{
    char path[80], to[1024], before[HW_PCI_LEN] = "", *rest = to, *part;

    snprintf(path, sizeof(path), PCI_DIR "/%s", name);
    if (hw_link(ctx, path, to, sizeof(to)))
        return -1;
    while ((part = strsep(&rest, "/")))
        if (hw_is_pci(part) && strcmp(part, name) != 0)
            snprintf(before, sizeof(before), "%s", part);
    return *before ? find(d, before) : -1;
}

static void read_devices(struct devices *d, struct topo_ctx *ctx, const struct dir_names *names)
{
    for (size_t i = 0; i < names->list.n; i++) {
        struct device *v;
        char path[80];

        if (!hw_is_pci(names->list.a[i]))
            continue;
        v = vec_push(&d->list);
        *v = (struct device){0};
        snprintf(v->name, sizeof(v->name), "%s", names->list.a[i]);
        snprintf(path, sizeof(path), PCI_DIR "/%s/class", v->name);
        v->class = topo_read_int(ctx, path, -1);
        v->wanted = (uint8_t)hw_pci_shown(v->class);
        ctx->seen++;
    }
    for (size_t i = 0; i < d->list.n; i++)
        d->list.a[i].parent = parent_of(ctx, d, d->list.a[i].name);
}

/* ---- ways ---- */

/* Functions of one slot are one way: "0000:3b:00.0" and "0000:3b:00.1". */
static int same_slot(const char *a, const char *b)
{
    return !strncmp(a, b, strlen(a) - 1);
}

/* Marks all that leads to a device that is shown. */
static void mark_ways(struct devices *d)
{
    for (size_t i = 0; i < d->list.n; i++)
        for (int at = d->list.a[i].wanted ? (int)i : -1, depth = 0; at >= 0 && depth < DEPTH_MAX; depth++) {
            d->list.a[at].on_way = 1;
            at = d->list.a[at].parent;
        }
    for (size_t i = 0; i < d->list.n; i++) { /* the list is sorted: functions of a slot follow each other */
        const struct device *v = &d->list.a[i];
        int counted = 0;

        if (!v->on_way || v->parent < 0)
            continue;
        for (size_t k = i; k-- > 0 && same_slot(d->list.a[k].name, v->name);)
            counted |= d->list.a[k].on_way;
        d->list.a[v->parent].ways += !counted;
    }
}

static int is_shown(const struct device *v)
{
    return v->wanted || (v->on_way && v->ways > 1);
}

/* ---- nodes ---- */

static const struct {
    int class; /* base class and subclass, or the base class alone */
    const char *name;
} classes[] = {
    {0x0108, "NVMe"},          {0x01, "storage"},         {0x0207, "InfiniBand"}, {0x02, "network"},
    {0x0302, "3D controller"}, {0x03, "display"},         {0x0502, "CXL memory"}, {BRIDGE, "bridge"},
    {0x0b40, "co-processor"},  {0x0c04, "Fibre Channel"}, {0x0c06, "InfiniBand"}, {0x12, "accelerator"},
};

static const char *class_name(int64_t class)
{
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
        if (classes[i].class == (class >> (classes[i].class > 0xff ? 8 : 16)))
            return classes[i].name;
    return "device";
}

static const struct {
    int id;
    const char *name;
} vendors[] = {
    {0x1002, "AMD"},       {0x1022, "AMD"},     {0x10de, "NVIDIA"},   {0x1137, "Cisco"},
    {0x1344, "Micron"},    {0x144d, "Samsung"}, {0x14e4, "Broadcom"}, {0x15b3, "Mellanox"},
    {0x1a03, "ASPEED"},    {0x1af4, "virtio"},  {0x1da3, "Habana"},   {0x19e5, "Huawei"},
    {0x1d0f, "Amazon"},    {0x1077, "QLogic"},  {0x1000, "Broadcom"}, {0x8086, "Intel"},
    {0xcabc, "Cambricon"}, {0x1ae0, "Google"},
};

static const char *vendor_name(int64_t id)
{
    for (size_t i = 0; i < ARRAY_SIZE(vendors); i++)
        if (vendors[i].id == id)
            return vendors[i].name;
    return NULL;
}

static void describe(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const struct device *v,
                     const char *folder)
{
    char path[128], text[64], name[160];
    int64_t vendor, device;
    const char *maker;

    snprintf(path, sizeof(path), "%s/vendor", folder);
    vendor = topo_read_int(ctx, path, -1);
    snprintf(path, sizeof(path), "%s/device", folder);
    device = topo_read_int(ctx, path, -1);
    maker = vendor_name(vendor);
    if (vendor >= 0 && device >= 0) {
        snprintf(text, sizeof(text), "%04x:%04x", (unsigned)vendor, (unsigned)device);
        graph_set_str(g, &n->attrs, "device_id", text);
        snprintf(name, sizeof(name), "%s%s%s %s", maker ? maker : "", maker ? " " : "", class_name(v->class),
                 text);
    } else {
        snprintf(name, sizeof(name), "%s", class_name(v->class));
    }
    graph_set_str(g, &n->attrs, "name", name);
    snprintf(text, sizeof(text), "%06x", (unsigned)v->class);
    graph_set_str(g, &n->attrs, "class", text);
    snprintf(path, sizeof(path), "%s/driver", folder);
    if (!hw_link_name(ctx, path, text, sizeof(text)))
        graph_set_str(g, &n->attrs, "driver", text);
    hw_pci_set_link(ctx, g, &n->attrs, folder);
}

/* Joins it to the next bridge up that is shown; those between are its attribute. */
static void join_up(const struct devices *d, struct graph *g, struct graph_node *n, const struct device *v)
{
    struct buf between = {0};
    int up = v->parent;

    for (int depth = 0; up >= 0 && !is_shown(&d->list.a[up]) && depth < DEPTH_MAX; depth++) {
        buf_addf(&between, "%s%s", between.len ? "," : "", d->list.a[up].name);
        up = d->list.a[up].parent;
    }
    if (between.len)
        graph_set_str(g, &n->attrs, "bridges", buf_str(&between));
    if (up >= 0)
        graph_edge(g, GRAPH_EDGE_LINK, graph_named(g, GRAPH_PCI, d->list.a[up].name), n);
    buf_release(&between);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct dir_names names = {0};
    struct devices d = {0};
    struct hw_near near;

    if (topo_list(ctx, PCI_DIR, &names)) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "the kernel tells of no PCI bus");
        return 0;
    }
    read_devices(&d, ctx, &names);
    mark_ways(&d);
    hw_near_read(&near, ctx);
    for (size_t i = 0, shown = 0; i < d.list.n; i++) {
        const struct device *v = &d.list.a[i];
        struct graph_node *n;
        char folder[80];

        if (is_shown(v)) {
            n = graph_named(g, GRAPH_PCI, v->name);
            snprintf(folder, sizeof(folder), PCI_DIR "/%s", v->name);
            describe(ctx, g, n, v, folder);
            hw_near_join(&near, ctx, g, n, folder);
            join_up(&d, g, n, v);
            shown++;
        }
        if (i + 1 == d.list.n && shown < d.list.n)
            hw_note(ctx, "%zu bridges and devices of other classes are not shown", d.list.n - shown);
    }
    if (near.contradicted)
        hw_note(ctx,
                "warning: what the kernel says is near %llu of them contradicts itself or the NUMA nodes",
                (unsigned long long)near.contradicted);
    hw_near_release(&near);
    vec_release(&d.list);
    dir_names_release(&names);
    return 0;
}

const struct topo_source topo_source_pci = {
    .name = "pci",
    .summary = "PCI devices that move or compute data, and the switches between them",
    .on_by_default = 1,
    .part = TOPO_HARDWARE,
    .describes = {6, {GRAPH_PCI, GRAPH_GPU, GRAPH_NPU, GRAPH_ACCEL, GRAPH_NIC, GRAPH_RDMA_DEVICE}},
    .witty = "",
    .collect = collect,
};
