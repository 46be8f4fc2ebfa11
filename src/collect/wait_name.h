/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of what is waited on, as texts: "futex 0x7f..",
 * "futex 0x7f.. (mutex, held by holder[18])", "pipe:[123] <- python3[42]", "tcp 127.0.0.1:4711 -
 * 127.0.0.1:80 nginx[17]", "/data/train.bin", "wait4 17". Descriptors are looked up in /proc when a span is
 * first seen, which may be after its process has gone: then the inode is all there is. Pids are those of the
 * initial namespace.
 */
#ifndef WPROF_COLLECT_WAIT_NAME_H
#define WPROF_COLLECT_WAIT_NAME_H

#include "base/map.h"
#include "collect/wait_holders.h"
#include "model/store.h"
#include "platform/netlink.h"
#include "unwind/track.h"

#include <stdint.h>

struct wait_namer {
    struct store *store;
    struct track *track;
    struct map names; /* hash of {process, descriptor, inode, call} -> string */
    struct wait_holders holders;
    struct map peers; /* inode of a socket -> that of its peer, or when none was found */
    struct net_sockets unix_sockets, tcp_sockets;
    uint64_t unix_ns, tcp_ns; /* when they were read; 0: never */
};

void wait_namer_init(struct wait_namer *n, struct store *s, struct track *t);
void wait_namer_release(struct wait_namer *n);

struct store_visit;
void wait_namer_ids(struct wait_namer *n, struct store_visit *v); /* model/store_visit.h */

/* A string of the store, 0: there is nothing to say. p NULL: a kernel thread. */
uint32_t wait_name(struct wait_namer *n, const struct process *p, const struct wire_wait *w);

/* The inode of the socket at the other end of the socket w->ino, of this machine; 0: none, or not known. */
uint64_t wait_peer_socket(struct wait_namer *n, const struct wire_wait *w);

/* The processes at the other end of the pipe or socket w->fd, as wprof sees them, but for p itself: at most
 * `max`, each once. */
size_t wait_peers(struct wait_namer *n, const struct process *p, const struct wire_wait *w, pid_t *out,
                  size_t max);

#endif
