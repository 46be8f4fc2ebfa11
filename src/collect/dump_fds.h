/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors that a blocked system call waits for. */
#ifndef WPROF_COLLECT_DUMP_FDS_H
#define WPROF_COLLECT_DUMP_FDS_H

#include "platform/proctask.h"

#include <stdint.h>
#include <sys/stat.h>

enum { DUMP_FDS_MAX = 64 };

struct dump_fd {
    int fd;
    uint32_t mode; /* of fstat; 0: closed meanwhile, or refused */
    uint64_t ino;
    uint32_t child; /* of a pidfd: the process */
    uint8_t writes; /* it waits to write */
};

struct dump_fds {
    struct dump_fd list[DUMP_FDS_MAX];
    size_t n;
    unsigned left_out; /* there were more */
};

/* Those of process pid's call: one, or all that poll, select or epoll look at. */
void dump_fds_of(uint32_t pid, const struct proctask_call *call, struct dump_fds *out);

/* The descriptor's file, into path[], which it gives. */
enum { DUMP_FD_PATH = 4096 };
const char *dump_fd_path(uint32_t pid, int fd, char path[DUMP_FD_PATH]);

/* The process that holds the file lock which the call waits for; 0: it waits for none, or that can't be told.
 */
uint32_t dump_file_lock(uint32_t pid, const struct proctask_call *call);

#endif
