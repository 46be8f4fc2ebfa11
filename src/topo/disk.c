/* SPDX-License-Identifier: Apache-2.0 */
/* Disks: block devices that are neither partitions nor made of others. Documentation/ABI/stable/sysfs-block.
 */
#include "topo/hardware.h"

#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_DIR "/sys/class/block"

/* An NVMe disk with several ways to it lies below its subsystem; the links there lead to the controllers. */
static int pci_of_controller(struct topo_ctx *ctx, const char *folder, char pci[HW_PCI_LEN])
{
    struct dir_names names = {0};
    char path[400];
    int rc = -1;

    snprintf(path, sizeof(path), "%s/device", folder);
    topo_list(ctx, path, &names);
    for (size_t i = 0; i < names.list.n && rc; i++) {
        snprintf(path, sizeof(path), "%s/device/%.60s", folder, names.list.a[i]);
        if (hw_numbered(names.list.a[i], "nvme") >= 0)
            rc = hw_pci_of(ctx, path, pci);
    }
    dir_names_release(&names);
    return rc;
}

static void describe(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *folder)
{
    char path[400], model[80] = "", size[32], name[128];
    int64_t sectors, spins;
    size_t len;

    snprintf(path, sizeof(path), "%s/device/model", folder);
    topo_read_line(ctx, path, model, sizeof(model));
    for (len = strlen(model); len && model[len - 1] == ' '; len--)
        model[len - 1] = '\0';
    snprintf(path, sizeof(path), "%s/size", folder);
    sectors = topo_read_int(ctx, path, -1); /* of 512 bytes, always */
    snprintf(path, sizeof(path), "%s/queue/rotational", folder);
    spins = topo_read_int(ctx, path, -1);
    snprintf(name, sizeof(name), "%s%s%s", model, *model && sectors >= 0 ? ", " : "",
             sectors >= 0 ? units_size(size, sizeof(size), (uint64_t)sectors * 512) : "");
    if (*name)
        graph_set_str(g, &n->attrs, "name", name);
    if (sectors >= 0)
        graph_set_int(g, &n->attrs, "bytes", sectors * 512);
    if (spins >= 0)
        graph_set_bool(g, &n->attrs, "rotational", spins > 0);
}

static void add(struct topo_ctx *ctx, struct graph *g, const char *disk)
{
    char folder[300], path[400], text[256], pci[HW_PCI_LEN];
    struct graph_node *n, *bus;

    snprintf(folder, sizeof(folder), BLOCK_DIR "/%.255s", disk);
    snprintf(path, sizeof(path), "%s/partition", folder);
    if (topo_read_int(ctx, path, -1) >= 0)
        return;
    snprintf(path, sizeof(path), "%s/hidden", folder);
    if (topo_read_int(ctx, path, 0) > 0) /* one of several ways to an NVMe disk */
        return;
    snprintf(path, sizeof(path), "%s/device", folder);
    if (hw_link(ctx, path, text, sizeof(text)))
        return;
    n = graph_named(g, GRAPH_DISK, disk);
    describe(ctx, g, n, folder);
    ctx->seen++;
    if (hw_pci_of(ctx, folder, pci) && pci_of_controller(ctx, folder, pci))
        return;
    graph_set_str(g, &n->attrs, "pci_bus_id", pci);
    bus = hw_pci_node(ctx, g, pci);
    if (bus)
        graph_edge(g, GRAPH_EDGE_HOST, bus, n);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct dir_names names = {0};

    if (topo_list(ctx, BLOCK_DIR, &names)) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "the kernel tells of no block devices");
        return 0;
    }
    for (size_t i = 0; i < names.list.n; i++)
        add(ctx, g, names.list.a[i]);
    dir_names_release(&names);
    return 0;
}

const struct topo_source topo_source_disk = {
    .name = "disk",
    .summary = "disks",
    .on_by_default = 1,
    .part = TOPO_HARDWARE,
    .describes = {1, {GRAPH_DISK}},
    .witty = "",
    .collect = collect,
};
