/* SPDX-License-Identifier: Apache-2.0 */
/* What processes have of RDMA devices, by the kernel's RDMA netlink (the interface of `rdma resource`).
 * Facts: include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c. */
#ifndef WPROF_PLATFORM_RDMA_H
#define WPROF_PLATFORM_RDMA_H

#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

enum rdma_kind { RDMA_DEVICE, RDMA_QP, RDMA_MR, RDMA_PD };

struct rdma_object {
    enum rdma_kind kind;
    char dev[64];
    uint32_t index; /* of the device */
    uint32_t pid;   /* in our pid namespace; 0: the kernel's own */
    uint32_t port, qpn, remote_qpn, pdn, lkey, rkey;
    uint64_t length;     /* of a memory region, bytes */
    uint8_t type, state; /* of a queue pair: enum ib_qp_type, ib_qp_state */
    uint8_t has_pdn, has_remote, has_keys;
};

struct rdma_objects {
    VEC(struct rdma_object) list;
    uint64_t bad; /* messages and tables that make no sense */
};

/* Appends devices and all they have. 0; 1: the kernel has no RDMA; -1 with `e`. */
int rdma_read(struct rdma_objects *r, struct err *e);
void rdma_release(struct rdma_objects *r);

/* Appends what a block of answers to a question of that kind holds. 0: more is to come; 1: that was the last;
 * -1: it ends with an error, whose number is in *error. */
int rdma_parse(struct rdma_objects *r, enum rdma_kind kind, const void *data, size_t n, int *error);

#endif
