/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the path of a control group says of containers: Docker's, containerd's, CRI-O's and Podman's (64
 * hexadecimal digits, in a scope or a directory of their own), LXC's and systemd's machines by their names;
 * Kubernetes' pods around them. Versions 1 and 2, drivers "cgroupfs" and "systemd".
 */
#ifndef WPROF_PLATFORM_CONTAINER_PATH_H
#define WPROF_PLATFORM_CONTAINER_PATH_H

#include <stddef.h>

enum { CONTAINER_ID = 64 };

struct container_path {
    char id[256];       /* or, of those with names alone, its name */
    int by_name;        /* that */
    const char *engine; /* "docker", "containerd", "cri-o", "podman", "lxc", "systemd-nspawn"; "": not told */
    size_t begin, end;  /* path[0..end) is its own; another container may be in path[0..begin) */
    char pod[72];       /* the uid, as Kubernetes writes it, or Podman's id; "": none */
    const char *qos;    /* "guaranteed", "burstable", "besteffort"; "" without a pod of Kubernetes */
    int user;           /* whose engine it is, where it runs without root; -1: not told */
};

/* 1: path[0..n) is in a container; of several within each other it is the innermost. 0: it is not; a pod it
 * may be in all the same. */
int container_path_parse(const char *path, size_t n, struct container_path *out);

/* The same of the lines of a /proc/PID/cgroup: the first that tells. *path is it, in `text`. */
int container_path_find(const char *text, const char **path, struct container_path *out);

/*
 * Inside of a container a control group may be "/" and say nothing; its mounts do, by where engines and the
 * kubelet keep a container's hostname, hosts and resolv.conf: proc(5), mountinfo, the fourth field. id or
 * pod, or both; `name` is the container's in its pod, "" where that is not told. 0: nothing.
 */
int container_path_mounts(const char *mountinfo, struct container_path *out, char name[64]);

#endif
