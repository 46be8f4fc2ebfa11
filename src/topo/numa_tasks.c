/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/numa_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 4, LOOK_MS = 200 }; /* how often, and how long where no duration is given */

/* ---- one thread ---- */

/* stat: after the name in parentheses come the fields from the third on; CPU time is the 14th and 15th, the
 * start the 22nd, the CPU the 39th. -1: gone. */
static int read_stat(struct topo_ctx *ctx, int pid, int tid, struct numa_thread *t, uint64_t *ticks)
{
    unsigned long long utime, stime, start;
    char path[80], *open, *close;
    struct buf b = {0};
    int cpu, rc = -1;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
    if (!topo_read(ctx, path, &b) && (open = strchr(b.data, '(')) && (close = strrchr(open, ')')) &&
        sscanf(close + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu %*u %*d "
               "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
               &utime, &stime, &start, &cpu) == 4) {
        snprintf(t->name, sizeof(t->name), "%.*s", (int)(close - open - 1), open + 1);
        *ticks = utime + stime;
        t->start = start;
        t->cpu = cpu;
        rc = 0;
    }
    buf_release(&b);
    return rc;
}

/* Its CPU time: to the ns where the kernel keeps that, else to a clock tick. -1: gone. */
static int read_thread(struct topo_ctx *ctx, int pid, struct numa_thread *t)
{
    unsigned long long ns;
    char path[80], line[96];
    uint64_t ticks;

    if (read_stat(ctx, pid, t->tid, t, &ticks))
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, t->tid);
    if (!topo_read_line(ctx, path, line, sizeof(line)) && sscanf(line, "%llu", &ns) == 1)
        t->run_ns = ns;
    else
        t->run_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    return 0;
}

static int32_t node_of(const struct numa_tasks *t, int64_t cpu)
{
    return cpu >= 0 && (size_t)cpu < t->node_of.n ? t->node_of.a[cpu] : -1;
}

static void credit(const struct numa_tasks *t, struct numa_thread *thread, int64_t cpu, double ns)
{
    int32_t node = node_of(t, cpu);

    if (node >= 0)
        thread->ns[node] += ns;
}

/* What it ran since the last look was on the node it is on now; half of it, where it was on another one. */
static void look_at(struct numa_tasks *t, struct topo_ctx *ctx, int pid, struct numa_thread *thread)
{
    struct numa_thread now = *thread;
    double ran;

    if (thread->gone || read_thread(ctx, pid, &now) || now.start != thread->start) {
        ctx->vanished += !thread->gone;
        thread->gone = 1;
        return;
    }
    ran = now.run_ns > thread->run_ns ? (double)(now.run_ns - thread->run_ns) : 0;
    credit(t, thread, now.cpu, ran / 2);
    credit(t, thread, thread->cpu, ran / 2);
    thread->moved |= ran > 0 && node_of(t, now.cpu) != node_of(t, thread->cpu);
    thread->run_ns = now.run_ns;
    thread->cpu = now.cpu;
}

/* ---- which ones ---- */

static void map_cpus(struct numa_tasks *t)
{
    for (size_t i = 0; i < t->near.nodes.n; i++) {
        const struct idset *cpus = &t->near.nodes.a[i].cpus;

        for (int64_t cpu = idset_first(cpus); cpu >= 0; cpu = idset_next(cpus, cpu)) {
            while (t->node_of.n <= (size_t)cpu)
                *vec_push(&t->node_of) = -1;
            t->node_of.a[cpu] = (int32_t)i;
        }
    }
}

static void add_threads(struct numa_tasks *t, struct topo_ctx *ctx, struct numa_process *p)
{
    struct dir_names tids = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task", p->of->pid);
    topo_list(ctx, path, &tids);
    for (size_t i = 0; i < tids.list.n; i++) {
        struct numa_thread thread = {.tid = atoi(tids.list.a[i])};

        if (read_thread(ctx, p->of->pid, &thread)) {
            ctx->vanished++;
            continue;
        }
        thread.ns = mem_calloc(t->near.nodes.n, sizeof(*thread.ns));
        *vec_push(&p->threads) = thread;
        ctx->seen++;
    }
    dir_names_release(&tids);
}

uint64_t numa_tasks_choose(struct numa_tasks *t, struct topo_ctx *ctx)
{
    const struct scan *s = ctx->scan;
    uint64_t threads = 0, left_out = 0;

    map_cpus(t);
    for (size_t i = 0; i < s->processes.n; i++)
        threads += s->processes.a[i].kernel ? 0 : s->processes.a[i].threads;
    for (size_t i = 0; i < s->processes.n; i++) {
        const struct scan_process *p = &s->processes.a[i];
        int asked = topo_asked(ctx, p);

        if (p->kernel)
            continue;
        if (!asked && (ctx->npids || threads > ctx->limits.max_threads)) {
            left_out += ctx->npids ? 0 : p->threads;
            continue;
        }
        *vec_push(&t->list) = (struct numa_process){.of = p, .asked = (uint8_t)asked};
        add_threads(t, ctx, &t->list.a[t->list.n - 1]);
    }
    return left_out;
}

/* ---- watching ---- */

static void look(struct numa_tasks *t, struct topo_ctx *ctx)
{
    for (size_t i = 0; i < t->list.n; i++)
        for (size_t k = 0; k < t->list.a[i].threads.n; k++)
            look_at(t, ctx, t->list.a[i].of->pid, &t->list.a[i].threads.a[k]);
}

void numa_tasks_watch(struct numa_tasks *t, struct topo_ctx *ctx)
{
    uint64_t ns = ctx->limits.duration_ns ? ctx->limits.duration_ns : LOOK_MS * 1000000u;
    struct timespec pause = {(time_t)(ns / LOOKS / 1000000000u), (long)(ns / LOOKS % 1000000000u)};

    t->window_ns = ctx->live ? ns : 0;
    for (int i = 0; ctx->live && i < LOOKS; i++) {
        nanosleep(&pause, NULL);
        look(t, ctx);
    }
    if (ctx->live)
        return;
    for (size_t i = 0; i < t->list.n; i++)
        for (size_t k = 0; k < t->list.a[i].threads.n; k++) {
            struct numa_thread *thread = &t->list.a[i].threads.a[k];

            credit(t, thread, thread->cpu, (double)thread->run_ns);
        }
}

/* The value in the line of `key`, into out. */
static void status_value(const char *text, const char *key, char *out, size_t n)
{
    const char *line = strstr(text, key);

    *out = '\0';
    if (!line)
        return;
    line += strlen(key);
    line += strspn(line, " \t");
    snprintf(out, n, "%.*s", (int)strcspn(line, "\n"), line);
}

void numa_tasks_status(struct topo_ctx *ctx, struct numa_process *p)
{
    for (size_t i = 0; i < p->threads.n; i++) {
        struct numa_thread *t = &p->threads.a[i];
        struct buf text = {0};
        char path[80], number[32];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/status", p->of->pid, t->tid);
        if (!topo_read(ctx, path, &text)) {
            status_value(buf_str(&text), "\nvoluntary_ctxt_switches:", number, sizeof(number));
            t->voluntary = strtoull(number, NULL, 10);
            status_value(buf_str(&text), "\nnonvoluntary_ctxt_switches:", number, sizeof(number));
            t->forced = strtoull(number, NULL, 10);
            status_value(buf_str(&text), "\nCpus_allowed_list:", t->cpus, sizeof(t->cpus));
            status_value(buf_str(&text), "\nMems_allowed_list:", t->mems, sizeof(t->mems));
        }
        buf_release(&text);
    }
}

double numa_tasks_ns(const struct numa_tasks *t, const struct numa_thread *thread)
{
    double sum = 0;

    for (size_t i = 0; i < t->near.nodes.n; i++)
        sum += thread->ns[i];
    return sum;
}

void numa_tasks_release(struct numa_tasks *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        for (size_t k = 0; k < t->list.a[i].threads.n; k++)
            free(t->list.a[i].threads.a[k].ns);
        vec_release(&t->list.a[i].threads);
    }
    vec_release(&t->list);
    vec_release(&t->node_of);
    hw_near_release(&t->near);
}
