/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces that are devices; not lo, bridges and the like.
 * Documentation/ABI/testing/sysfs-class-net.
 */
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NET_DIR "/sys/class/net"

/* The inode of the network namespace that /sys shows, "" where the root does not tell: "net:[4026531840]". */
static void namespace_of(const struct topo_ctx *ctx, char *out, size_t n)
{
    char to[64], *open;

    *out = '\0';
    if (!hw_link(ctx, "/proc/self/ns/net", to, sizeof(to)) && (open = strchr(to, '[')))
        snprintf(out, n, "%.*s", (int)strcspn(open + 1, "]"), open + 1);
}

static void set_number(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *folder,
                       const char *file, const char *name)
{
    char path[1100];
    int64_t v;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    v = topo_read_int(ctx, path, -1);
    if (v >= 0)
        graph_set_int(g, &n->attrs, name, v);
}

static void add(struct topo_ctx *ctx, struct graph *g, struct hw_near *near, const char *interface,
                const char *ns)
{
    struct graph_node *n, *bus = NULL;
    char folder[300], path[400], text[128], pci[HW_PCI_LEN];

    snprintf(folder, sizeof(folder), NET_DIR "/%.255s", interface);
    snprintf(path, sizeof(path), "%s/device", folder);
    if (hw_link(ctx, path, text, sizeof(text)))
        return;
    n = graph_add(g, &(struct graph_id){.kind = GRAPH_NIC, .instance = ns, .field = {interface}});
    ctx->seen++;
    set_number(ctx, g, n, folder, "speed", "speed_mbps");
    set_number(ctx, g, n, folder, "mtu", "mtu");
    snprintf(path, sizeof(path), "%s/operstate", folder);
    if (!topo_read_line(ctx, path, text, sizeof(text)))
        graph_set_str(g, &n->attrs, "state", text);
    snprintf(path, sizeof(path), "%s/device/driver", folder);
    if (!hw_link_name(ctx, path, text, sizeof(text)))
        graph_set_str(g, &n->attrs, "driver", text);
    if (!hw_pci_of(ctx, folder, pci)) {
        graph_set_str(g, &n->attrs, "pci_bus_id", pci);
        bus = hw_pci_node(ctx, g, pci);
    }
    snprintf(path, sizeof(path), "%s/device", folder);
    if (bus)
        graph_edge(g, GRAPH_EDGE_HOST, bus, n); /* which is next to a NUMA node */
    else
        hw_near_join(near, ctx, g, n, path);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct dir_names names = {0};
    struct hw_near near;
    char ns[32];

    if (topo_list(ctx, NET_DIR, &names)) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "the kernel tells of no network interfaces in /sys");
        return 0;
    }
    namespace_of(ctx, ns, sizeof(ns));
    hw_near_read(&near, ctx);
    for (size_t i = 0; i < names.list.n; i++)
        add(ctx, g, &near, names.list.a[i], *ns ? ns : NULL);
    hw_near_release(&near);
    dir_names_release(&names);
    return 0;
}

const struct topo_source topo_source_nic = {
    .name = "nic",
    .summary = "network interfaces that are devices",
    .on_by_default = 1,
    .part = TOPO_HARDWARE,
    .describes = {2, {GRAPH_NIC, GRAPH_RDMA_DEVICE}},
    .witty = "",
    .collect = collect,
};
