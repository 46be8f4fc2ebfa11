/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers and pods, by the control groups of their processes: no engine is asked. Names, images and
 * Kubernetes' words for them by the engines' own files; limits and use by the control group.
 */
#include "topo/source.h"

#include "base/map.h"
#include "platform/cgroup.h"
#include "platform/container_names.h"
#include "platform/container_path.h"
#include "platform/sysfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHORT_ID = 12 }; /* how engines show one */

struct job {
    struct topo_ctx *ctx;
    struct graph *g;
    struct container_names names;
    struct dir_names logs; /* /var/log/pods: NAMESPACE_POD_UID */
    struct map homes;      /* users whose names were read */
    int root;              /* for cgroup_open() */
    int inside;            /* we are in a container: ask mounts, too */
    uint64_t nameless;
};

/* ---- pods ---- */

static void name_pod(struct job *j, struct graph_node *pod, const char *namespace, const char *name)
{
    graph_set_str(j->g, &pod->attrs, "name", name);
    graph_set_str(j->g, &pod->attrs, "pod_namespace", namespace);
}

/* The folder of its logs says what it is called. */
static void name_pod_by_logs(struct job *j, struct graph_node *pod, const char *uid)
{
    for (size_t i = 0; i < j->logs.list.n; i++) {
        char *text = mem_strdup(j->logs.list.a[i]), *rest = text;
        const char *namespace = strsep(&rest, "_"), *name = strsep(&rest, "_");

        if (name && rest && !strcmp(rest, uid)) {
            name_pod(j, pod, namespace, name);
        }
        free(text);
    }
}

static struct graph_node *add_pod(struct job *j, const struct container_path *c,
                                  const struct container_name *name)
{
    const char *uid = name && name->pod_uid ? name->pod_uid : c->pod;
    struct graph_node *pod;

    if (!*uid)
        return NULL;
    pod = graph_named(j->g, GRAPH_POD, uid);
    if (*c->qos)
        graph_set_str(j->g, &pod->attrs, "qos", c->qos);
    if (!graph_attr(&pod->attrs, "name"))
        name_pod_by_logs(j, pod, uid);
    if (name && name->pod && name->pod_namespace)
        name_pod(j, pod, name->pod_namespace, name->pod);
    return pod;
}

/* ---- containers ---- */

/* The home of a user whose engine runs without root: passwd(5). */
static void read_home(struct job *j, int user)
{
    struct buf text = {0};
    char *rest, *line;

    if (user <= 0 || *map_put(&j->homes, (uint64_t)user))
        return;
    *map_put(&j->homes, (uint64_t)user) = 1;
    if (topo_read(j->ctx, "/etc/passwd", &text) || !text.len)
        return;
    rest = text.data;
    while ((line = strsep(&rest, "\n"))) {
        char *field[6];
        size_t n = 0;

        while (n < ARRAY_SIZE(field) && (field[n] = strsep(&line, ":")))
            n++;
        if (n == ARRAY_SIZE(field) && atoi(field[2]) == user && *field[5] == '/')
            container_names_read_home(&j->names, j->ctx->root, field[5]);
    }
    buf_release(&text);
}

static void measure(struct job *j, struct graph_node *n, int pid)
{
    struct cgroup_figures f;
    struct cgroup c;

    if (j->root < 0 || cgroup_open(&c, j->root, pid, NULL))
        return;
    cgroup_read(&c, &f);
    if (f.has & CGROUP_HAS_CPU)
        graph_set_f64(j->g, &n->attrs, "cpu_s", (double)f.cpu_ns / 1e9);
    if (f.cpus > 0)
        graph_set_f64(j->g, &n->attrs, "cpu_limit", f.cpus);
    if (f.has & CGROUP_HAS_QUOTA)
        graph_set_f64(j->g, &n->attrs, "throttled_s", (double)f.throttled_ns / 1e9);
    if (f.has & CGROUP_HAS_MEMORY)
        graph_set_int(j->g, &n->attrs, "memory", (int64_t)f.memory);
    if (f.has & CGROUP_HAS_MEMORY_MAX)
        graph_set_int(j->g, &n->attrs, "memory_limit", (int64_t)f.memory_max);
    if ((f.has & CGROUP_HAS_OOM_KILLS) && f.oom_kills)
        graph_set_int(j->g, &n->attrs, "oom_kills", (int64_t)f.oom_kills);
    cgroup_close(&c);
}

static const char *engine_of(const struct container_path *c, const struct container_name *name)
{
    if (*c->engine)
        return c->engine;
    if (name && *name->engine)
        return name->engine;
    if (name)
        return c->pod[0] ? "cri-o" : "podman"; /* whose files are the same */
    return c->pod[0] ? "kubernetes" : "other";
}

static void describe(struct job *j, struct graph_node *n, const struct container_path *c,
                     const struct container_name *name, const char *path, const struct scan_process *p)
{
    const char *called = !name ? c->id : name->label ? name->label : name->name;
    char *cgroup = mem_strndup(path, c->end);

    graph_set_str(j->g, &n->attrs, "container_type", engine_of(c, name));
    if (name || c->by_name) {
        graph_set_str(j->g, &n->attrs, "name", called);
        graph_set_str(j->g, &n->attrs, "container_name", called);
    } else {
        j->nameless++;
    }
    if (!c->by_name)
        graph_set_str(j->g, &n->attrs, "full_id", c->id);
    if (name && name->image)
        graph_set_str(j->g, &n->attrs, "image", name->image);
    graph_set_str(j->g, &n->attrs, "cgroup", cgroup);
    if (p->net)
        graph_set_int(j->g, &n->attrs, "net_ns", (int64_t)p->net);
    if (p->pidns)
        graph_set_int(j->g, &n->attrs, "pid_ns", (int64_t)p->pidns);
    measure(j, n, p->pid);
    free(cgroup);
}

/* The container, with the pod or the container that it is in. */
static struct graph_node *add_container(struct job *j, const struct container_path *c, const char *path,
                                        const struct scan_process *p)
{
    const struct container_name *name;
    struct container_path outer;
    struct graph_node *n, *around = NULL;
    char id[sizeof(c->id)];

    snprintf(id, sizeof(id), "%.*s", c->by_name ? (int)sizeof(id) - 1 : SHORT_ID, c->id);
    n = graph_named(j->g, GRAPH_CONTAINER, id);
    if (graph_attr(&n->attrs, "container_type"))
        return n;
    if (!strcmp(c->engine, "podman"))
        read_home(j, c->user);
    name = container_names_find(&j->names, c->id);
    describe(j, n, c, name, path, p);
    j->ctx->seen++;
    if (container_path_parse(path, c->begin, &outer))
        around = add_container(j, &outer, path, p);
    else
        around = add_pod(j, c, name);
    if (around)
        graph_edge(j->g, GRAPH_EDGE_HOST, around, n);
    return n;
}

static void host_process(struct job *j, struct graph_node *place, const struct scan_process *p)
{
    graph_edge(j->g, GRAPH_EDGE_HOST, place, topo_process(j->ctx, j->g, p->pid));
    graph_set_int(j->g, &place->attrs, "processes", graph_attr_int(&place->attrs, "processes", 0) + 1);
}

static int read_mounts(struct job *j, const char *path, struct container_path *c, char name[64])
{
    uint64_t denied = j->ctx->denied, vanished = j->ctx->vanished;
    struct buf text = {0};
    int got = !topo_read(j->ctx, path, &text) && container_path_mounts(buf_str(&text), c, name);

    j->ctx->denied = denied; /* its control group was read */
    j->ctx->vanished = vanished;
    buf_release(&text);
    return got;
}

/* Where the control group says nothing: from the inside. */
static void add_by_mounts(struct job *j, const struct scan_process *p)
{
    struct graph_node *container = NULL, *pod;
    struct container_path c;
    char path[64], name[64];

    snprintf(path, sizeof(path), "/proc/%d/mountinfo", p->pid);
    if (!read_mounts(j, path, &c, name))
        return;
    pod = add_pod(j, &c, NULL);
    if (*c.id) {
        container = add_container(j, &c, "/", p);
        if (*name)
            graph_set_str(j->g, &container->attrs, "name", name);
    }
    host_process(j, container ? container : pod, p);
    if (!container && *name)
        graph_set_str(j->g,
                      &graph_edge(j->g, GRAPH_EDGE_HOST, pod, topo_process(j->ctx, j->g, p->pid))->attrs,
                      "container", name);
}

static void add_process(struct job *j, const struct scan_process *p)
{
    struct container_path c;
    const char *path;

    if (container_path_find(scan_text(j->ctx->scan, p->cgroup), &path, &c))
        host_process(j, add_container(j, &c, path, p), p);
    else if (j->inside)
        add_by_mounts(j, p);
}

/* Whether the first process that is seen here is in a container by its mounts. */
static int are_inside(struct job *j)
{
    const struct scan *s = j->ctx->scan;
    struct container_path c;
    char path[64], name[64];

    if (!s->processes.n || s->processes.a[0].kernel)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", s->processes.a[0].pid);
    return read_mounts(j, path, &c, name) ||
           (j->ctx->live && read_mounts(j, "/proc/self/mountinfo", &c, name));
}

/* ---- */

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct job j = {.ctx = ctx, .g = g};
    uint64_t denied = ctx->denied;

    container_names_read(&j.names, ctx->root);
    topo_list(ctx, "/var/log/pods", &j.logs);
    ctx->denied = denied; /* names are nice to have; how many are missing is told */
    j.inside = are_inside(&j);
    j.root = sysfile_root(*ctx->root ? ctx->root : "/");
    for (size_t i = 0; i < ctx->scan->processes.n; i++)
        if (!ctx->scan->processes.a[i].kernel)
            add_process(&j, &ctx->scan->processes.a[i]);
    if (j.nameless)
        snprintf(ctx->detail, sizeof(ctx->detail),
                 "%llu without a name: the engine's files, which mostly root alone may read, do not tell it",
                 (unsigned long long)j.nameless);
    if (j.root >= 0)
        close(j.root);
    map_release(&j.homes);
    dir_names_release(&j.logs);
    container_names_release(&j.names);
    return 0;
}

const struct topo_source topo_source_container = {
    .name = "container",
    .summary = "containers (Docker, containerd, CRI-O, Podman, LXC, systemd-nspawn) and Kubernetes' pods",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_DESCRIBES,
    .witty = "Container",
    .collect = collect,
};
