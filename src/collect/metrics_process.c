/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the target's processes. */
#include "collect/metrics.h"
#include "platform/clock.h"
#include "platform/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One that used no CPU time is looked at whole that often. */
#define IDLE_EVERY 10000000000ull

struct metrics_process *metrics_process_find(const struct metrics *m, pid_t pid)
{
    const uint64_t *p = map_get(&m->by_pid, (uint64_t)pid);

    return p ? (struct metrics_process *)(uintptr_t)*p : NULL;
}

static struct metrics_key key_of(const struct metrics_process *p, enum metric_id id)
{
    return (struct metrics_key){id, p->task, 0};
}

static void count(struct metrics *m, struct metrics_process *p, enum metric_id id, uint64_t value)
{
    metrics_count(&m->out, &p->series[id], key_of(p, id), m->ts, value);
}

static void level(struct metrics *m, struct metrics_process *p, enum metric_id id, uint64_t value)
{
    metrics_level(&m->out, &p->series[id], key_of(p, id), m->ts, value);
}

/* ---- reading ---- */

/* A file of its directory, into m->text. */
static int read_own(struct metrics *m, const struct metrics_process *p, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "proc/%d/%s", (int)p->pid, name);
    return sysfile_read_path(m->root, path, &m->text);
}

static int read_stat(struct metrics *m, struct metrics_process *p)
{
    char path[64];

    if (p->stat_fd < 0 && m->open_files < m->most_files) {
        snprintf(path, sizeof(path), "proc/%d/stat", (int)p->pid);
        p->stat_fd = sysfile_open(m->root, path);
        m->open_files += p->stat_fd >= 0;
    }
    return p->stat_fd >= 0 ? sysfile_read(p->stat_fd, &m->text) : read_own(m, p, "stat");
}

/* The name between the parentheses of a stat file's text. */
static void comm_of(const char *stat, char comm[16])
{
    const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
    size_t n = open && close > open ? (size_t)(close - open - 1) : 0;

    memset(comm, 0, 16);
    memcpy(comm, open ? open + 1 : "", n < 15 ? n : 15);
}

void metrics_process_begin(struct metrics *m, struct metrics_process *p, uint64_t ts)
{
    static const enum metric_id ids[] = {
        METRIC_ID_CPU_USER,    METRIC_ID_CPU_SYSTEM,         METRIC_ID_CPU_CHILDREN,
        METRIC_ID_SCHED_DELAY, METRIC_ID_FAULTS_MINOR,       METRIC_ID_FAULTS_MAJOR,
        METRIC_ID_IO_READ,     METRIC_ID_IO_WRITE,           METRIC_ID_IO_IN,
        METRIC_ID_IO_OUT,      METRIC_ID_SWITCHES_VOLUNTARY, METRIC_ID_SWITCHES_INVOLUNTARY,
    };

    if (!m->begin || p->birth + METRICS_TICK_NS <= m->begin || p->birth > ts)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        metrics_begin(&p->series[ids[i]], p->birth > m->begin ? p->birth : m->begin, 0);
}

static void look_at_io(struct metrics *m, struct metrics_process *p)
{
    struct procuse_io io;

    if (read_own(m, p, "io") || procuse_parse_io(m->text.data, &io)) {
        m->missing[METRICS_NO_IO] += errno != ESRCH && errno != ENOENT;
        return;
    }
    count(m, p, METRIC_ID_IO_READ, io.read);
    count(m, p, METRIC_ID_IO_WRITE, io.written);
    count(m, p, METRIC_ID_IO_IN, io.in);
    count(m, p, METRIC_ID_IO_OUT, io.out);
}

/* It may have become another program: then that one's levels are not known yet. */
static void set_task(struct metrics_process *p, uint32_t task)
{
    if (p->task == task)
        return;
    p->task = task;
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        if (metrics_get((enum metric_id)id)->kind == METRIC_GAUGE)
            p->series[id].known = 0;
}

/* Nothing has changed in its threads' times or its memory: what else may have is small, and counts at the
 * next whole look. */
static int is_idle(const struct metrics *m, const struct metrics_process *p, const struct procuse *use)
{
    return p->looks && m->ts - p->full_ts < IDLE_EVERY && use->user_ns == p->use.user_ns &&
           use->system_ns == p->use.system_ns && use->minor_faults == p->use.minor_faults &&
           use->threads == p->use.threads && use->rss == p->use.rss && use->state == p->use.state;
}

static void look_at_use(struct metrics *m, struct metrics_process *p, const struct procuse *use)
{
    count(m, p, METRIC_ID_CPU_USER, use->user_ns);
    count(m, p, METRIC_ID_CPU_SYSTEM, use->system_ns);
    count(m, p, METRIC_ID_CPU_CHILDREN, use->children_ns);
    count(m, p, METRIC_ID_FAULTS_MINOR, use->minor_faults);
    count(m, p, METRIC_ID_FAULTS_MAJOR, use->major_faults);
    if (use->state == 'Z' || use->state == 'X') /* it has ended: what it had is given back already */
        return;
    level(m, p, METRIC_ID_MEMORY_RSS, use->rss);
    level(m, p, METRIC_ID_THREADS, use->threads);
}

static void look(struct metrics *m, struct metrics_process *p)
{
    struct procuse use;
    char comm[16];

    if (p->final) {
        p->gone = 1;
        return;
    }
    if (read_stat(m, p) || procuse_parse(m->text.data, &use) || (p->looks && use.start_ns != p->start_ns)) {
        p->gone = 1;
        return;
    }
    comm_of(m->text.data, comm);
    if (!p->looks) {
        p->start_ns = use.start_ns;
        p->birth = use.start_ns > m->boot_ns ? use.start_ns - m->boot_ns : 0;
        metrics_process_begin(m, p, m->ts);
    }
    set_task(p, metrics_task(m, p, comm));
    if (!p->task) /* nobody has met it: it did nothing so far */
        return;
    if (!m->last && is_idle(m, p, &use)) {
        look_at_use(m, p, &use);
        return;
    }
    look_at_use(m, p, &use);
    look_at_io(m, p);
    p->use = use;
    p->full_ts = m->ts;
    p->looks++;
    metrics_threads_look(m, p);
    if (m->used) /* that tells of them */
        return;
    count(m, p, METRIC_ID_SCHED_DELAY, p->delay_ns);
    count(m, p, METRIC_ID_SWITCHES_VOLUNTARY, p->switches.voluntary);
    count(m, p, METRIC_ID_SWITCHES_INVOLUNTARY, p->switches.involuntary);
}

/* ---- which there are ---- */

struct metrics_process *metrics_process_enter(struct metrics *m, pid_t pid)
{
    struct metrics_process *p = mem_calloc(1, sizeof(*p));

    p->pid = pid;
    p->stat_fd = -1;
    *vec_push(&m->processes) = p;
    *map_put(&m->by_pid, (uint64_t)pid) = (uintptr_t)p;
    return p;
}

static void leave(struct metrics *m, struct metrics_process *p)
{
    metrics_threads_end(m, p);
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++)
        metrics_end(&m->out, &p->series[id], key_of(p, (enum metric_id)id));
    if (p->stat_fd >= 0) {
        close(p->stat_fd);
        m->open_files--;
    }
    map_del(&m->by_pid, (uint64_t)p->pid);
    vec_release(&p->threads);
    free(p);
}

static void enter_new(struct metrics *m)
{
    struct pid_list pids = {0};

    metrics_targets(m, &pids);
    for (size_t i = 0; i < pids.list.n; i++)
        if (!metrics_process_find(m, pids.list.a[i]))
            metrics_process_enter(m, pids.list.a[i]);
    vec_release(&pids.list);
}

static void leave_ended(struct metrics *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->processes.n; i++) {
        struct metrics_process *p = m->processes.a[i];

        if (!p->gone) {
            m->processes.a[n++] = p;
            continue;
        }
        m->ended_unseen += p->use.state != 'Z' && !p->final;
        if (i < m->cursor)
            m->cursor--;
        leave(m, p);
    }
    m->processes.n = n;
}

void metrics_processes_look(struct metrics *m, uint64_t budget_ns)
{
    uint64_t begin = clock_thread_cpu();
    size_t n, done;

    enter_new(m);
    n = m->processes.n;
    if (m->cursor >= n)
        m->cursor = 0;
    for (done = 0; done < n; done++) {
        struct metrics_process *p = m->processes.a[(m->cursor + done) % n];

        m->ts = m->ctx->now();
        look(m, p);
        if (clock_thread_cpu() - begin > budget_ns)
            break;
    }
    if (done < n) {
        m->late++;
        m->postponed += n - done - 1;
        m->cursor = (m->cursor + done + 1) % n;
    }
    if (m->used)
        metrics_used_look(m);
    leave_ended(m);
}

void metrics_processes_end(struct metrics *m)
{
    for (size_t i = 0; i < m->processes.n; i++)
        leave(m, m->processes.a[i]);
    m->processes.n = 0;
}

void metrics_processes_release(struct metrics *m)
{
    m->out.store = NULL;
    for (size_t i = 0; i < m->processes.n; i++) {
        struct metrics_process *p = m->processes.a[i];

        memset(p->series, 0, sizeof(p->series)); /* no events any more */
        leave(m, p);
    }
    vec_release(&m->processes);
    map_release(&m->by_pid);
    map_release(&m->by_tid);
}
