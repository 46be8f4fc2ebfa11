/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of marks and the thread that empties it. Inside of marks*.c. */
#ifndef WPROF_RECORD_MARKS_SOCKET_H
#define WPROF_RECORD_MARKS_SOCKET_H

#include "base/buf.h"
#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* One datagram; its bytes follow it. */
struct marks_packet {
    uint64_t ts; /* CLOCK_MONOTONIC ns */
    int32_t pid; /* the sender, in our pid namespace; 0: not to be seen from here */
    uint32_t uid;
    uint32_t bytes;
    uint32_t cut; /* it was longer */
};

struct marks_socket {
    int fd, stop_fd, ready_fd; /* ready_fd: readable when there are packets to take */
    pthread_t thread;
    int running;
    pthread_mutex_t lock; /* of `filling` */
    struct buf filling, taken;
    _Atomic uint64_t dropped; /* no room here */
};

/* Binds `path`, mode 0600, and starts the thread. -1 with `e`; nothing is left then. */
int marks_socket_open(struct marks_socket *s, const char *path, struct err *e);

/* Gives each packet that has come since the last call. */
void marks_socket_take(struct marks_socket *s,
                       void (*each)(void *arg, const struct marks_packet *p, const char *bytes), void *arg);

/* What was sent until now may still be taken; nothing else is received. */
void marks_socket_stop(struct marks_socket *s);
void marks_socket_release(struct marks_socket *s);

#endif
