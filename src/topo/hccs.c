/* SPDX-License-Identifier: Apache-2.0 */
/* Kunpeng's HCCS, the bus between the packages of Huawei's CPUs: named, so that nobody takes its absence from
 * the graph for none. Documentation/ABI/testing/sysfs-devices-platform-kunpeng_hccs. */
#include "topo/hardware.h"

#include <string.h>

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct dir_names names = {0};
    int here = 0;

    topo_list(ctx, "/sys/devices/platform", &names);
    for (size_t i = 0; i < names.list.n; i++)
        here |= !strncmp(names.list.a[i], "HISI04B", 7);
    ctx->state = "unavailable";
    hw_note(ctx, here ? "Kunpeng's HCCS is here, but wprof does not read it" : "no Kunpeng HCCS");
    dir_names_release(&names);
    return 0;
}

const struct topo_source topo_source_hccs = {
    .name = "hccs",
    .summary = "Kunpeng's bus between packages: only whether it is there",
    .on_by_default = 1,
    .part = TOPO_HARDWARE,
    .describes = {1, {GRAPH_NPU}},
    .witty = "",
    .collect = collect,
};
