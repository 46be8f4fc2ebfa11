/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/hardware.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hw_note(struct topo_ctx *ctx, const char *fmt, ...)
{
    size_t have = strlen(ctx->detail), room = sizeof(ctx->detail) - have;
    char text[sizeof(ctx->detail)];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n + 3 <= room)
        snprintf(ctx->detail + have, room, "%s%s", have ? "; " : "", text);
}

/* ---- sets ---- */

static int read_set(struct topo_ctx *ctx, const char *path, struct idset *s,
                    int (*parse)(struct idset *s, const char *text))
{
    struct buf b = {0};
    int rc = topo_read(ctx, path, &b) ? -1 : parse(s, buf_str(&b));

    buf_release(&b);
    return rc;
}

int hw_read_list(struct topo_ctx *ctx, const char *path, struct idset *s)
{
    return read_set(ctx, path, s, idset_parse_list);
}

int hw_read_mask(struct topo_ctx *ctx, const char *path, struct idset *s)
{
    return read_set(ctx, path, s, idset_parse_mask);
}

int hw_read_set(struct topo_ctx *ctx, const char *list, const char *mask, struct idset *s)
{
    return read_set(ctx, list, s, idset_parse_list) ? read_set(ctx, mask, s, idset_parse_mask) : 0;
}

int64_t hw_numbered(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    const char *p = name + n;

    if (strncmp(name, prefix, n) != 0 || !isdigit((unsigned char)*p) || strlen(p) > 9)
        return -1;
    return p[strspn(p, "0123456789")] ? -1 : atoll(p);
}

void hw_set_ids(struct graph *g, struct graph_attrs *to, const char *name, const struct idset *s)
{
    struct buf b = {0};

    idset_text(s, &b);
    graph_set_str(g, to, name, buf_str(&b));
    buf_release(&b);
}

/* ---- links ---- */

int hw_link(const struct topo_ctx *ctx, const char *path, char *out, size_t n)
{
    char *full = topo_path(ctx, path);
    ssize_t got = readlink(full, out, n - 1);

    free(full);
    out[got > 0 ? got : 0] = '\0';
    return got > 0 ? 0 : -1;
}

int hw_link_name(const struct topo_ctx *ctx, const char *path, char *out, size_t n)
{
    char to[1024], *slash;

    if (hw_link(ctx, path, to, sizeof(to)))
        return -1;
    slash = strrchr(to, '/');
    snprintf(out, n, "%s", slash ? slash + 1 : to);
    return 0;
}

int hw_is_pci(const char *name)
{
    size_t domain = strspn(name, "0123456789abcdefABCDEF");
    const char *p = name + domain;

    return domain >= 4 && domain <= 8 && p[0] == ':' && isxdigit((unsigned char)p[1]) &&
           isxdigit((unsigned char)p[2]) && p[3] == ':' && isxdigit((unsigned char)p[4]) &&
           isxdigit((unsigned char)p[5]) && p[6] == '.' && p[7] >= '0' && p[7] <= '7' && !p[8];
}

/* The last part of a path that is a PCI address. */
static int last_pci(char *path, char pci[HW_PCI_LEN])
{
    int rc = -1;

    for (char *part; (part = strsep(&path, "/"));)
        if (hw_is_pci(part)) {
            snprintf(pci, HW_PCI_LEN, "%s", part);
            rc = 0;
        }
    return rc;
}

int hw_pci_of(const struct topo_ctx *ctx, const char *path, char pci[HW_PCI_LEN])
{
    char to[1024], device[1100];

    if (!hw_link(ctx, path, to, sizeof(to)) && !last_pci(to, pci))
        return 0;
    snprintf(device, sizeof(device), "%s/device", path);
    return hw_link(ctx, device, to, sizeof(to)) ? -1 : last_pci(to, pci);
}

/* ---- PCI ---- */

/* Base class and subclass, of the PCI Code and ID Assignment Specification; subclass -1: any. */
static const struct {
    int base, sub;
} shown[] = {
    {0x01, -1},   /* storage */
    {0x02, -1},   /* network */
    {0x03, -1},   /* display: GPUs */
    {0x05, 0x02}, /* memory on CXL */
    {0x0b, 0x40}, /* co-processors */
    {0x0c, 0x04}, /* Fibre Channel */
    {0x0c, 0x06}, /* InfiniBand */
    {0x12, -1},   /* processing accelerators */
};

int hw_pci_shown(int64_t class)
{
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
        if (class >= 0 && shown[i].base == (int)(class >> 16 & 0xff) &&
            (shown[i].sub < 0 || shown[i].sub == (int)(class >> 8 & 0xff)))
            return 1;
    return 0;
}

struct graph_node *hw_pci_node(struct topo_ctx *ctx, struct graph *g, const char *pci)
{
    char path[80];

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", pci);
    return hw_pci_shown(topo_read_int(ctx, path, -1)) ? graph_named(g, GRAPH_PCI, pci) : NULL;
}

/* "8.0 GT/s PCIe" and "8 GT/s" are generation 3. */
static int generation(const char *speed)
{
    static const double gt[] = {2.5, 5, 8, 16, 32, 64, 128};
    double v = strtod(speed, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(gt); i++)
        if (v == gt[i])
            return (int)i + 1;
    return 0;
}

void hw_pci_set_link(struct topo_ctx *ctx, struct graph *g, struct graph_attrs *to, const char *folder)
{
    static const char *const ends[][3] = {
        {"current", "pcie_gen", "pcie_width"},
        {"max", "pcie_max_gen", "pcie_max_width"},
    };
    char path[1100], speed[64];

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        int64_t width;

        snprintf(path, sizeof(path), "%s/%s_link_speed", folder, ends[i][0]);
        topo_read_line(ctx, path, speed, sizeof(speed));
        snprintf(path, sizeof(path), "%s/%s_link_width", folder, ends[i][0]);
        width = topo_read_int(ctx, path, 0);
        if (!generation(speed) || width < 1 || width > 32) /* 255: not known */
            continue;
        graph_set_int(g, to, ends[i][1], generation(speed));
        graph_set_int(g, to, ends[i][2], width);
    }
}

int hw_by_pci(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    unsigned long long dx = strtoull(x, NULL, 16), dy = strtoull(y, NULL, 16);

    if (dx != dy)
        return dx < dy ? -1 : 1;
    return strcmp(strchr(x, ':') ? strchr(x, ':') : x, strchr(y, ':') ? strchr(y, ':') : y);
}

void hw_place(struct hw_near *n, struct topo_ctx *ctx, struct graph *g, struct graph_node *device,
              const char *pci)
{
    char folder[80], path[128], cpus[256];
    struct graph_node *bus = hw_pci_node(ctx, g, pci);

    snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%.32s", pci);
    if (bus)
        graph_edge(g, GRAPH_EDGE_HOST, bus, device);
    hw_near_join(n, ctx, g, device, folder);
    snprintf(path, sizeof(path), "%s/local_cpulist", folder);
    if (!topo_read_line(ctx, path, cpus, sizeof(cpus)) && *cpus &&
        !graph_attr(&device->attrs, "cpu_affinity"))
        graph_set_str(g, &device->attrs, "cpu_affinity", cpus);
}

void hw_add_open(struct topo_ctx *ctx, struct graph *g, const struct scan_fd *f, struct graph_node *device)
{
    const struct scan_process *p = &ctx->scan->processes.a[f->process];
    struct graph_node *process = topo_process(ctx, g, p->pid);
    struct graph_edge *e;

    for (size_t i = 0; i < g->edges.n; i++)
        if (g->edges.a[i]->kind == GRAPH_EDGE_ACCESS && g->edges.a[i]->a == process &&
            g->edges.a[i]->b->kind == device->kind && g->edges.a[i]->confidence >= 1)
            return;
    e = graph_edge(g, GRAPH_EDGE_ACCESS, process, device);
    e->confidence = 0.5;
}
