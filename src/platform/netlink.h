/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of our network namespace and who they are connected to, from the kernel's sock_diag(7). */
#ifndef WPROF_PLATFORM_NETLINK_H
#define WPROF_PLATFORM_NETLINK_H

#include "base/err.h"
#include "base/vec.h"

#include <netinet/in.h>
#include <stdint.h>

struct net_socket {
    uint32_t ino;
    uint32_t peer;  /* unix: the other end's inode, 0: none */
    uint8_t family; /* AF_UNIX, AF_INET, AF_INET6 */
    uint16_t port, peer_port;
    uint8_t addr[16], peer_addr[16];
    char path[108]; /* unix: what it is bound to, "" for none; an abstract name begins with @ */
};

struct net_sockets {
    VEC(struct net_socket) list;
};

/* Append all sockets of the kind; a kernel may lack either. */
int net_sockets_read_unix(struct net_sockets *s, struct err *e);
int net_sockets_read_tcp(struct net_sockets *s,
                         struct err *e); /* walks the kernel's whole table of connections */
void net_sockets_release(struct net_sockets *s);

const struct net_socket *net_sockets_find(const struct net_sockets *s, uint32_t ino); /* or NULL */

/* The other end: by inode, or the TCP socket whose addresses mirror these; NULL: elsewhere, or gone. */
const struct net_socket *net_sockets_peer(const struct net_sockets *s, const struct net_socket *of);

#endif
