/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the recording: also those that no look at /proc was fast enough for. */
#include "record/topology.h"

#include <stdio.h>
#include <unistd.h>

void topology_seen(uint64_t *first, uint64_t *last, uint64_t from, uint64_t to)
{
    if (from && (!*first || from < *first))
        *first = from;
    if (to > *last)
        *last = to;
}

/* /proc/PID/stat tells the start in ticks of USER_HZ, cut off. */
struct graph_node *topology_process(struct graph *g, uint32_t ns_pid, int64_t ns_ppid, uint64_t start_ns)
{
    long hz = sysconf(_SC_CLK_TCK);

    return graph_process(g, ns_pid, ns_ppid, start_ns / (1000000000u / (uint64_t)(hz > 0 ? hz : 100)));
}

static struct graph_node *node_of(struct graph *g, const struct store *s, const struct task *t,
                                  const struct topology_how *how)
{
    const struct task *parent = t->parent ? &s->tasks.list.a[t->parent - 1] : NULL;
    int64_t ppid = parent && parent->ns_pid ? (int64_t)parent->ns_pid : -1;

    if (ppid < 0 && how->launched && t->ns_pid == (uint32_t)how->launched)
        ppid = how->launcher;
    return topology_process(g, t->ns_pid, ppid, t->start_ns);
}

/* A task of another program that the process ran before is the same node: the last name stays. */
static void add(struct graph *g, const struct store *s, const struct task *t, const struct topology_how *how)
{
    const struct task *parent = t->parent ? &s->tasks.list.a[t->parent - 1] : NULL;
    struct graph_node *n = node_of(g, s, t, how);
    struct graph_edge *own;

    topology_seen(&n->first_ns, &n->last_ns, t->first_ns ? t->first_ns + how->offset : 0,
                  t->last_ns ? t->last_ns + how->offset : how->now);
    if (!how->looks_name || !graph_attr(&n->attrs, "name"))
        graph_set_str(g, &n->attrs, "name", strtab_get(&s->strings, t->comm));
    graph_set_bool(g, &n->attrs, "ended", t->last_ns != 0); /* of a later program, if there is one */
    if (!parent || !parent->ns_pid || parent == t)
        return;
    own = graph_edge(g, GRAPH_EDGE_OWN, node_of(g, s, parent, how), n);
    topology_seen(&own->first_ns, &own->last_ns, n->first_ns, n->last_ns);
}

enum { KTHREADD = 2 }; /* the parent of all threads of the kernel */

static int is_of_kernel(const struct store *s, const struct task *t)
{
    return t->pid == KTHREADD || (t->parent && s->tasks.list.a[t->parent - 1].pid == KTHREADD);
}

static int is_in(const struct graph *g, const struct task *t)
{
    char pid[16];

    snprintf(pid, sizeof(pid), "%u", t->ns_pid);
    return graph_find(g, &(struct graph_id){.kind = GRAPH_PROCESS, .field = {pid}}) != NULL;
}

size_t topology_processes(struct graph *g, const struct store *s, const struct topology_how *how)
{
    size_t n = 0;

    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];

        if (t->leader != i + 1 || t->pid != t->tid || !t->ns_pid || is_of_kernel(s, t))
            continue;
        if (t->start_ns < how->only_since && !is_in(g, t))
            continue;
        add(g, s, t, how);
        n++;
    }
    return n;
}

static int is_living(const struct store *s, uint32_t id)
{
    const struct task *t = &s->tasks.list.a[id - 1];

    return t->leader == id && t->pid == t->tid && t->ns_pid && !t->last_ns;
}

static size_t add_living(const struct store *s, int with_parent, size_t max, struct topology_pids *out)
{
    size_t cut = 0;

    for (uint32_t id = 1; id <= s->tasks.list.n; id++) {
        const struct task *t = &s->tasks.list.a[id - 1];

        if (!is_living(s, id) || (t->parent && t->parent != id && is_living(s, t->parent)) != with_parent)
            continue;
        if (out->list.n < max)
            *vec_push(&out->list) = (int)t->ns_pid;
        else
            cut++;
    }
    return cut;
}

size_t topology_living(const struct store *s, size_t max, struct topology_pids *out)
{
    size_t cut = add_living(s, 0, max, out);

    add_living(s, 1, max, out);
    return cut;
}
