/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the targets' control groups. */
#include "collect/metrics.h"

#include "base/hash.h"
#include "platform/sysfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUPS_MAX = 16 };

static int same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* The kernel's number of it: the same for all who are in it. 0: it can't be told. */
static uint64_t number_of(const struct cgroup *g)
{
    const char *path = g->unified ? g->unified : g->memory ? g->memory : g->cpu;
    int fd = path ? sysfile_open(g->root, path) : -1;
    struct stat st;
    uint64_t n = fd >= 0 && !fstat(fd, &st) ? hash_mix(st.st_dev, st.st_ino) : 0;

    if (fd >= 0)
        close(fd);
    return n;
}

/* A target's group, unless another target is in it. */
static void enter(struct metrics *m, pid_t pid)
{
    struct metrics_group *g = mem_calloc(1, sizeof(*g));
    int known = cgroup_open(&g->group, m->root, pid, NULL);

    for (size_t i = 0; !known && i < m->groups.n; i++)
        known = same(m->groups.a[i]->group.cpu, g->group.cpu) &&
                same(m->groups.a[i]->group.memory, g->group.memory) &&
                same(m->groups.a[i]->group.unified, g->group.unified);
    if (known) {
        cgroup_close(&g->group);
        free(g);
        return;
    }
    g->pid = pid;
    g->number = number_of(&g->group);
    *vec_push(&m->groups) = g;
}

static void enter_all(struct metrics *m)
{
    for (size_t i = 0; i < m->ctx->targets.n && m->groups.n < GROUPS_MAX; i++)
        enter(m, m->ctx->targets.a[i]);
    if (!m->groups.n && !m->ctx->whole_machine && !m->rounds)
        m->missing[METRICS_NO_CGROUP]++;
}

static void read_one(struct metrics *m, struct metrics_group *g)
{
    struct cgroup_figures f;

    cgroup_read(&g->group, &f);
    const struct {
        enum metric_id id;
        uint32_t has;
        uint64_t value;
    } all[] = {
        {METRIC_ID_CGROUP_CPU, CGROUP_HAS_CPU, f.cpu_ns},
        {METRIC_ID_CGROUP_LIMIT, CGROUP_HAS_QUOTA, (uint64_t)(f.cpus * METRIC_MILLION + 0.5)},
        {METRIC_ID_CGROUP_PERIODS, CGROUP_HAS_QUOTA, f.periods},
        {METRIC_ID_CGROUP_THROTTLED, CGROUP_HAS_QUOTA, f.throttled_ns},
        {METRIC_ID_CGROUP_THROTTLED_PERIODS, CGROUP_HAS_QUOTA, f.throttled_periods},
        {METRIC_ID_CGROUP_MEMORY, CGROUP_HAS_MEMORY, f.memory},
        {METRIC_ID_CGROUP_MEMORY_MAX, CGROUP_HAS_MEMORY_MAX, f.memory_max},
        {METRIC_ID_CGROUP_MEMORY_HIGH, CGROUP_HAS_HIGH, f.high},
        {METRIC_ID_CGROUP_MEMORY_FAILS, CGROUP_HAS_FAILS, f.fails},
        {METRIC_ID_CGROUP_OOM_KILLS, CGROUP_HAS_OOM_KILLS, f.oom_kills},
        {METRIC_ID_CGROUP_PRESSURE_CPU, CGROUP_HAS_PRESSURE, f.pressure_cpu_ns},
        {METRIC_ID_CGROUP_PRESSURE_MEMORY, CGROUP_HAS_PRESSURE, f.pressure_memory_ns},
        {METRIC_ID_CGROUP_PRESSURE_IO, CGROUP_HAS_PRESSURE, f.pressure_io_ns},
    };

    m->missing[METRICS_NO_CGROUP] += !f.has;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        struct metrics_key key = {all[i].id, g->task, 0};

        if (!(f.has & all[i].has))
            continue;
        if (metrics_get(all[i].id)->kind == METRIC_COUNTER)
            metrics_count(&m->out, &g->series[all[i].id], key, m->ts, all[i].value);
        else
            metrics_level(&m->out, &g->series[all[i].id], key, m->ts, all[i].value);
    }
}

/* The target became another program. */
static void forget_levels(struct metrics_group *g)
{
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        if (metrics_get((enum metric_id)id)->kind == METRIC_GAUGE)
            g->series[id].known = 0;
}

void metrics_groups_look(struct metrics *m)
{
    /* Again and again: cgexec and job scripts enter a group after they began. */
    if (!m->rounds || m->ctx->targets.n <= GROUPS_MAX)
        enter_all(m);
    for (size_t i = 0; i < m->groups.n; i++) {
        struct metrics_group *g = m->groups.a[i];
        const struct metrics_process *p = metrics_process_find(m, g->pid);

        if (p && p->task && p->task != g->task) {
            g->task = p->task;
            forget_levels(g);
        }
        read_one(m, g);
    }
}

void metrics_groups_tell(const struct metrics *m, struct store *s)
{
    for (size_t i = 0; i < m->groups.n; i++) {
        const struct metrics_group *g = m->groups.a[i];
        char name[64];

        if (!g->task || !g->number)
            continue;
        snprintf(name, sizeof(name), METRICS_GROUP_COUNTER "%u", g->task);
        store_set_counter(s, name, g->number);
    }
}

void metrics_groups_end(struct metrics *m)
{
    for (size_t i = 0; i < m->groups.n; i++)
        for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
            metrics_end(&m->out, &m->groups.a[i]->series[id],
                        (struct metrics_key){(enum metric_id)id, m->groups.a[i]->task, 0});
}

void metrics_groups_release(struct metrics *m)
{
    for (size_t i = 0; i < m->groups.n; i++) {
        cgroup_close(&m->groups.a[i]->group);
        free(m->groups.a[i]);
    }
    vec_release(&m->groups);
}
