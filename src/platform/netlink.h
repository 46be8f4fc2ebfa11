/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of a network namespace and who they are connected to: from the kernel's sock_diag(7), or from the
 * text of /proc/PID/net/tcp and its like, which lacks peers of unix sockets and counts. */
#ifndef WPROF_PLATFORM_NETLINK_H
#define WPROF_PLATFORM_NETLINK_H

#include "base/err.h"
#include "base/vec.h"

#include <netinet/in.h>
#include <stdint.h>

struct net_socket {
    uint32_t ino;
    uint32_t peer;    /* unix: the other end's inode, 0: none */
    uint8_t family;   /* AF_UNIX, AF_INET, AF_INET6 */
    uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP; unix: SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET */
    uint8_t state;    /* NET_ESTABLISHED ... */
    uint8_t counted;  /* bytes and segments are known */
    uint32_t uid;
    uint16_t port, peer_port;
    uint8_t addr[16], peer_addr[16];
    uint64_t sent, received;            /* bytes, what was sent again not counted twice */
    uint64_t segments_out, segments_in; /* with data */
    uint32_t rtt_us;                    /* TCP: how long an answer takes, smoothed; 0: not known */
    char path[108]; /* unix: what it is bound to, "" for none; an abstract name begins with @ */
};

/* Of include/net/tcp_states.h; used for UDP and unix sockets too. */
enum {
    NET_ESTABLISHED = 1,
    NET_TIME_WAIT = 6,
    NET_CLOSE = 7,
    NET_CLOSE_WAIT = 8,
    NET_LAST_ACK = 9,
    NET_LISTEN = 10,
    NET_CLOSING = 11
};

struct net_sockets {
    VEC(struct net_socket) list;
    uint8_t protocol; /* of what is being read */
};

/* Append all sockets of the kind; a kernel may lack either. */
int net_sockets_read_unix(struct net_sockets *s, struct err *e);
int net_sockets_read_tcp(struct net_sockets *s,
                         struct err *e); /* walks the kernel's whole table of connections */
/* All of a protocol, IPv4 and IPv6; with_counts: TCP's bytes and segments too. -1 where neither family
 * answers. */
int net_sockets_read_inet(struct net_sockets *s, int protocol, int with_counts, struct err *e);

/* The text of /proc/PID/net/tcp, tcp6, udp, udp6 (by family and protocol) or unix (AF_UNIX, 0). Lines that
 * make no sense are left out; returns how many these are. */
size_t net_sockets_parse(struct net_sockets *s, int family, int protocol, const char *text);

void net_sockets_release(struct net_sockets *s);

const struct net_socket *net_sockets_find(const struct net_sockets *s, uint32_t ino); /* or NULL */

/* The other end: by inode, or the TCP socket whose addresses mirror these; NULL: elsewhere, or gone. */
const struct net_socket *net_sockets_peer(const struct net_sockets *s, const struct net_socket *of);

#endif
