/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a control group and of those below it. */
#ifndef WPROF_RECORD_CGROUP_PROCS_H
#define WPROF_RECORD_CGROUP_PROCS_H

#include "base/err.h"
#include "platform/proctask.h"

/* Strings are owned. */
struct cgroup_procs {
    char *dir;  /* its directory; NULL: not to be seen from here, then /proc tells who is in it */
    char *path; /* as /proc/PID/cgroup has it: "/system.slice/nginx.service"; NULL with `dir` */
    char *name; /* for people and for the session's name: "nginx.service", a container's name */
};

/* Appends the processes in it but ourselves. -1: it isn't there any more. */
int cgroup_procs_list(const struct cgroup_procs *g, struct pid_list *out);
void cgroup_procs_release(struct cgroup_procs *g);

/* Whether one of the lines of a /proc/PID/cgroup puts the process into `path` or below. */
int cgroup_procs_has(const char *text, const char *path);

#endif
