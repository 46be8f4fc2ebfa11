/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of threads: what /proc tells of them alone. Their process's figures are sums of them. */
#include "collect/metrics.h"
#include "platform/sysfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Status files cost most: so many a look, the others at the next one. */
enum { STATUS_READS = 128 };

static const char *path_of(const struct metrics_process *p, pid_t tid, const char *name, char path[96])
{
    if (tid)
        snprintf(path, 96, "proc/%d/task/%d/%s", (int)p->pid, (int)tid, name);
    else
        snprintf(path, 96, "proc/%d/%s", (int)p->pid, name);
    return path;
}

static uint64_t grown(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

uint64_t metrics_delay_grown(const struct metrics *m, uint64_t before, uint64_t now, uint64_t ts)
{
    uint64_t ns = grown(before, now), most = grown(m->begin, ts);

    return m->begin && ns > most ? most : ns;
}

/* ---- one ---- */

/* 0; -1: it ended, or the kernel doesn't tell (errno). */
static int read_run(struct metrics *m, const struct metrics_process *p, struct metrics_thread *t,
                    struct proctask_run *run)
{
    char path[96];
    int fd = t->run_fd, rc;

    if (fd < 0)
        fd = sysfile_open(m->root, path_of(p, t->tid, "schedstat", path));
    if (fd < 0)
        return -1;
    rc = proctask_run(fd, run);
    if (t->run_fd < 0 && m->open_files < m->most_files) {
        t->run_fd = fd;
        m->open_files++;
    } else if (t->run_fd < 0) {
        close(fd);
    }
    return rc;
}

static void look_at_status(struct metrics *m, struct metrics_process *p, struct metrics_thread *t)
{
    struct procuse_switches now;
    char path[96];
    uint64_t swap;

    if (sysfile_read_path(m->root, path_of(p, t->tid, "status", path), &m->text) ||
        procuse_parse_switches(m->text.data, &now))
        return;
    p->switches.voluntary += grown(t->switches.voluntary, now.voluntary);
    p->switches.involuntary += grown(t->switches.involuntary, now.involuntary);
    t->switches = now;
    t->slices = t->run.slices;
    if (t->tid == p->pid && !procuse_parse_swap(m->text.data, &swap))
        metrics_level(&m->out, &p->series[METRIC_ID_MEMORY_SWAP],
                      (struct metrics_key){METRIC_ID_MEMORY_SWAP, p->task, 0}, m->ts, swap);
}

static void count_run(struct metrics *m, struct metrics_process *p, struct metrics_thread *t)
{
    if (t->tid == p->pid)
        t->task = p->task;
    else if (!t->task && t->run.slices)
        t->task = metrics_thread_task(m, p, t->tid, t->start_ns, t->comm);
    if (t->task)
        metrics_count(&m->out, &t->oncpu,
                      (struct metrics_key){METRIC_ID_SCHED_ONCPU, t->task, METRIC_ANY_CPU}, m->ts,
                      t->run.run_ns);
}

static void count_events(struct metrics *m, struct metrics_thread *t)
{
    if (!t->counter || !t->task)
        return;
    metrics_counts_add(&m->cache, &t->counter->counts, &t->counter->counted);
    metrics_counted_put(&t->counter->counted, &m->out, 0, t->task, m->ts);
}

static void look(struct metrics *m, struct metrics_process *p, struct metrics_thread *t, size_t *reads)
{
    struct proctask_run run;

    if (read_run(m, p, t, &run)) {
        m->missing[METRICS_NO_DELAY] += !p->use.threads || p->use.state == 'Z' ? 0 : t->run_fd < 0;
        t->gone = t->run_fd >= 0 || errno == ENOENT || errno == ESRCH;
        p->relist |= t->gone;
    } else {
        p->delay_ns += metrics_delay_grown(m, t->run.delay_ns, run.delay_ns, m->ts);
        t->run = run;
        count_run(m, p, t);
        count_events(m, t);
        if (t->looked && t->slices == run.slices)
            return; /* it got no CPU since, and so it left none */
    }
    if (t->gone || !*reads)
        return;
    --*reads;
    t->looked = 1;
    look_at_status(m, p, t);
}

/* ---- all of a process ---- */

static void begin_at_birth(struct metrics *m, struct metrics_thread *t)
{
    uint64_t birth = t->start_ns > m->boot_ns ? t->start_ns - m->boot_ns : 0;

    if (m->begin && birth + METRICS_TICK_NS > m->begin && birth <= m->ts)
        metrics_begin(&t->oncpu, birth > m->begin ? birth : m->begin, 0);
}

/* Of what it did before it was seen they know nothing. */
void metrics_thread_counter(struct metrics *m, struct metrics_thread *t)
{
    size_t n;

    if (!m->cache.count)
        return;
    if (m->open_files + METRICS_EVENTS > m->most_files) {
        m->cache.refused++;
        return;
    }
    t->counter = mem_calloc(1, sizeof(*t->counter));
    metrics_counted_begin(&t->counter->counted, m->ts);
    n = metrics_counts_open(&m->cache, &t->counter->counts, t->tid, 0);
    m->open_files += n;
    if (n)
        return;
    free(t->counter);
    t->counter = NULL;
}

static void enter(struct metrics *m, struct metrics_process *p, pid_t tid)
{
    struct metrics_thread *t = vec_push(&p->threads);
    struct proctask st;
    char path[96];

    *t = (struct metrics_thread){.tid = tid, .run_fd = -1, .seen = p->looks};
    if (sysfile_read_path(m->root, path_of(p, tid, "stat", path), &m->text) ||
        proctask_parse_stat(m->text.data, &st)) {
        p->threads.n--;
        return;
    }
    t->start_ns = st.start_ns;
    memcpy(t->comm, st.comm, sizeof(t->comm));
    begin_at_birth(m, t);
    metrics_thread_counter(m, t);
}

void metrics_thread_leave(struct metrics *m, struct metrics_thread *t)
{
    for (size_t i = 0; t->task && m->out.store && i < t->oncpus.n; i++)
        metrics_end(&m->out, &t->oncpus.a[i].series,
                    (struct metrics_key){METRIC_ID_SCHED_ONCPU, t->task, t->oncpus.a[i].cpu});
    vec_release(&t->oncpus);
    if (t->task && m->out.store)
        metrics_end(&m->out, &t->oncpu, (struct metrics_key){METRIC_ID_SCHED_ONCPU, t->task, METRIC_ANY_CPU});
    if (t->run_fd >= 0) {
        close(t->run_fd);
        m->open_files--;
    }
    if (!t->counter)
        return;
    if (t->task && m->out.store)
        metrics_counted_end(&t->counter->counted, &m->out, 0, t->task);
    m->open_files -= metrics_counts_close(&t->counter->counts);
    free(t->counter);
    t->counter = NULL;
}

static int by_tid(const void *pa, const void *pb)
{
    const struct metrics_thread *a = pa, *b = pb;

    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* The list is sorted but for what is added now. */
static struct metrics_thread *find(const struct metrics_process *p, size_t sorted, pid_t tid)
{
    struct metrics_thread key = {.tid = tid};

    return sorted ? bsearch(&key, p->threads.a, sorted, sizeof(key), by_tid) : NULL;
}

static void list(struct metrics *m, struct metrics_process *p)
{
    struct pid_list tids = {0};
    size_t sorted = p->threads.n, n = 0;

    p->relist = 0;
    if (proctask_threads_at(m->root, p->pid, &tids) < 0)
        return;
    for (size_t i = 0; i < tids.list.n; i++) {
        struct metrics_thread *t = find(p, sorted, tids.list.a[i]);

        if (t)
            t->seen = p->looks;
        else
            enter(m, p, tids.list.a[i]);
    }
    for (size_t i = 0; i < p->threads.n; i++) {
        struct metrics_thread t = p->threads.a[i];

        if (t.seen == p->looks)
            p->threads.a[n++] = t;
        else
            metrics_thread_leave(m, &t);
    }
    p->threads.n = n;
    if (n)
        qsort(p->threads.a, n, sizeof(*p->threads.a), by_tid);
    vec_release(&tids.list);
}

/* Tier A: what else there is to read. */
static void look_aside(struct metrics *m, struct metrics_process *p)
{
    char path[96];
    uint64_t swap;

    for (size_t i = 0; i < p->threads.n; i++)
        count_events(m, &p->threads.a[i]);
    if (!sysfile_read_path(m->root, path_of(p, 0, "status", path), &m->text) &&
        !procuse_parse_swap(m->text.data, &swap))
        metrics_level(&m->out, &p->series[METRIC_ID_MEMORY_SWAP],
                      (struct metrics_key){METRIC_ID_MEMORY_SWAP, p->task, 0}, m->ts, swap);
}

void metrics_threads_look(struct metrics *m, struct metrics_process *p)
{
    size_t reads = m->last ? SIZE_MAX : STATUS_READS, n = p->threads.n;

    if (m->used) {
        look_aside(m, p);
        return;
    }
    if (p->relist || n != p->use.threads)
        list(m, p);
    n = p->threads.n;
    for (size_t i = 0; i < n; i++)
        look(m, p, &p->threads.a[(p->cursor + i) % n], &reads);
    if (n && !reads)
        p->cursor = (p->cursor + STATUS_READS) % n;
}

void metrics_threads_end(struct metrics *m, struct metrics_process *p)
{
    for (size_t i = 0; i < p->threads.n; i++)
        metrics_thread_leave(m, &p->threads.a[i]);
    p->threads.n = 0;
}
