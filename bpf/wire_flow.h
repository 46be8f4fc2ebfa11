/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a thread moved over one socket or pipe: shared by flow.bpf.c and user space. */
#ifndef WPROF_BPF_WIRE_FLOW_H
#define WPROF_BPF_WIRE_FLOW_H

#include "bpf/wire.h"

enum { WIRE_FLOW_PATH = 108 }; /* sun_path of unix(7) */

enum wire_flow_kind {
    WIRE_FLOW_SOCKET,
    WIRE_FLOW_PIPE,
    WIRE_FLOW_FIFO,
    WIRE_FLOW_EVENTFD,  /* sk: its id, -1: not told */
    WIRE_FLOW_MQUEUE,   /* POSIX; path: "/name" */
    WIRE_FLOW_SYSV_MSG, /* net: its IPC namespace's inode */
    WIRE_FLOW_SYSV_SEM, /* the same; OUT: added to, IN: taken from or waited for; no bytes */
};

enum { WIRE_FLOW_OUT, WIRE_FLOW_IN };

/* ino: of the socket's, pipe's, FIFO's or queue's file; an eventfd's address, the id of a System V queue or
 * set of semaphores. Sockets get numbers that are not used again soon, their addresses in memory and their
 * ports are. */
struct wire_flow_key {
    __u64 ino;
    __u32 dev;   /* of a FIFO's or queue's filesystem, System V's IPC namespace; else 0 */
    __u32 tid;   /* in the initial pid namespace */
    __u64 start; /* of the thread: tids are used again */
    __u64 to; /* of what a datagram socket that is connected to nobody sent: a number for where to; else 0 */
};

struct wire_flow {
    struct wire_task task;
    __u64 bytes[2], messages[2]; /* WIRE_FLOW_OUT, WIRE_FLOW_IN */
    __u64 first, last;           /* CLOCK_MONOTONIC ns */
    __u64 begun[2],
        ended[2];      /* the same of each way: when the first and the last message had gone; 0: none */
    __u64 sk, peer_sk; /* addresses: two unix sockets that are connected name each other */
    __u64 peer_ino;    /* 0: not known */
    __u32 net;         /* the network namespace's inode */
    __u16 family, protocol, type;
    __u16 port, peer_port; /* host order; the peer is where it was sent, with key.to */
    __u8 kind, path_len;
    __u8 active, pad[3]; /* of a TCP connection: this end asked for it, in the recording; 0: accepted it, or
                            not known */
    __u8 addr[16], peer_addr[16];
    char path[WIRE_FLOW_PATH]; /* unix sockets: what either end is bound to, or where it was sent (key.to);
                                  FIFOs: the last part of the name */
};

#endif
