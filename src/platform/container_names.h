/* SPDX-License-Identifier: Apache-2.0 */
/* What containers are called, by the files of their engines. */
#ifndef WPROF_PLATFORM_CONTAINER_NAMES_H
#define WPROF_PLATFORM_CONTAINER_NAMES_H

#include "base/vec.h"

/* Texts are owned; NULL: not told. */
struct container_name {
    char *id, *name;
    char *image;
    char *label; /* the container's name in its pod, where `name` is longer than that */
    char *pod, *pod_namespace, *pod_uid;
    const char *engine; /* by whose file it is: "docker", "containerd", "" for Podman or CRI-O */
};

struct container_names {
    VEC(struct container_name) list;
};

/*
 * As far as they can be read: Docker's /var/lib/docker/containers/ID/config.v2.json ("Name"), Podman's and
 * CRI-O's /var/lib/containers/storage/overlay-containers/containers.json ("id", "names"), containerd's
 * bundles /run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json (annotations of Kubernetes,
 * nerdctl).
 */
void container_names_read(struct container_names *n, const char *root);
/* Those that Podman keeps for a user without root: in his home, "/home/ann". */
void container_names_read_home(struct container_names *n, const char *root, const char *home);
void container_names_release(struct container_names *n);
const struct container_name *container_names_find(const struct container_names *n,
                                                  const char *id);               /* NULL: not known */
const char *container_names_of(const struct container_names *n, const char *id); /* its name, or NULL */

#endif
