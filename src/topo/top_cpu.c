/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that use the most CPU time while they are watched. */
#include "topo/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 300 }; /* where no duration is given: a clock tick is 10 ms */

struct used {
    const struct scan_process *p;
    uint64_t ticks;
};

static int by_ticks(const void *a, const void *b)
{
    const struct used *x = a, *y = b;

    return x->ticks > y->ticks ? -1 : x->ticks < y->ticks;
}

/* CPU time of a process, where it is still the same; 0: it is gone. */
static uint64_t ticks_now(struct topo_ctx *ctx, const struct scan_process *p)
{
    unsigned long long utime, stime, start;
    struct buf b = {0};
    char path[64];
    const char *close;
    uint64_t ticks = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", p->pid);
    if (!topo_read(ctx, path, &b) && (close = strrchr(buf_str(&b), ')')) &&
        sscanf(close + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu", &utime,
               &stime, &start) == 3 &&
        start == p->start)
        ticks = utime + stime;
    buf_release(&b);
    return ticks;
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    const struct scan *s = ctx->scan;
    uint64_t ns = ctx->limits.duration_ns ? ctx->limits.duration_ns : LOOK_MS * 1000000u;
    struct used *used = mem_calloc(s->processes.n + 1, sizeof(*used));
    double window = (double)ns / 1e9 * (double)sysconf(_SC_CLK_TCK);

    for (size_t i = 0; ctx->live && i < s->processes.n; i++)
        used[i] = (struct used){&s->processes.a[i], ticks_now(ctx, &s->processes.a[i])};
    if (ctx->live)
        nanosleep(&(struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}, NULL);
    for (size_t i = 0; i < s->processes.n; i++) { /* of a recorded root: since each began */
        uint64_t now = ctx->live ? ticks_now(ctx, used[i].p) : s->processes.a[i].cpu_ticks;

        used[i].p = &s->processes.a[i];
        used[i].ticks = now > used[i].ticks ? now - used[i].ticks : 0;
    }
    if (s->processes.n)
        qsort(used, s->processes.n, sizeof(*used), by_ticks);
    for (size_t i = 0; i < s->processes.n && i < ctx->limits.top_cpu && used[i].ticks; i++) {
        struct graph_node *n = topo_process(ctx, g, used[i].p->pid);

        if (ctx->live)
            graph_set_f64(g, &n->attrs, "cpu_cores", round((double)used[i].ticks / window * 1000) / 1000);
        graph_set_int(g, &n->attrs, "cpu_rank", (int64_t)i + 1);
        ctx->seen++;
    }
    free(used);
    return 0;
}

const struct topo_source topo_source_top_cpu = {
    .name = "top-cpu",
    .summary = "the processes that use the most CPU time",
    .needs_scan = 1,
    .witty = "TopCpuUsage",
    .collect = collect,
};
