/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of processes. The kernel reads them from the process's own memory, under a lock that a
 * process hung in a driver may hold for good: whoever reads its cmdline then hangs too, as ps(1) does. So a
 * child reads them, and where one takes too long another child goes on behind it.
 */
#ifndef WPROF_TOPO_CMDLINES_H
#define WPROF_TOPO_CMDLINES_H

#include <stddef.h>
#include <stdint.h>

/* One of them: arguments, each with its NUL; text may be changed. */
typedef void cmdlines_each(void *arg, size_t index, char *text, size_t n);

/* Reads PID/cmdline in the folder `proc`, of n pids. Returns how many could not be read for they took longer
 * than patience_ns. */
size_t cmdlines_read(int proc, const int *pids, size_t n, uint64_t patience_ns, cmdlines_each *each,
                     void *arg);

#endif
