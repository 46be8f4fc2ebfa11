/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's counters of whole targets: what their threads start inherits them, however short it lives. */
#include "collect/metrics.h"

static void open_root(struct metrics *m, pid_t pid)
{
    struct metrics_root *r = vec_push(&m->roots);
    struct pid_list tids = {0};

    *r = (struct metrics_root){.pid = pid};
    metrics_counted_begin(&r->counted, m->ts);
    proctask_threads_at(m->root, pid, &tids);
    for (size_t i = 0; i < tids.list.n && m->open_files + METRICS_EVENTS <= m->most_files; i++) {
        struct metrics_counts x;
        size_t n = metrics_counts_open(&m->cache, &x, tids.list.a[i], 1);

        if (n)
            *vec_push(&r->threads) = x;
        m->open_files += n;
    }
    vec_release(&tids.list);
}

void metrics_roots_open(struct metrics *m)
{
    for (size_t i = 0; m->cache.count && i < m->ctx->targets.n; i++)
        open_root(m, m->ctx->targets.a[i]);
}

void metrics_roots_look(struct metrics *m)
{
    for (size_t i = 0; i < m->roots.n; i++) {
        struct metrics_root *r = &m->roots.a[i];
        const struct metrics_process *p = metrics_process_find(m, r->pid);

        r->task = p && p->task ? p->task : r->task;
        for (size_t k = 0; k < r->threads.n; k++)
            metrics_counts_add(&m->cache, &r->threads.a[k], &r->counted);
        if (r->task)
            metrics_counted_put(&r->counted, &m->out, 1, r->task, m->ts);
    }
}

void metrics_roots_end(struct metrics *m)
{
    for (size_t i = 0; i < m->roots.n; i++)
        if (m->roots.a[i].task)
            metrics_counted_end(&m->roots.a[i].counted, &m->out, 1, m->roots.a[i].task);
}

void metrics_roots_release(struct metrics *m)
{
    for (size_t i = 0; i < m->roots.n; i++) {
        for (size_t k = 0; k < m->roots.a[i].threads.n; k++)
            m->open_files -= metrics_counts_close(&m->roots.a[i].threads.a[k]);
        vec_release(&m->roots.a[i].threads);
    }
    vec_release(&m->roots);
}
