/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a control group as targets: those that are in it, and those that enter. */
#ifndef WPROF_RECORD_CGROUP_WATCH_H
#define WPROF_RECORD_CGROUP_WATCH_H

#include "base/map.h"
#include "record/cgroup_procs.h"

struct cgroup_watch {
    struct cgroup_procs group;
    struct map known; /* pid -> start time, of those that were in it at the last look */
    int on;
};

/* path, or a container's id or name; the other NULL. Appends the processes that are in it. -1 with `e`: there
 * is no such group, or nothing runs in it. */
int cgroup_watch_begin(struct cgroup_watch *w, const char *path, const char *container, struct pid_list *out,
                       struct err *e);

/*
 * Appends those that have entered since the last look. A child of one that was in it then is none: its
 * parent's collectors follow it. Gives how many are in it now; 0: it is empty, or gone.
 */
size_t cgroup_watch_look(struct cgroup_watch *w, struct pid_list *entered);
void cgroup_watch_release(struct cgroup_watch *w);

#endif
