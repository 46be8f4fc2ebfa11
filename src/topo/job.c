/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of batch systems and ranks of a training: Slurm's by its control groups and the environment, others'
 * by the environment of the processes. Of an environment only the variables named here are looked at.
 */
#include "topo/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRON_MAX = 128 << 10 }; /* bytes of one that are read */

struct job {
    struct topo_ctx *ctx;
    struct graph *g;
    struct buf env;
    uint64_t cut;
};

/* ---- the environment ---- */

static void read_environment(struct job *j, int pid)
{
    char path[64], *full;
    ssize_t got = 1;
    int fd;

    buf_clear(&j->env);
    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    full = topo_path(j->ctx, path);
    fd = open(full, O_RDONLY | O_CLOEXEC);
    free(full);
    buf_reserve(&j->env, ENVIRON_MAX + 2);
    while (fd >= 0 && got > 0 && j->env.len < ENVIRON_MAX) {
        got = read(fd, j->env.data + j->env.len, ENVIRON_MAX - j->env.len);
        j->env.len += got > 0 ? (size_t)got : 0;
    }
    if (fd < 0 || got < 0)
        j->ctx->denied += errno == EACCES || errno == EPERM;
    j->cut += j->env.len == ENVIRON_MAX;
    if (fd >= 0)
        close(fd);
    j->env.data[j->env.len] = '\0'; /* two at the end: a text, and the end of texts */
    j->env.data[j->env.len + 1] = '\0';
}

/* NULL: not set, or set to nothing. */
static const char *variable(const struct job *j, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = buf_str(&j->env), *end = at + j->env.len; at < end; at += strlen(at) + 1)
        if (!strncmp(at, name, n) && at[n] == '=' && at[n + 1])
            return at + n + 1;
    return NULL;
}

/* The first of several names, each ended by a NUL, that is set. */
static const char *first_of(const struct job *j, const char *names)
{
    for (; *names; names += strlen(names) + 1)
        if (variable(j, names))
            return variable(j, names);
    return NULL;
}

/* ---- ranks ---- */

static const struct {
    const char *attr, *names;
} ranks[] = {
    {"rank", "RANK\0OMPI_COMM_WORLD_RANK\0PMIX_RANK\0PMI_RANK\0SLURM_PROCID\0"},
    {"local_rank", "LOCAL_RANK\0OMPI_COMM_WORLD_LOCAL_RANK\0MPI_LOCALRANKID\0SLURM_LOCALID\0"},
    {"world_size", "WORLD_SIZE\0OMPI_COMM_WORLD_SIZE\0PMI_SIZE\0SLURM_NTASKS\0"},
    {"node_rank", "GROUP_RANK\0NODE_RANK\0SLURM_NODEID\0"},
};

static void add_ranks(struct job *j, const struct scan_process *p)
{
    const char *address, *port;
    struct graph_node *n;
    char master[300];

    if (!first_of(j, ranks[0].names))
        return; /* what else is set may be for its children */
    n = topo_process(j->ctx, j->g, p->pid);
    for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
        const char *text = first_of(j, ranks[i].names);
        char *end = NULL;
        long v = text ? strtol(text, &end, 10) : 0;

        if (text && !*end)
            graph_set_int(j->g, &n->attrs, ranks[i].attr, v);
    }
    address = variable(j, "MASTER_ADDR");
    port = variable(j, "MASTER_PORT");
    if (!address)
        return;
    snprintf(master, sizeof(master), "%s%s%s", address, port ? ":" : "", port ? port : "");
    graph_set_str(j->g, &n->attrs, "master", master);
}

/* ---- jobs ---- */

static const struct manager {
    const char *name, *ids;
    struct {
        const char *attr, *names;
    } more[8];
} managers[] = {
    {"slurm",
     "SLURM_JOB_ID\0SLURM_JOBID\0",
     {{"name", "SLURM_JOB_NAME\0"},
      {"partition", "SLURM_JOB_PARTITION\0"},
      {"nodes", "SLURM_JOB_NODELIST\0SLURM_NODELIST\0"},
      {"node_count", "SLURM_JOB_NUM_NODES\0SLURM_NNODES\0"},
      {"tasks", "SLURM_NTASKS\0SLURM_NPROCS\0"},
      {"cluster", "SLURM_CLUSTER_NAME\0"},
      {"array_job", "SLURM_ARRAY_JOB_ID\0"},
      {"array_task", "SLURM_ARRAY_TASK_ID\0"}}},
    {"pbs", "PBS_JOBID\0", {{"name", "PBS_JOBNAME\0"}, {"partition", "PBS_QUEUE\0"}}},
    {"lsf",
     "LSB_JOBID\0",
     {{"name", "LSB_JOBNAME\0"}, {"partition", "LSB_QUEUE\0"}, {"nodes", "LSB_HOSTS\0"}}},
    {"flux", "FLUX_JOB_ID\0", {{"node_count", "FLUX_JOB_NNODES\0"}, {"tasks", "FLUX_JOB_SIZE\0"}}},
    {"torchrun", "TORCHELASTIC_RUN_ID\0", {{"tasks", "WORLD_SIZE\0"}, {"node_count", "GROUP_WORLD_SIZE\0"}}},
};

/*
 * Slurm's path: ".../uid_1000/job_123/step_0/task_1" below "slurm" or "slurm_NODE" (version 1),
 * ".../job_123/step_batch/user/task_0" below "slurmstepd.scope" (version 2). 1: it is one.
 */
static int slurm_path(const char *text, char id[32], char step[32])
{
    const char *slurm = strstr(text, "slurm"), *job = slurm ? strstr(slurm, "/job_") : NULL, *at;
    size_t line = slurm ? strcspn(slurm, "\n") : 0, n;

    if (!job || job >= slurm + line)
        return 0;
    job += 5;
    n = strspn(job, "0123456789");
    if (!n || n >= 32)
        return 0;
    snprintf(id, 32, "%.*s", (int)n, job);
    at = strstr(job, "/step_");
    *step = '\0';
    if (at && at < slurm + line)
        snprintf(step, 32, "%.*s", (int)strcspn(at + 6, "/\n"), at + 6);
    return 1;
}

static void add_job(struct job *j, const struct scan_process *p, const struct manager *m, const char *id,
                    const char *step)
{
    struct graph_node *n = graph_named(j->g, GRAPH_JOB, id), *process = topo_process(j->ctx, j->g, p->pid);
    struct graph_edge *e;

    if (!graph_attr(&n->attrs, "manager")) {
        graph_set_str(j->g, &n->attrs, "manager", m->name);
        j->ctx->seen++;
    }
    for (size_t i = 0; i < ARRAY_SIZE(m->more) && m->more[i].attr; i++) {
        const char *v = graph_attr(&n->attrs, m->more[i].attr) ? NULL : first_of(j, m->more[i].names);

        if (v)
            graph_set_str(j->g, &n->attrs, m->more[i].attr, v);
    }
    e = graph_edge(j->g, GRAPH_EDGE_HOST, n, process);
    if (*step)
        graph_set_str(j->g, &e->attrs, "step", step);
    graph_set_int(j->g, &n->attrs, "processes", graph_attr_int(&n->attrs, "processes", 0) + 1);
}

static void add_jobs(struct job *j, const struct scan_process *p)
{
    char id[32], step[32] = "";

    if (slurm_path(scan_text(j->ctx->scan, p->cgroup), id, step)) {
        add_job(j, p, &managers[0], id, step);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(managers); i++) {
        const char *found = first_of(j, managers[i].ids), *env_step = NULL;

        if (!found || !strcmp(found, "none")) /* torchrun's word for none */
            continue;
        if (!i)
            env_step = first_of(j, "SLURM_STEP_ID\0SLURM_STEPID\0");
        add_job(j, p, &managers[i], found, env_step ? env_step : "");
        return;
    }
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct job j = {.ctx = ctx, .g = g};

    for (size_t i = 0; i < ctx->scan->processes.n; i++) {
        const struct scan_process *p = &ctx->scan->processes.a[i];

        if (p->kernel)
            continue;
        read_environment(&j, p->pid);
        add_jobs(&j, p);
        add_ranks(&j, p);
    }
    if (j.cut)
        snprintf(ctx->detail, sizeof(ctx->detail), "%llu environments are longer than what is read of them",
                 (unsigned long long)j.cut);
    buf_release(&j.env);
    return 0;
}

const struct topo_source topo_source_job = {
    .name = "job",
    .summary = "jobs of Slurm, PBS, LSF, Flux and torchrun; ranks of a training",
    .on_by_default = 1,
    .needs_scan = 1,
    .part = TOPO_DESCRIBES,
    .witty = "",
    .collect = collect,
};
