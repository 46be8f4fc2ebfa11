/* SPDX-License-Identifier: Apache-2.0 */
/* What containers are called, by the files of their engines. */
#ifndef WPROF_RECORD_CGROUP_CONTAINER_NAMES_H
#define WPROF_RECORD_CGROUP_CONTAINER_NAMES_H

#include "base/vec.h"

struct container_name {
    char *id, *name; /* owned */
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
void container_names_release(struct container_names *n);
const char *container_names_of(const struct container_names *n, const char *id); /* NULL: not known */

#endif
