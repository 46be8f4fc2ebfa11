/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/container_path.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { POD_UID = 32 }; /* hexadecimal digits */

static int is_hex(const char *s, size_t n)
{
    return strspn(s, "0123456789abcdef") >= n;
}

static int begins(const char *c, size_t n, const char *prefix)
{
    size_t m = strlen(prefix);

    return n >= m && !memcmp(c, prefix, m);
}

static size_t without(const char *c, size_t n, const char *tail)
{
    size_t m = strlen(tail);

    return n > m && !memcmp(c + n - m, tail, m) ? n - m : n;
}

/* ---- containers ---- */

/* By what stands before the id, or by the directory above. */
static const char *engine_of(const char *before, const char *c, size_t head)
{
    static const struct {
        const char *prefix, *engine;
    } prefixes[] = {{"docker-", "docker"},      {"cri-containerd-", "containerd"},
                    {"nerdctl-", "containerd"}, {"containerd-", "containerd"},
                    {"crio-", "cri-o"},         {"libpod-", "podman"}};

    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (begins(c, head, prefixes[i].prefix))
            return prefixes[i].engine;
    if (memmem(c, head, ":cri-containerd:", 16))
        return "containerd";
    if (before && !strncmp(before, "docker/", 7))
        return "docker";
    return before && !strncmp(before, "libpod_parent/", 14) ? "podman" : "";
}

/*
 * One component. Ids: "<64 hex>", "docker-<id>.scope", "cri-containerd-<id>.scope", "crio-<id>.scope",
 * "libpod-<id>.scope", "kubepods-pod<uid>.slice:cri-containerd:<id>"; what watches one
 * ("libpod-conmon-<id>.scope") is not it.
 */
static int parse_id(const char *before, const char *c, size_t n, struct container_path *out)
{
    n = without(c, n, ".scope");
    if (n < CONTAINER_ID || !is_hex(c + n - CONTAINER_ID, CONTAINER_ID))
        return 0;
    if (n > CONTAINER_ID && c[n - CONTAINER_ID - 1] != '-' && c[n - CONTAINER_ID - 1] != ':')
        return 0;
    if (memmem(c, n, "conmon", 6))
        return 0;
    memcpy(out->id, c + n - CONTAINER_ID, CONTAINER_ID);
    out->id[CONTAINER_ID] = '\0';
    out->by_name = 0;
    out->engine = engine_of(before, c, n - CONTAINER_ID);
    return 1;
}

/* "lxc.payload.NAME", "machine-NAME.scope", or below "lxc". */
static int parse_name(const char *before, const char *c, size_t n, struct container_path *out)
{
    static const char payload[] = "lxc.payload.", machine[] = "machine-", scope[] = ".scope";
    const char *engine = "lxc";
    size_t head;

    if (n >= sizeof(payload) && begins(c, n, payload)) {
        head = sizeof(payload) - 1;
    } else if (n > sizeof(machine) + sizeof(scope) && begins(c, n, machine) && without(c, n, scope) != n) {
        head = sizeof(machine) - 1;
        n = without(c, n, scope);
        engine = "systemd-nspawn";
    } else if (before && !strncmp(before, "lxc/", 4) && n) {
        head = 0;
    } else {
        return 0;
    }
    if (n - head >= sizeof(out->id))
        return 0;
    memcpy(out->id, c + head, n - head);
    out->id[n - head] = '\0';
    out->by_name = 1;
    out->engine = engine;
    return 1;
}

/* ---- pods ---- */

/* "pod<uid>", "kubepods-burstable-pod<uid with _>.slice", and with a container behind a ':'. Static pods'
 * uids have no dashes. */
static int parse_pod(const char *c, size_t n, struct container_path *out)
{
    const char *at = c, *end = c + n;
    size_t digits = 0, len = 0;

    if (!begins(c, n, "pod") && !memmem(c, n, "kubepods", 8))
        return 0;
    for (at = memmem(at, n, "pod", 3); at; at = memmem(at, (size_t)(end - at), "pod", 3)) {
        at += 3;
        if (at < end && *at != 's')
            break; /* not kubepods' own */
    }
    for (; at && at < end && len < sizeof(out->pod) - 1; at++, len++) {
        if (*at != '-' && *at != '_' && !is_hex(at, 1))
            break;
        digits += *at != '-' && *at != '_';
        out->pod[len] = *at == '_' ? '-' : *at;
    }
    out->pod[len] = '\0';
    if (digits != POD_UID)
        out->pod[0] = '\0';
    return out->pod[0] != '\0';
}

/* "machine-libpod_pod_<64 hex>.slice" */
static void parse_podman_pod(const char *c, size_t n, struct container_path *out)
{
    static const char mark[] = "libpod_pod_";
    const char *at = memmem(c, n, mark, sizeof(mark) - 1);

    if (!at || !is_hex(at + sizeof(mark) - 1, CONTAINER_ID))
        return;
    memcpy(out->pod, at + sizeof(mark) - 1, CONTAINER_ID);
    out->pod[CONTAINER_ID] = '\0';
}

static const char *qos_of(const char *path, size_t n)
{
    return memmem(path, n, "burstable", 9)     ? "burstable"
           : memmem(path, n, "besteffort", 10) ? "besteffort"
                                               : "guaranteed";
}

int container_path_parse(const char *path, size_t n, struct container_path *out)
{
    const char *before = NULL;
    int got = 0;

    *out = (struct container_path){.engine = "", .qos = "", .user = -1};
    for (size_t at = 0; at < n;) {
        size_t len;

        at += path[at] == '/';
        for (len = 0; at + len < n && path[at + len] != '/';)
            len++;
        if (begins(path + at, len, "user-") && without(path + at, len, ".slice") != len)
            out->user = atoi(path + at + 5);
        if (parse_pod(path + at, len, out))
            out->qos = qos_of(path, at + len);
        parse_podman_pod(path + at, len, out);
        if (parse_id(before, path + at, len, out) || parse_name(before, path + at, len, out)) {
            out->begin = at;
            out->end = at + len;
            got = 1;
        }
        before = len ? path + at : before;
        at += len ? len : 1;
    }
    return got;
}

int container_path_find(const char *text, const char **path, struct container_path *out)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = strchr(line, ':');

        at = at ? strchr(at + 1, ':') : NULL;
        if (at && container_path_parse(at + 1, strcspn(at + 1, "\n"), out)) {
            *path = at + 1;
            return 1;
        }
    }
    return 0;
}

/* ---- mounts ---- */

/* ".../DIR/<64 hex>/" in path[0..n). */
static int mounted_id(const char *path, size_t n, const char *dir, const char *engine,
                      struct container_path *out)
{
    const char *at = memmem(path, n, dir, strlen(dir));

    if (!at || *out->id)
        return 0;
    at += strlen(dir);
    if ((size_t)(path + n - at) <= CONTAINER_ID || !is_hex(at, CONTAINER_ID) || at[CONTAINER_ID] != '/')
        return 0;
    memcpy(out->id, at, CONTAINER_ID);
    out->id[CONTAINER_ID] = '\0';
    out->engine = engine;
    return 1;
}

/* "/var/lib/kubelet/pods/<uid>/etc-hosts", ".../pods/<uid>/containers/NAME/..." */
static int mounted_pod(const char *path, size_t n, struct container_path *out, char name[64])
{
    static const char pods[] = "/pods/", containers[] = "/containers/";
    const char *at = memmem(path, n, pods, sizeof(pods) - 1), *end = path + n;
    size_t uid, len;

    if (!at)
        return 0;
    at += sizeof(pods) - 1;
    uid = strspn(at, "0123456789abcdef-");
    if (uid < POD_UID || uid >= sizeof(out->pod) || at + uid >= end || at[uid] != '/')
        return 0;
    memcpy(out->pod, at, uid);
    out->pod[uid] = '\0';
    at += uid;
    if (strncmp(at, containers, sizeof(containers) - 1) != 0)
        return 1;
    at += sizeof(containers) - 1;
    len = strcspn(at, "/ \n");
    if (len && len < 64) {
        memcpy(name, at, len);
        name[len] = '\0';
    }
    return 1;
}

int container_path_mounts(const char *mountinfo, struct container_path *out, char name[64])
{
    int got = 0;

    *out = (struct container_path){.engine = "", .qos = "", .user = -1};
    *name = '\0';
    for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *root = line;
        size_t n;

        for (int field = 1; root && field < 4; field++) {
            root += strcspn(root, " \n");
            root = *root == ' ' ? root + 1 : NULL;
        }
        if (!root)
            continue;
        n = strcspn(root, " \n");
        got |= mounted_id(root, n, "/docker/containers/", "docker", out);
        got |= mounted_id(root, n, "/overlay-containers/", "", out);
        got |= mounted_pod(root, n, out, name);
    }
    return got;
}
