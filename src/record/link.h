/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `record --sudo`: between the front end, which is the user's and starts the command, and the collecting
 * half, which sudo runs as root. A stream socket of the abstract namespace; each side looks at who the other
 * is.
 *
 *     front                                  half
 *     HELLO argv, descriptors            ->
 *                                        <-  MARKS the command's WPROF_MARKS
 *     COMMAND pid, waiting at its gate   ->
 *                                        <-  READY all collectors count
 *     RUNS, or FAILED                    ->
 *     INTERRUPT                          ->      ^C: the recording is to end
 *     SIGNAL number                      ->      one of --start-on, --stop-on
 *     ENDED it is there to be waited for ->
 *                                        <-  SEEN the collectors had their last look
 *     STATUS struct link_status          ->
 *
 * Either may close it at any time: without its front the half seals what it has, without its half the front
 * waits for the command.
 */
#ifndef WPROF_RECORD_LINK_H
#define WPROF_RECORD_LINK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum link_type {
    LINK_HELLO = 'h',
    LINK_MARKS = 'm',
    LINK_COMMAND = 'c',
    LINK_READY = 'r',
    LINK_RUNS = 'g',
    LINK_FAILED = 'f',
    LINK_INTERRUPT = 'i',
    LINK_SIGNAL = 'n',
    LINK_ENDED = 'e',
    LINK_SEEN = 's',
    LINK_STATUS = 'x',
};

/* Descriptors that come with HELLO: where the half talks to, and the directory that it works in. */
enum { LINK_STDERR, LINK_CWD, LINK_FDS };

struct link_status {
    int32_t status; /* as of wait4(2) */
    int32_t pad;
    struct rusage usage;
};

enum { LINK_NAME = 32 }; /* bytes of a socket's name as text, hexadecimal */

/* A listening socket that the kernel has named; name[] gets that. -1 with `e`. */
int link_listen(char name[LINK_NAME], struct err *e);
int link_connect(const char *name, struct err *e);

/* Who is at the other end, as it connected or began to listen. */
int link_peer(int fd, pid_t *pid, uid_t *uid);

/* 0, or -1: the other side is gone. fds: LINK_FDS of them with HELLO, else NULL. */
int link_send(int fd, enum link_type type, const void *p, size_t n, const int *fds);
/* Waits for a whole message: its type, with its bytes in *out (cleared first) and its descriptors in fds[],
 * which may be NULL; -1: the other side is gone. */
int link_receive(int fd, struct buf *out, int fds[LINK_FDS]);

#endif
