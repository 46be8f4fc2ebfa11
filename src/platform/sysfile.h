/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files of /proc and /sys that are read again and again. A root is a descriptor of a directory in which
 * "proc" and "sys" lie: that of "/", or a tree made for a test. Paths are relative to it.
 */
#ifndef WPROF_PLATFORM_SYSFILE_H
#define WPROF_PLATFORM_SYSFILE_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum { SYSFILE_MAX = 1 << 20 }; /* bytes of one that are read: /proc/stat of thousands of CPUs is less */

int sysfile_root(const char *path);                                    /* a descriptor, -1 with errno */
int sysfile_open(int root, const char *path) __attribute__((nonnull)); /* -1 with errno */

/* The text as it is now, into `out`, which is cleared first. 0; -1 with errno: ESRCH, ENODEV where what it
 * told of is gone. */
int sysfile_read(int fd, struct buf *out);
int sysfile_read_path(int root, const char *path, struct buf *out); /* opened and closed */

/* The whole number that the text begins with, after blanks. -1: none there. */
int sysfile_number(const char *text, uint64_t *v);

/* The number after `key` in the line that begins with it: "MemFree:  123 kB", "nr_throttled 7". -1: no such
 * line. */
int sysfile_key(const char *text, const char *key, uint64_t *v);

#endif
