/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's GPUs: by the driver's library, which also tells who uses how much of them; else by PCI and
 * /proc/driver/nvidia, and by who has /dev/nvidiaN open. A process of CUDA opens the devices of all GPUs, so
 * that says less: confidence 0.5.
 */
#include "platform/nvml.h"
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER_DIR "/proc/driver/nvidia"
#define PCI_DIR    "/sys/bus/pci/devices"

enum { VENDOR = 0x10de };

struct card {
    char pci[HW_PCI_LEN];
    int minor; /* -1: not known */
    struct graph_node *node;
};

struct cards {
    struct topo_ctx *ctx;
    struct graph *g;
    VEC(struct card) list;
    uint64_t strangers; /* processes that the driver names and /proc does not */
};

static int find(const struct cards *c, const char *pci)
{
    for (size_t i = 0; i < c->list.n; i++)
        if (!strcmp(c->list.a[i].pci, pci))
            return (int)i;
    return -1;
}

static struct card *add(struct cards *c, unsigned index, const char *pci)
{
    struct card *card = vec_push(&c->list);
    char id[16];

    snprintf(id, sizeof(id), "%u", index);
    *card = (struct card){.minor = -1};
    snprintf(card->pci, sizeof(card->pci), "%s", pci);
    card->node = graph_add(c->g, &(struct graph_id){.kind = GRAPH_GPU, .field = {id, pci}});
    graph_set_str(c->g, &card->node->attrs, "device_type", "gpu");
    c->ctx->seen++;
    return card;
}

static void set_known(struct cards *c, struct card *card, const char *name, int64_t v)
{
    if (v > 0)
        graph_set_int(c->g, &card->node->attrs, name, v);
}

/* ---- by the library ---- */

static void add_told(struct cards *c, const struct nvml_gpu *gpu)
{
    struct card *card = add(c, gpu->index, gpu->pci);
    struct graph_attrs *attrs = &card->node->attrs;

    card->minor = gpu->minor;
    graph_set_str(c->g, attrs, "name", gpu->name);
    graph_set_str(c->g, attrs, "device_id", gpu->uuid);
    if (gpu->minor >= 0)
        graph_set_int(c->g, attrs, "minor", gpu->minor);
    set_known(c, card, "memory_bytes", (int64_t)gpu->memory_bytes);
    if (gpu->memory_bytes)
        graph_set_int(c->g, attrs, "used_bytes", (int64_t)gpu->used_bytes);
    if (gpu->busy >= 0)
        graph_set_int(c->g, attrs, "busy_percent", gpu->busy);
    if (gpu->memory_busy >= 0)
        graph_set_int(c->g, attrs, "memory_busy_percent", gpu->memory_busy);
    set_known(c, card, "pcie_gen", gpu->pcie_gen);
    set_known(c, card, "pcie_width", gpu->pcie_width);
    set_known(c, card, "pcie_max_gen", gpu->pcie_max_gen);
    set_known(c, card, "pcie_max_width", gpu->pcie_max_width);
    if (gpu->mig)
        graph_set_bool(c->g, attrs, "mig", 1);
}

/* One edge for all links between two, with how many they are. */
static void join_links(struct cards *c, const struct nvml *n)
{
    for (size_t i = 0; i < n->gpus.n; i++) {
        const struct nvml_gpu *gpu = &n->gpus.a[i];
        int64_t hidden = 0;

        for (size_t k = 0; k < gpu->links.n; k++) {
            const struct nvml_link *link = &gpu->links.a[k];
            int other = find(c, link->pci);
            struct graph_node *to = NULL;
            struct graph_edge *e;

            if (other > (int)i) /* each pair is told from both ends */
                to = c->list.a[other].node;
            else if (other < 0 && *link->pci)
                to = graph_named(c->g, GRAPH_PCI, link->pci);
            hidden += !*link->pci;
            if (!to)
                continue;
            if (other < 0 && link->is_switch == 1)
                graph_set_str(c->g, &to->attrs, "name", "NVSwitch");
            e = graph_edge(c->g, GRAPH_EDGE_LINK, c->list.a[i].node, to);
            graph_edge_weight(e, 1);
            graph_set_str(c->g, &e->attrs, "link", "NVLink");
            if (gpu->nvlink_version)
                graph_set_int(c->g, &e->attrs, "version", gpu->nvlink_version);
        }
        set_known(c, &c->list.a[i], "nvlinks", (int64_t)gpu->links.n);
        set_known(c, &c->list.a[i], "nvlinks_to_switches", hidden);
    }
}

/* Whether the process has anything of the driver open; 1 where that may not be seen. */
static int uses_driver(const struct topo_ctx *ctx, int pid)
{
    const struct scan_process *p = scan_find(ctx->scan, pid);

    if (!p || p->denied)
        return p != NULL;
    for (uint32_t i = 0; i < p->nfds; i++) {
        const struct scan_fd *f = &ctx->scan->fds.a[p->first_fd + i];

        if (f->kind == SCAN_FD_DEVICE && !strncmp(scan_text(ctx->scan, f->path), "/dev/nvidia", 11))
            return 1;
    }
    return 0;
}

/* Pids are those of the driver's pid namespace: one that is another process here has nothing open. */
static void add_processes(struct cards *c, const struct card *card, const struct nvml_gpu *gpu)
{
    for (size_t i = 0; i < gpu->processes.n; i++) {
        const struct nvml_process *p = &gpu->processes.a[i];
        struct graph_edge *e;

        if (!uses_driver(c->ctx, p->pid)) {
            c->strangers++;
            continue;
        }
        e = graph_edge(c->g, GRAPH_EDGE_ACCESS, topo_process(c->ctx, c->g, p->pid), card->node);
        if (p->bytes) {
            graph_set_int(c->g, &e->attrs, "memory_bytes", (int64_t)p->bytes);
            graph_edge_weight(e, (double)p->bytes);
        }
        if (p->busy >= 0)
            graph_set_int(c->g, &e->attrs, "busy_percent", p->busy);
    }
}

/* 0: the library has told; else what is there without it is to be shown. */
static int by_library(struct cards *c, struct err *e)
{
    struct nvml n = {0};
    int rc = nvml_read(&n, e);

    for (size_t i = 0; !rc && i < n.gpus.n; i++)
        add_told(c, &n.gpus.a[i]);
    if (!rc)
        join_links(c, &n);
    for (size_t i = 0; !rc && i < n.gpus.n; i++)
        add_processes(c, &c->list.a[i], &n.gpus.a[i]);
    if (!rc && *n.driver)
        hw_note(c->ctx, "driver %s", n.driver);
    if (!rc && n.lost) {
        hw_note(c->ctx, "%llu GPUs do not answer", (unsigned long long)n.lost);
        c->ctx->denied += n.lost;
    }
    nvml_release(&n);
    return rc || !n.gpus.n;
}

/* ---- by files ---- */

/* The value in "Device Minor: \t 0". */
static int information(const char *text, const char *key, char *out, size_t n)
{
    const char *line = strstr(text, key);

    if (!line)
        return -1;
    line += strlen(key);
    line += strspn(line, " \t");
    snprintf(out, n, "%.*s", (int)strcspn(line, "\n"), line);
    return 0;
}

static void read_information(struct cards *c, struct card *card)
{
    struct buf text = {0};
    char path[128], value[96];

    snprintf(path, sizeof(path), DRIVER_DIR "/gpus/%s/information", card->pci);
    if (!topo_read(c->ctx, path, &text)) {
        if (!information(buf_str(&text), "Model:", value, sizeof(value)))
            graph_set_str(c->g, &card->node->attrs, "name", value);
        if (!information(buf_str(&text), "GPU UUID:", value, sizeof(value)))
            graph_set_str(c->g, &card->node->attrs, "device_id", value);
        if (!information(buf_str(&text), "Device Minor:", value, sizeof(value))) {
            card->minor = atoi(value);
            graph_set_int(c->g, &card->node->attrs, "minor", card->minor);
        }
    }
    buf_release(&text);
}

/* Those that the driver names, and those on PCI, in the order of their addresses, which is the driver's. */
static void by_files(struct cards *c)
{
    struct dir_names gpus = {0}, pci = {0};

    topo_list(c->ctx, DRIVER_DIR "/gpus", &gpus);
    topo_list(c->ctx, PCI_DIR, &pci);
    for (size_t i = 0; i < pci.list.n; i++) {
        char path[320];
        int64_t class, vendor;

        snprintf(path, sizeof(path), PCI_DIR "/%.255s/class", pci.list.a[i]);
        class = topo_read_int(c->ctx, path, -1);
        snprintf(path, sizeof(path), PCI_DIR "/%.255s/vendor", pci.list.a[i]);
        vendor = topo_read_int(c->ctx, path, -1);
        if (vendor == VENDOR && class >> 16 == 0x03)
            *vec_push(&gpus.list) = mem_strdup(pci.list.a[i]);
    }
    if (gpus.list.n)
        qsort(gpus.list.a, gpus.list.n, sizeof(*gpus.list.a), hw_by_pci);
    for (size_t i = 0; i < gpus.list.n; i++)
        if (hw_is_pci(gpus.list.a[i]) && find(c, gpus.list.a[i]) < 0)
            read_information(c, add(c, (unsigned)c->list.n, gpus.list.a[i]));
    dir_names_release(&gpus);
    dir_names_release(&pci);
}

/* ---- both ---- */

static void place(struct cards *c)
{
    struct hw_near near;

    hw_near_read(&near, c->ctx);
    for (size_t i = 0; i < c->list.n; i++) {
        struct card *card = &c->list.a[i];
        char path[128], text[64];

        snprintf(path, sizeof(path), PCI_DIR "/%s", card->pci);
        hw_place(&near, c->ctx, c->g, card->node, card->pci);
        if (!graph_attr(&card->node->attrs, "pcie_gen"))
            hw_pci_set_link(c->ctx, c->g, &card->node->attrs, path);
        snprintf(path, sizeof(path), DRIVER_DIR "/gpus/%s/numa_status", card->pci);
        if (!topo_read_line(c->ctx, path, text, sizeof(text)) && !strncmp(text, "Node:", 5) &&
            strtol(text + 5, NULL, 10) >= 0)
            graph_set_int(c->g, &card->node->attrs, "memory_numa_node", strtol(text + 5, NULL, 10));
    }
    hw_near_release(&near);
}

/* By open devices: for processes of which the library does not tell. */
static void add_open(struct cards *c)
{
    const struct scan *s = c->ctx->scan;

    for (size_t i = 0; i < s->fds.n; i++) {
        const struct scan_fd *f = &s->fds.a[i];
        int64_t minor = f->kind == SCAN_FD_DEVICE ? hw_numbered(scan_text(s, f->path), "/dev/nvidia") : -1;

        for (size_t k = 0; minor >= 0 && k < c->list.n; k++)
            if (c->list.a[k].minor == minor)
                hw_add_open(c->ctx, c->g, f, c->list.a[k].node);
    }
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct cards c = {.ctx = ctx, .g = g};

    if (!ctx->live || by_library(&c, e))
        by_files(&c);
    place(&c);
    add_open(&c);
    if (!c.list.n && !*ctx->detail && !*e->msg) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "no NVIDIA GPU, no driver");
    }
    if (c.strangers)
        hw_note(ctx, "processes that the driver names and that are not seen here: %llu",
                (unsigned long long)c.strangers);
    vec_release(&c.list);
    return *e->msg ? -1 : 0;
}

const struct topo_source topo_source_nvidia = {
    .name = "nvidia",
    .summary = "NVIDIA's GPUs, NVLink, and the processes that use them",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_USES,
    .devices = "/dev/nvidia\0/dev/dxg\0",
    .witty = "GPU",
    .collect = collect,
};
