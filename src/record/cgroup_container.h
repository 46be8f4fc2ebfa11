/* SPDX-License-Identifier: Apache-2.0 */
/* From a container's id or name to its control group, without asking the daemon that runs it. */
#ifndef WPROF_RECORD_CGROUP_CONTAINER_H
#define WPROF_RECORD_CGROUP_CONTAINER_H

#include "record/cgroup_procs.h"

/*
 * text: an id, the beginning of one, or a name. Containers are found by the control groups of running
 * processes: Docker's, containerd's, CRI-O's, Podman's (64 hexadecimal digits, in a scope or a directory of
 * their own), LXC's and systemd's machines by their names. Names of the first four stand in the files that
 * their engines keep, which mostly root alone can read. -1 with `e`: none runs, or several begin so; names
 * them.
 *
 * root stands in front of /proc, /sys/fs/cgroup, /var/lib and /run: "" but in tests.
 */
int cgroup_container(struct cgroup_procs *g, const char *root, const char *text, struct err *e);

#endif
