/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_samples.h"

#include <string.h>

void perf_samples_init(struct perf_samples *x, struct store *s, struct meta *m, struct import_stats *st,
                       const char *asked)
{
    *x = (struct perf_samples){.s = s, .m = m, .st = st};
    buf_addstr(&x->event_name, asked ? asked : "");
}

void perf_samples_release(struct perf_samples *x)
{
    tokens_release(&x->tasks);
    map_release(&x->leaders);
    map_release(&x->unseen);
    buf_release(&x->event_name);
    strtab_release(&x->others);
}

size_t perf_event_bare(const char *name, size_t n)
{
    const char *colon = memrchr(name, ':', n);
    size_t tail;

    if (!colon || colon == name)
        return n;
    tail = n - (size_t)(colon + 1 - name);
    return strspn(colon + 1, "ukhGHpPSDWeI") >= tail ? (size_t)(colon - name) : n;
}

static uint32_t comm_id(struct perf_samples *x, const char *text, size_t n)
{
    char comm[256];

    n = n < sizeof(comm) - 1 ? n : sizeof(comm) - 1;
    memcpy(comm, text, n);
    comm[n] = '\0';
    for (char *p = comm; *p; p++)
        if (*p == ' ')
            *p = '_';
    return strtab_add(&x->s->strings, comm);
}

static uint32_t add_task(struct perf_samples *x, struct task t)
{
    uint32_t id = (uint32_t)x->s->tasks.list.n + 1;

    t.leader = t.leader ? t.leader : id;
    t.image = id; /* makes it unlike any other */
    return tasks_add(&x->s->tasks, &t);
}

/* A leader with a sample: the one that its threads have made, or another name of it. */
static uint32_t add_leader(struct perf_samples *x, const struct task *t)
{
    uint64_t *leader = map_put(&x->leaders, t->pid);

    if (*leader && map_del(&x->unseen, *leader)) {
        tasks_get(&x->s->tasks, (uint32_t)*leader)->comm = t->comm;
        tasks_touch(&x->s->tasks, (uint32_t)*leader);
    } else {
        *leader = add_task(x, *t);
    }
    return (uint32_t)*leader;
}

static uint32_t add_thread(struct perf_samples *x, struct task t)
{
    uint64_t *leader = map_put(&x->leaders, t.pid);

    if (!*leader) {
        struct task process = t;

        process.tid = process.ns_tid = t.pid;
        *leader = add_task(x, process);
        *map_put(&x->unseen, *leader) = 1;
    }
    t.leader = (uint32_t)*leader;
    t.is_root = 1;
    return add_task(x, t);
}

uint32_t perf_samples_task(struct perf_samples *x, const char *who, size_t who_n, size_t comm_n,
                           const struct perf_who *ids)
{
    uint32_t tid = (uint32_t)ids->tid, pid = ids->pid_told ? (uint32_t)ids->pid : tid;
    struct task t = {.pid = pid, .tid = tid, .ns_pid = pid, .ns_tid = tid, .own_pid = pid};
    uint32_t *known = tokens_get(&x->tasks, who, who_n, tokens_hash(who, who_n));

    if (!*known) {
        t.comm = comm_id(x, who, comm_n);
        if (!ids->pid_told) {
            t.own_pid = TASK_PID_UNKNOWN;
            *known = add_task(x, t);
        } else {
            *known = pid == tid ? add_leader(x, &t) : add_thread(x, t);
        }
    }
    return *known;
}

void perf_samples_add(struct perf_samples *x, const struct event *sample)
{
    *vec_push(&x->s->events) = *sample;
    import_count(x->st, IMPORT_TOOK, "sample|samples", 1);
    if (!sample->stack)
        import_count(x->st, IMPORT_NOTED, "without a stack", 1);
}

void perf_samples_other(struct perf_samples *x, const char *event, size_t n, uint64_t count)
{
    if (n)
        strtab_addn(&x->others, event, n);
    import_count(x->st, IMPORT_LEFT, "sample of another event|samples of other events", count);
}

/* "cycles, instructions" */
static void others_text(const struct perf_samples *x, struct buf *out)
{
    for (uint32_t i = 1; i <= strtab_count(&x->others); i++)
        buf_addf(out, "%s%s", i > 1 ? ", " : "", strtab_get(&x->others, i));
}

int perf_samples_describe(struct perf_samples *x, const char *expected, struct err *e)
{
    struct buf others = {0};
    int rc = 0;

    others_text(x, &others);
    if (!x->s->events.n && others.len)
        rc = err_set(e, "no sample of the event '%s' in it (it has: %s)", buf_str(&x->event_name),
                     others.data);
    else if (!x->s->events.n)
        rc = err_set(e, "no sample in it (%s)", expected);
    if (!rc && x->event && !x->m->event)
        x->m->event = mem_strdup(strtab_get(&x->s->strings, x->event));
    if (!rc)
        *vec_push(&x->m->notes) =
            mem_printf("recorded by perf; a sample counts as often as its event's period says%s%s",
                       others.len ? "; other events in it (--event): " : "", buf_str(&others));
    buf_release(&others);
    return rc;
}
