/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf maps: what a JIT compiler wrote about its code, one "START SIZE NAME" line a region, hexadecimal (the
 * interface that Linux perf documents in tools/perf/Documentation/jit-interface.txt). They only grow; a later
 * line replaces what it overlaps. They are written by the target: any line may be broken or hostile.
 */
#ifndef WPROF_PLATFORM_PERFMAP_H
#define WPROF_PLATFORM_PERFMAP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define PERFMAP_NAME_MAX 4096 /* bytes of a name that are kept */

struct perfmap {
    const uint64_t *addrs; /* sorted, each once; borrowed */
    size_t n;
    size_t *name_of;     /* [n]: offset in names + 1, 0: none */
    struct buf names;    /* NUL-terminated */
    struct buf line;     /* the unfinished line between two feeds */
    int skipping;        /* the rest of a line that is too long */
    uint64_t lines, bad; /* read; not "START SIZE NAME", or senseless */
    uint64_t steps;      /* bounds the work on maps where everything overlaps */
};

void perfmap_init(struct perfmap *m, const uint64_t *addrs, size_t n);
void perfmap_release(struct perfmap *m);
void perfmap_feed(struct perfmap *m, const char *p, size_t n); /* the next bytes of the file */
void perfmap_finish(struct perfmap *m);                        /* a last line without its newline counts */
const char *perfmap_name(const struct perfmap *m, size_t i);   /* of addrs[i]; NULL: none */

/* Was it last written before a process that started at start_ns (CLOCK_BOOTTIME) was there? A pid is used
 * again, and maps stay behind. */
int perfmap_is_older(const struct stat *map, uint64_t start_ns);

/* /tmp/perf-<own_pid>.map of live process `pid`, in its own file system, opened; -1 where there is none that
 * is its: a file of root's or its user's, not older than the process. start_ns 0: not known. */
int perfmap_open_live(int pid, uint32_t own_pid, uint64_t start_ns);

/* Feeds a whole file, from its start, to its end as of now (at most 1 GiB), then finishes. The fd's offset
 * stays. */
int perfmap_read_fd(struct perfmap *m, int fd, struct err *e);

#endif
