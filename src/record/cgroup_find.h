/* SPDX-License-Identifier: Apache-2.0 */
/* From what a person writes to a control group. */
#ifndef WPROF_RECORD_CGROUP_FIND_H
#define WPROF_RECORD_CGROUP_FIND_H

#include "record/cgroup_procs.h"

/*
 * --cgroup: a path under `root` ("/sys/fs/cgroup"), with or without it in front, of version 2, or of any
 * hierarchy of version 1; also as /proc/PID/cgroup has it. -1 with `e`: there is none; names those near.
 */
int cgroup_find(struct cgroup_procs *g, const char *root, const char *text, struct err *e);

/*
 * The directory of a group that /proc/PID/cgroup calls `path`; of several hierarchies the first with
 * processes in it. NULL: none is mounted below `root`. Owned by the caller.
 */
char *cgroup_find_dir(const char *root, const char *path);

#endif
