/* SPDX-License-Identifier: Apache-2.0 */
/* /proc of processes. Pids are those of the reader's own pid namespace. */
#ifndef WPROF_PLATFORM_PROCFS_H
#define WPROF_PLATFORM_PROCFS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct procfs_map {
    uint64_t start, end, pgoff;
    uint64_t dev, ino; /* dev as of makedev(3) */
    const char *path;  /* "" for anonymous memory; borrowed */
};

/*
 * A process whose first thread has ended (pthread_exit in main) lives on in the others, but what /proc/PID
 * and the memory calls find by its pid is that thread's: nothing. Another thread's id does there; 0: there is
 * none, it is gone as a whole. The functions below do this themselves.
 */
pid_t procfs_heir(pid_t pid);

/* Calls `each` for every executable mapping, by rising address. -1 when the process can't be read (or is
 * gone). */
int procfs_exec_maps(pid_t pid, void (*each)(void *arg, const struct procfs_map *m), void *arg,
                     struct err *e);

/* One line of a maps file, executable or not; 1: *m is filled (path points into line), 0: malformed. */
int procfs_parse_map(char *line, struct procfs_map *m, int *exec);

/*
 * The file behind a mapping, opened: by its address range (works for deleted files), then by the path as the
 * process sees it, then as we do. dev and ino, where not 0, must be the file's (on overlay file systems the
 * device that the kernel names isn't the one that stat gives: the inode alone decides then). -1: not to be
 * had.
 */
int procfs_open_mapped(pid_t pid, const struct procfs_map *m);

/* The CPUs that the process's cpuset lets it run on, as the text of a list ("0-3,8"); appended. -1: not
 * known, then it is all of them. */
int procfs_cpuset(pid_t pid, struct buf *out);

struct iovec;

/* As process_vm_readv(2), of n pieces. */
ssize_t procfs_readv_memory(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n);

/* Memory of a live process: how many bytes were read, from the beginning; -1 where it can't be read at all.
 */
ssize_t procfs_read_memory(pid_t pid, uint64_t addr, void *dst, size_t n);

/* /tmp of the process's own root, with symbolic links resolved there: a directory for the *at() calls, whose
 * file system lives on with it when the process and its mount namespace are gone. -1: errno. */
int procfs_open_tmp(pid_t pid);

#endif
