/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA devices, their ports and what goes through these; what processes have of them: rdma_objects.c.
 * Documentation/ABI/stable/sysfs-class-infiniband. */
#include "topo/rdma.h"
#include "topo/hardware.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEV_DIR "/sys/class/infiniband"

enum { LOOK_MS = 200 }; /* where no duration is given */

/* What is counted of a port, by its name in the graph (witty-profiler's, where it has one); the files differ
 * between drivers: the first that is there counts. Bytes are counted in units of four. */
static const struct counter {
    const char *name, *file[2];
    unsigned unit;
} counters[] = {
    {"send_pkts", {"counters/port_xmit_packets", "hw_counters/sent_pkts"}, 1},
    {"recv_pkts", {"counters/port_rcv_packets", "hw_counters/rcvd_pkts"}, 1},
    {"send_bytes", {"counters/port_xmit_data", NULL}, 4},
    {"recv_bytes", {"counters/port_rcv_data", NULL}, 4},
    {"dupl_pkts", {"hw_counters/duplicate_request", NULL}, 1},
    {"rdma_sends", {"hw_counters/rdma_sends", NULL}, 1},
    {"rdma_recvs", {"hw_counters/rdma_recvs", NULL}, 1},
    {"out_of_sequence", {"hw_counters/out_of_sequence", "hw_counters/out_of_seq_request"}, 1},
    {"rnr_naks", {"hw_counters/rnr_nak_retry_err", "hw_counters/rcvd_rnr_err"}, 1},
    {"send_waits", {"counters/port_xmit_wait", NULL}, 1},
};
enum { COUNTERS = ARRAY_SIZE(counters) };

struct port {
    char dev[64], number[16];
    int64_t before[COUNTERS]; /* -1: not counted */
};

struct ports {
    VEC(struct port) list;
};

/* ---- ports ---- */

static void read_counters(struct topo_ctx *ctx, const struct port *p, int64_t v[COUNTERS])
{
    for (size_t i = 0; i < COUNTERS; i++) {
        v[i] = -1;
        for (int k = 0; k < 2 && counters[i].file[k] && v[i] < 0; k++) {
            char path[320];

            snprintf(path, sizeof(path), DEV_DIR "/%s/ports/%s/%s", p->dev, p->number, counters[i].file[k]);
            v[i] = topo_read_int(ctx, path, -1);
        }
        if (v[i] > 0 && counters[i].unit > 1)
            v[i] = v[i] > INT64_MAX / counters[i].unit ? INT64_MAX : v[i] * counters[i].unit;
    }
}

static void port_text(struct topo_ctx *ctx, struct json_writer *w, const struct port *p, const char *file)
{
    char path[320], text[128], *colon;

    snprintf(path, sizeof(path), DEV_DIR "/%s/ports/%s/%s", p->dev, p->number, file);
    if (topo_read_line(ctx, path, text, sizeof(text)))
        return;
    colon = strstr(text, ": "); /* "4: ACTIVE" */
    json_str(w, file, colon ? colon + 2 : text);
}

static void add_port(struct topo_ctx *ctx, struct json_writer *w, struct ports *ports, const char *dev,
                     const char *number)
{
    struct port p = {0};

    snprintf(p.dev, sizeof(p.dev), "%.63s", dev);
    snprintf(p.number, sizeof(p.number), "%.15s", number);
    json_object(w, NULL);
    json_i64(w, "port", atoll(number));
    port_text(ctx, w, &p, "state");
    port_text(ctx, w, &p, "phys_state");
    port_text(ctx, w, &p, "rate");
    port_text(ctx, w, &p, "link_layer");
    json_end_object(w);
    read_counters(ctx, &p, p.before);
    *vec_push(&ports->list) = p;
}

/* ---- devices ---- */

static void set_text(struct topo_ctx *ctx, struct graph *g, struct graph_node *n, const char *folder,
                     const char *file, const char *name)
{
    char path[320], text[96], *colon;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    if (topo_read_line(ctx, path, text, sizeof(text)) || !*text)
        return;
    colon = strstr(text, ": ");
    graph_set_str(g, &n->attrs, name, colon ? colon + 2 : text);
}

/* What lets it reach a GPU's memory: the module for that, or memory that the open driver lends (dma-buf).
 * Nothing where there is no driver of GPUs. */
static const char *gpu_direct(struct topo_ctx *ctx)
{
    static const char *const modules[] = {"nvidia_peermem", "nv_peer_mem"};
    char text[256];

    if (topo_read_line(ctx, "/proc/driver/nvidia/version", text, sizeof(text)))
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
        struct dir_names files = {0};
        char path[64];
        size_t n;

        snprintf(path, sizeof(path), "/sys/module/%s", modules[i]);
        topo_list(ctx, path, &files);
        n = files.list.n;
        dir_names_release(&files);
        if (n)
            return modules[i];
    }
    return strstr(text, "Open Kernel Module") ? "dma-buf" : "none";
}

static void add_device(struct topo_ctx *ctx, struct graph *g, struct hw_near *near, struct ports *ports,
                       const char *dev)
{
    struct graph_node *n = graph_named(g, GRAPH_RDMA_DEVICE, dev);
    struct dir_names numbers = {0};
    struct buf json = {0};
    struct json_writer w = {.out = &json};
    char folder[128], path[160], pci[HW_PCI_LEN];

    snprintf(folder, sizeof(folder), DEV_DIR "/%.63s", dev);
    set_text(ctx, g, n, folder, "hca_type", "name");
    set_text(ctx, g, n, folder, "node_type", "node_type");
    set_text(ctx, g, n, folder, "fw_ver", "firmware");
    set_text(ctx, g, n, folder, "node_guid", "node_guid");
    if (gpu_direct(ctx))
        graph_set_str(g, &n->attrs, "gpu_direct", gpu_direct(ctx));
    if (!hw_pci_of(ctx, folder, pci)) {
        graph_set_str(g, &n->attrs, "pci_bus_id", pci);
        hw_place(near, ctx, g, n, pci);
    }
    snprintf(path, sizeof(path), "%s/ports", folder);
    topo_list(ctx, path, &numbers);
    json_array(&w, NULL);
    for (size_t i = 0; i < numbers.list.n; i++)
        add_port(ctx, &w, ports, dev, numbers.list.a[i]);
    json_end_array(&w);
    if (numbers.list.n)
        graph_set_json(g, &n->attrs, "ports", buf_str(&json));
    buf_release(&json);
    dir_names_release(&numbers);
    ctx->seen++;
}

/* ---- rates ---- */

static void add_rates(struct topo_ctx *ctx, struct graph *g, const struct port *p, double seconds)
{
    struct graph_node *n =
        graph_add(g, &(struct graph_id){.kind = GRAPH_RDMA_RATES, .field = {p->dev, p->number}});
    struct buf json = {0};
    struct json_writer w = {.out = &json};
    int64_t now[COUNTERS];

    read_counters(ctx, p, now);
    json_object(&w, NULL);
    for (size_t i = 0; i < COUNTERS; i++) {
        if (now[i] < 0)
            continue;
        json_i64(&w, counters[i].name, now[i]);
        if (seconds > 0 && p->before[i] >= 0 && now[i] >= p->before[i])
            graph_set_f64(g, &n->attrs, counters[i].name, round((double)(now[i] - p->before[i]) / seconds));
    }
    json_end_object(&w);
    graph_set_json(g, &n->attrs, "totals", buf_str(&json));
    graph_edge(g, GRAPH_EDGE_ATTRIBUTE, graph_named(g, GRAPH_RDMA_DEVICE, p->dev), n);
    buf_release(&json);
}

static double wait_a_while(const struct topo_ctx *ctx)
{
    uint64_t ns = ctx->limits.duration_ns ? ctx->limits.duration_ns : LOOK_MS * 1000000u;
    struct timespec began, ended;

    clock_gettime(CLOCK_MONOTONIC, &began);
    nanosleep(&(struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
}

/* ---- who has them open ---- */

static void add_open(struct topo_ctx *ctx, struct graph *g)
{
    const struct scan *s = ctx->scan;

    for (size_t i = 0; i < s->fds.n; i++) {
        const struct scan_fd *f = &s->fds.a[i];
        int64_t number =
            f->kind == SCAN_FD_DEVICE ? hw_numbered(scan_text(s, f->path), "/dev/infiniband/uverbs") : -1;
        char path[96], dev[64];

        snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/uverbs%lld/ibdev", (long long)number);
        if (number >= 0 && !topo_read_line(ctx, path, dev, sizeof(dev)) && *dev)
            graph_edge(g, GRAPH_EDGE_ACCESS, topo_process(ctx, g, s->processes.a[f->process].pid),
                       graph_named(g, GRAPH_RDMA_DEVICE, dev));
    }
}

static int add_objects(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct rdma_objects r = {0};
    uint64_t of_kernel;
    int rc = rdma_read(&r, e);

    of_kernel = rdma_add_objects(ctx, g, &r);
    if (of_kernel)
        hw_note(ctx, "%llu objects of the kernel are not shown", (unsigned long long)of_kernel);
    if (r.bad)
        hw_note(ctx, "%llu answers of RDMA netlink make no sense", (unsigned long long)r.bad);
    if (rc > 0)
        hw_note(ctx, "no RDMA netlink: queue pairs and memory regions are not seen");
    rdma_release(&r);
    return rc < 0 ? -1 : 0;
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct dir_names names = {0};
    struct ports ports = {0};
    struct hw_near near;
    double seconds;
    int rc = 0;

    topo_list(ctx, DEV_DIR, &names);
    if (!names.list.n) {
        ctx->state = ctx->denied ? NULL : "unavailable";
        hw_note(ctx, "no RDMA device");
        return 0;
    }
    hw_near_read(&near, ctx);
    for (size_t i = 0; i < names.list.n; i++)
        if (strncmp(names.list.a[i], "scif", 4) !=
            0) /* a Xeon Phi's, by software: hwloc leaves it out, too */
            add_device(ctx, g, &near, &ports, names.list.a[i]);
    seconds = ctx->live ? wait_a_while(ctx) : 0;
    for (size_t i = 0; i < ports.list.n; i++)
        add_rates(ctx, g, &ports.list.a[i], seconds);
    add_open(ctx, g);
    if (ctx->live)
        rc = add_objects(ctx, g, e);
    hw_near_release(&near);
    vec_release(&ports.list);
    dir_names_release(&names);
    return rc;
}

const struct topo_source topo_source_rdma = {
    .name = "rdma",
    .summary = "RDMA devices, ports and rates; queue pairs and memory of processes",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_USES,
    .devices = "/dev/infiniband/\0",
    .witty = "RDMA",
    .collect = collect,
};
