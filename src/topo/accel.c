/* SPDX-License-Identifier: Apache-2.0 */
/* Accelerators of the kernel's own kind: /sys/class/accel (Documentation/accel), and who has them open. */
#include "topo/hardware.h"

#include <stdio.h>
#include <string.h>

#define ACCEL_DIR "/sys/class/accel"

static void add_open(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *name)
{
    const struct scan *s = ctx->scan;
    char path[128];

    snprintf(path, sizeof(path), "/dev/accel/%.100s", name);
    for (size_t i = 0; i < s->fds.n; i++)
        if (s->fds.a[i].kind == SCAN_FD_DEVICE && !strcmp(scan_text(s, s->fds.a[i].path), path))
            hw_add_open(ctx, g, &s->fds.a[i], n);
}

static void add(struct topo_ctx *ctx, struct graph *g, struct hw_near *near, const char *name)
{
    struct graph_node *n = graph_named(g, GRAPH_ACCEL, name);
    char folder[300], path[400], text[64], pci[HW_PCI_LEN];

    snprintf(folder, sizeof(folder), ACCEL_DIR "/%.255s", name);
    snprintf(path, sizeof(path), "%s/device/driver", folder);
    if (!hw_link_name(ctx, path, text, sizeof(text))) {
        graph_set_str(g, &n->attrs, "driver", text);
        graph_set_str(g, &n->attrs, "name", text);
    }
    if (!hw_pci_of(ctx, folder, pci)) {
        graph_set_str(g, &n->attrs, "pci_bus_id", pci);
        hw_place(near, ctx, g, n, pci);
    } else {
        snprintf(path, sizeof(path), "%s/device", folder);
        hw_near_join(near, ctx, g, n, path);
    }
    add_open(ctx, g, n, name);
    ctx->seen++;
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct dir_names names = {0};
    struct hw_near near;

    topo_list(ctx, ACCEL_DIR, &names);
    hw_near_read(&near, ctx);
    for (size_t i = 0; i < names.list.n; i++)
        if (hw_numbered(names.list.a[i], "accel") >= 0)
            add(ctx, g, &near, names.list.a[i]);
    if (!ctx->seen) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "no accelerator in " ACCEL_DIR);
    }
    hw_near_release(&near);
    dir_names_release(&names);
    return 0;
}

const struct topo_source topo_source_accel = {
    .name = "accel",
    .summary = "other accelerators (/sys/class/accel), and the processes that use them",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_USES,
    .devices = "/dev/accel\0",
    .witty = "",
    .collect = collect,
};
