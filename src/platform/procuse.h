/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process or thread has used since it began: ns, bytes and counts, from the files of its directory in
 * /proc. Parsers take a file's text; -1: malformed. proc(5). Those of a process hold what its ended threads
 * used, but for switches and delays, which the kernel tells of threads alone.
 */
#ifndef WPROF_PLATFORM_PROCUSE_H
#define WPROF_PLATFORM_PROCUSE_H

#include <stdint.h>

struct procuse {
    char state;
    uint64_t minor_faults, major_faults;
    uint64_t user_ns, system_ns;
    uint64_t children_ns; /* of those that ended and were waited for, and of theirs */
    uint64_t threads;
    uint64_t start_ns; /* CLOCK_BOOTTIME, to a clock tick */
    uint64_t rss;
};
int procuse_parse(const char *stat, struct procuse *out);

struct procuse_io {
    uint64_t read, written; /* storage; written: pages made dirty */
    uint64_t in, out;       /* system calls */
};
int procuse_parse_io(const char *text, struct procuse_io *out);

struct procuse_switches {
    uint64_t voluntary, involuntary;
};
int procuse_parse_switches(const char *status, struct procuse_switches *out); /* of the status file */

/* The swapped-out bytes of the status file. -1: a kernel thread, or no swap. */
int procuse_parse_swap(const char *status, uint64_t *bytes);

#endif
