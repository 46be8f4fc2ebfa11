/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets and pipes of the flows, each with all that threads moved over it, and which is connected to which.
 */
#ifndef WPROF_RECORD_TOPOLOGY_ENDS_H
#define WPROF_RECORD_TOPOLOGY_ENDS_H

#include "record/topology_flows.h"

#include <sys/socket.h>

struct end {
    const struct bpfside_flow *flows; /* by process, then thread */
    size_t n;
    const struct wire_flow *f; /* the one that tells most of where it goes */
    uint64_t bytes[2], messages[2], first, last;
    uint64_t begun[2], ended[2]; /* as in struct wire_flow */
    int64_t peer;                /* in the list of ends; -1: not there */
    uint64_t known; /* bytes of what came to a socket that takes from everybody, from whom is known */
    int family;     /* IPv4 that goes by IPv6 is IPv4 */
    const uint8_t *addr, *peer_addr;
};

struct ends {
    VEC(struct end) list;
    struct map by_key; /* what the other end would look for -> first in `next` + 1 */
    VEC(uint32_t) next;
    struct map by_path; /* the same for datagrams to a path of unix(7) */
    VEC(uint32_t) next_path;
};

/* Of a datagram socket that is connected to nobody what it sent is an end for each place, beside the one of
 * all that it got. */
static inline int end_is_sent(const struct end *e)
{
    return e->flows->key.to != 0;
}

/* Sorts the flows, which must stay as they are as long as the ends are used. */
void ends_find(struct ends *x, struct flows *f);
void ends_release(struct ends *x);

#endif
