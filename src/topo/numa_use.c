/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and the NUMA nodes that they run on, processes and the nodes that their memory is on, and how well
 * these agree: the cosine of the angle between CPU time by node and pages by node. 1: all runs where its
 * memory is, in the same shares; 0: all runs where none of it is.
 */
#include "topo/numa_maps.h"
#include "topo/numa_tasks.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct use {
    struct topo_ctx *ctx;
    struct graph *g;
    struct numa_tasks tasks;
    uint64_t too_large, bad_lines;
};

/* One process, as vectors by node (hw_near's order). */
struct vectors {
    double *cpu, *pages;
    size_t n;
    int has_pages;
};

/* ---- agreement ---- */

/* -1: one of them is nothing. */
static double cosine(const double *a, const double *b, size_t n)
{
    double dot = 0, aa = 0, bb = 0;

    for (size_t i = 0; i < n; i++) {
        dot += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? fmin(dot / sqrt(aa) / sqrt(bb), 1) : -1;
}

static double total(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum;
}

/* The share of accesses that go to another node, if each page is used as much as any other. */
static double remote_share(const double *cpu, const double *pages, size_t n)
{
    double c = total(cpu, n), p = total(pages, n), local = 0;

    for (size_t i = 0; c > 0 && p > 0 && i < n; i++)
        local += cpu[i] / c * pages[i] / p;
    return fmax(1 - local, 0);
}

static double rounded(double v)
{
    return round(v * 1000) / 1000;
}

static void set_agreement(struct graph *g, struct graph_edge *e, const double *cpu, const struct vectors *v)
{
    double c = v->has_pages ? cosine(cpu, v->pages, v->n) : -1;

    if (c < 0)
        return;
    graph_set_f64(g, &e->attrs, "affinity", rounded(c));
    graph_set_f64(g, &e->attrs, "remote_share", rounded(remote_share(cpu, v->pages, v->n)));
}

/* ---- witty-profiler's records ---- */

static void write_by_node(struct json_writer *w, const char *key, const struct numa_tasks *t, const double *v)
{
    json_object(w, key);
    for (size_t i = 0; i < t->near.nodes.n; i++) {
        char id[24];

        snprintf(id, sizeof(id), "%lld", (long long)t->near.nodes.a[i].id);
        if (v[i] > 0)
            json_u64(w, id, (uint64_t)v[i]);
    }
    json_end_object(w);
}

static void write_status(struct json_writer *w, const char *key, const struct numa_tasks *t,
                         const struct numa_thread *thread, const double *cpu)
{
    json_object(w, key);
    json_u64(w, "voluntary_ctxt_switches", thread->voluntary);
    json_u64(w, "involuntary_ctxt_switches", thread->forced);
    json_str(w, "cpus_allowed_list", thread->cpus);
    json_str(w, "mems_allowed_list", thread->mems);
    write_by_node(w, "numa_index_to_cpu_runtime", t, cpu);
    json_end_object(w);
}

/* ---- edges ---- */

/* To the node, or to the set of nodes, on which the vectors have something. NULL: nothing anywhere. */
static struct graph_edge *join(struct use *u, struct graph_node *from, enum graph_relation kind,
                               const double *a, const double *b)
{
    struct graph_node *to;
    struct idset nodes = {0};

    for (size_t i = 0; i < u->tasks.near.nodes.n; i++)
        if (a[i] > 0 || (b && b[i] > 0))
            idset_add(&nodes, (unsigned)u->tasks.near.nodes.a[i].id);
    to = hw_numa_place(u->g, &nodes);
    idset_release(&nodes);
    return to ? graph_edge(u->g, kind, from, to) : NULL;
}

static void add_process(struct use *u, const struct numa_process *p, struct graph_node *n,
                        const struct vectors *v, const struct numa_maps *maps)
{
    struct graph_edge *e = join(u, n, GRAPH_EDGE_NUMA_ACCESS, v->cpu, v->has_pages ? v->pages : NULL);
    struct numa_thread all = {0};
    struct buf json = {0};
    struct json_writer w = {.out = &json};

    if (!e)
        return;
    for (size_t i = 0; i < p->threads.n; i++) {
        all.voluntary += p->threads.a[i].voluntary;
        all.forced += p->threads.a[i].forced;
        all.moved |= p->threads.a[i].moved;
    }
    if (p->threads.n) {
        memcpy(all.cpus, p->threads.a[0].cpus, sizeof(all.cpus));
        memcpy(all.mems, p->threads.a[0].mems, sizeof(all.mems));
    }
    json_object(&w, NULL);
    write_status(&w, "proc_status", &u->tasks, &all, v->cpu);
    json_object(&w, "anon_bytes");
    for (size_t i = 0; i < maps->nodes.n; i++) {
        char id[16];

        snprintf(id, sizeof(id), "%u", maps->nodes.a[i].node);
        json_u64(&w, id, maps->nodes.a[i].anon);
    }
    json_end_object(&w);
    json_object(&w, "file_bytes");
    for (size_t i = 0; i < maps->nodes.n; i++) {
        char id[16];

        snprintf(id, sizeof(id), "%u", maps->nodes.a[i].node);
        json_u64(&w, id, maps->nodes.a[i].file);
    }
    json_end_object(&w);
    json_end_object(&w);
    graph_set_json(u->g, &e->attrs, "numa_access_info", buf_str(&json));
    set_agreement(u->g, e, v->cpu, v);
    if (v->has_pages && total(v->cpu, v->n) > 0 && total(v->pages, v->n) > 0)
        graph_edge_weight(e, rounded(cosine(v->cpu, v->pages, v->n)));
    e->confidence = all.moved ? 0.5 : 1;
    buf_release(&json);
}

/* witty-profiler's rule: a thread matters that has at least its share of its process's switches, of one sort
 * or the other, or more than its share of CPU time. */
static int is_kept(const struct use *u, const struct numa_process *p, const struct numa_thread *t, double cpu)
{
    const struct topo_limits *l = &u->ctx->limits;
    uint64_t voluntary = 0, forced = 0;

    for (size_t i = 0; i < p->threads.n; i++) {
        voluntary += p->threads.a[i].voluntary;
        forced += p->threads.a[i].forced;
    }
    return (voluntary && (double)t->voluntary >= l->numa_switches * (double)voluntary) ||
           (forced && (double)t->forced >= l->numa_switches * (double)forced) ||
           numa_tasks_ns(&u->tasks, t) > l->numa_cpu * cpu;
}

static void add_thread(struct use *u, const struct numa_process *p, struct graph_node *process,
                       const struct numa_thread *t, const struct vectors *v)
{
    struct graph_node *n = graph_thread(u->g, t->tid, t->start);
    double ran = numa_tasks_ns(&u->tasks, t), cpu = total(v->cpu, v->n);
    struct graph_edge *e;
    struct buf json = {0};
    struct json_writer w = {.out = &json};

    graph_set_str(u->g, &n->attrs, "name", t->name);
    graph_set_int(u->g, &n->attrs, "pid", p->of->pid);
    graph_edge(u->g, GRAPH_EDGE_OWN, process, n);
    e = join(u, n, GRAPH_EDGE_ACCESS_STATUS, t->ns, NULL);
    if (!e)
        return;
    write_status(&w, NULL, &u->tasks, t, t->ns);
    graph_set_json(u->g, &e->attrs, "proc_status", buf_str(&json));
    graph_edge_weight(e, rounded(cpu > 0 ? ran / cpu : 0));
    set_agreement(u->g, e, t->ns, v);
    e->confidence = t->moved ? 0.5 : 1;
    buf_release(&json);
}

/* ---- all ---- */

static void read_pages(struct use *u, const struct numa_process *p, struct numa_maps *maps, struct vectors *v)
{
    unsigned long long pages = 0;
    struct buf text = {0};
    char path[64], line[96];
    int anon_only;

    snprintf(path, sizeof(path), "/proc/%d/statm", p->of->pid);
    topo_read_line(u->ctx, path, line, sizeof(line));
    sscanf(line, "%*u %llu", &pages);
    if (pages > u->ctx->limits.numa_walk / (uint64_t)sysconf(_SC_PAGESIZE)) {
        u->too_large++;
        return;
    }
    snprintf(path, sizeof(path), "/proc/%d/numa_maps", p->of->pid);
    if (!topo_read(u->ctx, path, &text))
        u->bad_lines += numa_maps_parse(maps, buf_str(&text));
    buf_release(&text);
    anon_only = numa_maps_bytes(maps, 1) > 0; /* files are where somebody read them first */
    for (size_t i = 0; i < maps->nodes.n; i++)
        for (size_t k = 0; k < v->n; k++)
            if (u->tasks.near.nodes.a[k].id == maps->nodes.a[i].node)
                v->pages[k] += (double)(maps->nodes.a[i].anon + (anon_only ? 0 : maps->nodes.a[i].file));
    v->has_pages = maps->nodes.n > 0;
}

static void use_of(struct use *u, struct numa_process *p)
{
    size_t n = u->tasks.near.nodes.n;
    struct vectors v = {mem_calloc(n, sizeof(double)), mem_calloc(n, sizeof(double)), n, 0};
    struct numa_maps maps = {0};
    struct graph_node *process;
    double cpu;

    for (size_t i = 0; i < p->threads.n; i++)
        for (size_t k = 0; k < n; k++)
            v.cpu[k] += p->threads.a[i].ns[k];
    cpu = total(v.cpu, n);
    if (p->asked || cpu > u->ctx->limits.numa_busy * (double)u->tasks.window_ns) {
        process = topo_process(u->ctx, u->g, p->of->pid);
        numa_tasks_status(u->ctx, p);
        read_pages(u, p, &maps, &v);
        add_process(u, p, process, &v, &maps);
        for (size_t i = 0; p->threads.n > 1 && i < p->threads.n; i++)
            if (!p->threads.a[i].gone && is_kept(u, p, &p->threads.a[i], cpu))
                add_thread(u, p, process, &p->threads.a[i], &v);
    }
    numa_maps_release(&maps);
    free(v.cpu);
    free(v.pages);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct use u = {.ctx = ctx, .g = g};
    uint64_t left_out;

    hw_near_read(&u.tasks.near, ctx);
    if (u.tasks.near.nodes.n < 2) {
        ctx->state = "unavailable";
        hw_note(ctx, "there %s", u.tasks.near.nodes.n ? "is one NUMA node only" : "are no NUMA nodes");
        hw_near_release(&u.tasks.near);
        return 0;
    }
    left_out = numa_tasks_choose(&u.tasks, ctx);
    numa_tasks_watch(&u.tasks, ctx);
    for (size_t i = 0; i < u.tasks.list.n; i++)
        use_of(&u, &u.tasks.list.a[i]);
    if (left_out)
        hw_note(ctx, "%llu threads were not looked at: too many, choose some with --pid",
                (unsigned long long)left_out);
    if (u.too_large)
        hw_note(ctx, "the pages of %llu very large processes were not looked at",
                (unsigned long long)u.too_large);
    if (u.bad_lines)
        hw_note(ctx, "%llu lines of numa_maps make no sense", (unsigned long long)u.bad_lines);
    numa_tasks_release(&u.tasks);
    return 0;
}

const struct topo_source topo_source_numa_use = {
    .name = "numa-use",
    .summary = "the NUMA nodes that threads run on and memory is on, and how well they agree",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_DESCRIBES,
    .witty = "Numa",
    .collect = collect,
};
