/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over /proc for all sources: processes, and what their file descriptors are. proc(5). */
#ifndef WPROF_TOPO_SCAN_H
#define WPROF_TOPO_SCAN_H

#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

enum scan_fd_kind {
    SCAN_FD_SOCKET,  /* ino: the socket's */
    SCAN_FD_PIPE,    /* ino: the pipe's */
    SCAN_FD_EVENTFD, /* ino: its id (from fdinfo), 0 where the kernel does not tell */
    SCAN_FD_MEMFD,   /* "/memfd:NAME", dev and ino from stat */
    SCAN_FD_FIFO,    /* a named pipe, dev and ino from stat */
    SCAN_FD_MQUEUE,  /* a POSIX message queue */
    SCAN_FD_DEVICE,  /* /dev/... but terminals, null and the like */
    SCAN_FD_SHM,     /* /dev/shm/... */
};

struct scan_fd {
    uint32_t process; /* index in scan.processes */
    int fd;
    uint8_t kind;  /* enum scan_fd_kind; descriptors of other kinds are not kept */
    uint8_t mode;  /* 1 may read, 2 may write, 3 both; 0: not known */
    uint32_t path; /* offset in scan.text; 0: "" */
    uint64_t dev, ino;
};

struct scan_process {
    int pid, ppid;
    uint64_t start;     /* clock ticks since boot */
    uint64_t cpu_ticks; /* user + system */
    uint64_t net;       /* inode of the network namespace; 0: not to be had */
    uint64_t pidns, ipc;
    uint32_t uid;
    uint32_t threads;
    uint32_t comm, cmdline, cgroup; /* offsets in scan.text; cgroup: the whole file's text */
    uint32_t first_fd, nfds;        /* in scan.fds */
    uint8_t kernel;                 /* a thread of the kernel's */
    uint8_t denied;                 /* its descriptors may not be read */
    uint8_t has;                    /* enum scan_what: what was looked at */
};

struct scan {
    VEC(struct scan_process) processes; /* by pid */
    VEC(struct scan_fd) fds;            /* those of one process together */
    struct {
        char *a;
        size_t n, cap;
    } text;
    uint64_t denied, vanished;
    uint64_t stuck;   /* processes whose command line could not be read in time */
    uint64_t boot_ns; /* CLOCK_REALTIME of the boot; 0: not known */
};

/* Without the processes of `skip`: our own helpers. */
int scan_read(struct scan *s, const char *root, const int *skip, size_t nskip, struct err *e);
/* The same in steps, for whoever needs to know more of some processes than of others. First of all of them
 * what their stat says; then what is asked for of those whose byte in `of` is not 0 (what was read is not
 * read again); then a scan with all there is to know of those in `of`, without the others. */
enum scan_what {
    SCAN_SPACES = 1,    /* network and IPC namespaces */
    SCAN_FDS = 2,       /* descriptors */
    SCAN_FDS_HASTY = 4, /* those whose kind their name tells: no FIFOs, and queues only by /dev/mqueue */
};
int scan_begin(struct scan *s, const char *root, struct err *e);
void scan_more(struct scan *s, const char *root, const uint8_t *of, unsigned what); /* of: NULL: all */
void scan_part(struct scan *part, const struct scan *s, const char *root, const uint8_t *of);
void scan_release(struct scan *s);
const struct scan_process *scan_find(const struct scan *s, int pid); /* NULL: none */
static inline const char *scan_text(const struct scan *s, uint32_t offset)
{
    return s->text.a ? s->text.a + offset : "";
}

#endif
