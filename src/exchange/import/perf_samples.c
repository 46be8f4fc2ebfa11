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

uint32_t perf_samples_task(struct perf_samples *x, const char *who, size_t who_n, size_t comm_n,
                           const struct perf_who *ids)
{
    uint32_t pid = (uint32_t)ids->pid, tid = (uint32_t)ids->tid;
    /* pid: of a process of its own, so that no frame of a thread is made. */
    struct task t = {.pid = tid, .tid = tid, .ns_pid = ids->pid_told ? pid : tid, .ns_tid = tid};
    uint32_t *known = tokens_get(&x->tasks, who, who_n, tokens_hash(who, who_n));

    if (!*known) {
        t.own_pid = ids->pid_told ? pid : TASK_PID_UNKNOWN;
        t.comm = comm_id(x, who, comm_n);
        t.leader = (uint32_t)x->s->tasks.list.n + 1;
        t.image = t.leader; /* makes it unlike any other */
        *known = tasks_add(&x->s->tasks, &t);
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
