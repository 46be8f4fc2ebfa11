/* SPDX-License-Identifier: Apache-2.0 */
/* All sockets of all network namespaces, and the processes that hold them. For the source of that name. */
#ifndef WPROF_TOPO_SOCKETS_H
#define WPROF_TOPO_SOCKETS_H

#include "base/map.h"
#include "platform/netlink.h"
#include "topo/source.h"

struct sockets_of_ns {
    uint64_t net;      /* the namespace's inode; 0: not known */
    uint32_t first, n; /* in all.list */
};

struct sockets {
    struct net_sockets all; /* by namespace */
    VEC(struct sockets_of_ns) spaces;
    VEC(uint32_t) space_of;           /* of socket i */
    VEC(const struct scan_fd *) held; /* by inode */
    struct map by_ino;                /* inode -> index + 1 */
    struct index by_ends;             /* of connected ones: by their addresses */
    struct index listeners;           /* by port and namespace */
    uint64_t unreached;               /* namespaces that could not be read */
    uint64_t bad_lines;
};

/* -1 with `e` where not one namespace could be read. */
int sockets_read(struct sockets *s, struct topo_ctx *ctx, struct err *e);
void sockets_release(struct sockets *s);

/* The first of the descriptors that hold socket i, and how many they are. */
const struct scan_fd *const *sockets_holders(const struct sockets *s, size_t i, size_t *n);

/* The other end, by inode or by addresses, in any namespace (a loopback address: in its own); -1: not here.
 */
int64_t sockets_peer(const struct sockets *s, size_t i);

/* Whether somebody listens at the socket's own port: then it is the server's end. */
int sockets_is_server(const struct sockets *s, size_t i);

#endif
