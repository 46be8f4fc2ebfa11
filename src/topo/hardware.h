/* SPDX-License-Identifier: Apache-2.0 */
/* What sources of hardware share: sets in files of the root, links, PCI addresses, what is next to which NUMA
 * node, what this process's control group may use. Sources: Documentation/admin-guide/cputopology.rst,
 * Documentation/ABI/stable/sysfs-devices-node, cpuset(7), sysfs(5). */
#ifndef WPROF_TOPO_HARDWARE_H
#define WPROF_TOPO_HARDWARE_H

#include "topo/idset.h"
#include "topo/source.h"

/* Adds a phrase to ctx->detail; what no longer fits is left out, whole. */
void hw_note(struct topo_ctx *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Add the set in a file of the root. hw_read_set: from the list, or where that is missing or unreadable from
 * the mask. -1: there is none, or it makes no sense. */
int hw_read_list(struct topo_ctx *ctx, const char *path, struct idset *s);
int hw_read_mask(struct topo_ctx *ctx, const char *path, struct idset *s);
int hw_read_set(struct topo_ctx *ctx, const char *list, const char *mask, struct idset *s);

/* "NAME7" gives 7; -1: another name. */
int64_t hw_numbered(const char *name, const char *prefix);

void hw_set_ids(struct graph *g, struct graph_attrs *to, const char *name, const struct idset *s);

/* Where the link at `path` goes: the text of it, and the last part of that. -1: no link there. */
int hw_link(const struct topo_ctx *ctx, const char *path, char *out, size_t n);
int hw_link_name(const struct topo_ctx *ctx, const char *path, char *out, size_t n);

/* The PCI address "0000:3b:00.0" that comes last in the path behind a link of /sys/class/X/Y or of its
 * "device"; -1: it is not on PCI. */
enum { HW_PCI_LEN = 24 };
int hw_pci_of(const struct topo_ctx *ctx, const char *path, char pci[HW_PCI_LEN]);
int hw_is_pci(const char *name); /* "0000:3b:00.0", or with more digits of the domain */

/* The NUMA nodes and their CPUs, to find what is next to which; without those that are a GPU's memory. */
struct hw_near_node {
    int64_t id;
    struct idset cpus;
};
struct hw_near {
    VEC(struct hw_near_node) nodes;
    struct idset online;
    struct idset of_gpu;   /* nodes whose memory is a GPU's */
    uint64_t contradicted; /* devices whose CPUs are parts of nodes */
};
void hw_near_read(struct hw_near *n, struct topo_ctx *ctx);
void hw_near_release(struct hw_near *n);

/* Joins a device's node to the NUMA nodes that it is next to: by the file numa_node in its folder, or, where
 * that does not tell, by the CPUs in local_cpulist or local_cpus, unless these are all. Returns how many
 * nodes these are. */
size_t hw_near_join(struct hw_near *n, struct topo_ctx *ctx, struct graph *g, struct graph_node *device,
                    const char *folder);

/* The node of the one NUMA node in the set, or a numa-set with all of them; NULL: it is empty. */
struct graph_node *hw_numa_place(struct graph *g, const struct idset *nodes);

/* The node of a PCI device, where it is of those that are shown; else NULL. hw_pci_shown: whether devices of
 * that class (24 bits: base class, subclass, interface) are: storage, network, display, accelerators. */
struct graph_node *hw_pci_node(struct topo_ctx *ctx, struct graph *g, const char *pci);
int hw_pci_shown(int64_t class);

/* Of a device on PCI: its edge from the bus, the NUMA nodes that it is next to, and cpu_affinity (the CPUs).
 */
void hw_place(struct hw_near *n, struct topo_ctx *ctx, struct graph *g, struct graph_node *device,
              const char *pci);

/* For qsort, of char *: by domain, bus, device, function. */
int hw_by_pci(const void *a, const void *b);

/* The edge from a process to a device that it has open, of confidence 0.5; unless the source has found it to
 * use a device of that kind already, in a better way. */
void hw_add_open(struct topo_ctx *ctx, struct graph *g, const struct scan_fd *f, struct graph_node *device);

/* PCI Express link of the device in that folder, as attributes pcie_gen, pcie_width, pcie_max_gen,
 * pcie_max_width. */
void hw_pci_set_link(struct topo_ctx *ctx, struct graph *g, struct graph_attrs *to, const char *folder);

/* The NUMA nodes whose memory is a GPU's, as NVIDIA's driver tells them (coherent GPUs of POWER9, Grace). */
void hw_gpu_memory_nodes(struct topo_ctx *ctx, struct idset *nodes);

/* The CPUs and memory nodes that the control group of this process allows. */
struct hw_allowed {
    struct idset cpus, mems;
    int has_cpus, has_mems; /* 0: not restricted */
};
void hw_allowed_read(struct topo_ctx *ctx, struct hw_allowed *a);
void hw_allowed_release(struct hw_allowed *a);

#endif
