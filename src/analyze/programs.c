/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/programs.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED = 3, PART = 10 /* one part of so many */ };

static const struct task *task_of(const struct store *s, uint32_t id)
{
    return id && id <= s->tasks.list.n ? &s->tasks.list.a[id - 1] : NULL;
}

uint32_t programs_comm(const struct store *s, uint32_t task)
{
    const struct task *t = task_of(s, task), *leader = t ? task_of(s, t->leader) : NULL;

    return leader ? leader->comm : t ? t->comm : 0;
}

int programs_of_machine(const struct meta *m)
{
    return !m->pid && !m->command.n && !m->sessions.n && m->ncpus && !meta_is_imported(m);
}

static struct program *program_of(struct programs *p, struct map *by_comm, uint32_t comm)
{
    uint64_t *at = map_put(by_comm, comm);

    if (!*at) {
        *vec_push(&p->list) = (struct program){.comm = comm};
        *at = p->list.n;
    }
    return &p->list.a[*at - 1];
}

/* The last program that a process executed stands for it. */
static int is_process(const struct store *s, size_t i)
{
    const struct task *t = &s->tasks.list.a[i];

    return t->pid == t->tid && (i + 1 == s->tasks.list.n || !task_same_thread(t, &s->tasks.list.a[i + 1]));
}

static uint64_t measured(const struct metrics_sums *sums, uint32_t task, enum metric_id id)
{
    const struct metrics_sum *m = metrics_sums_find(sums, task, id);

    return m ? (uint64_t)m->total : 0;
}

/* What a sample stands for, where CPU time was not measured; else 0. */
static uint64_t period_of(const struct session *s)
{
    for (size_t i = 0; i < s->store.tasks.list.n; i++)
        if (s->store.tasks.list.a[i].cpu_ns)
            return 0;
    return s->meta.frequency ? 1000000000 / s->meta.frequency : 0;
}

static void add_task(struct program *x, const struct store *s, const struct metrics_sums *sums, uint32_t id)
{
    x->processes += (size_t)is_process(s, id - 1);
    x->cpu_ns += s->tasks.list.a[id - 1].cpu_ns;
    x->delay_ns += measured(sums, id, METRIC_ID_SCHED_DELAY);
    x->faults += measured(sums, id, METRIC_ID_FAULTS_MINOR);
}

static void add_samples(struct programs *p, const struct session *s, struct map *by_comm)
{
    uint64_t period = period_of(s);

    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];
        struct program *x;

        if (ev->kind != EVENT_SAMPLE || !task_of(&s->store, ev->task))
            continue;
        x = program_of(p, by_comm, programs_comm(&s->store, ev->task));
        x->samples += ev->value;
        x->cpu_ns += ev->value * period;
    }
}

static int heavier(const void *pa, const void *pb)
{
    const struct program *a = pa, *b = pb;

    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns > b->cpu_ns ? -1 : 1;
    return (a->comm > b->comm) - (a->comm < b->comm);
}

void programs_init(struct programs *p, const struct session *s, const struct metrics_sums *sums)
{
    struct map by_comm = {0};

    *p = (struct programs){0};
    for (uint32_t id = 1; id <= s->store.tasks.list.n; id++)
        if (!metrics_sums_is_machine(sums, id))
            add_task(program_of(p, &by_comm, programs_comm(&s->store, id)), &s->store, sums, id);
    add_samples(p, s, &by_comm);
    for (size_t i = 0; i < p->list.n; i++) {
        p->cpu_ns += p->list.a[i].cpu_ns;
        p->delay_ns += p->list.a[i].delay_ns;
        p->faults += p->list.a[i].faults;
    }
    if (p->list.n)
        qsort(p->list.a, p->list.n, sizeof(*p->list.a), heavier);
    map_release(&by_comm);
}

void programs_release(struct programs *p)
{
    vec_release(&p->list);
}

static uint64_t amount(const struct program *x, enum programs_by by)
{
    return by == PROGRAMS_DELAY ? x->delay_ns : x->faults;
}

/* Of those with less of it than `last`, which is behind it in the order, the one with the most. */
static const struct program *next(const struct programs *p, enum programs_by by, const struct program *last)
{
    const struct program *best = NULL;

    for (size_t i = 0; i < p->list.n; i++) {
        const struct program *x = &p->list.a[i];
        uint64_t n = amount(x, by), before = last ? amount(last, by) : UINT64_MAX;

        if ((n < before || (n == before && x > last)) && (!best || n > amount(best, by)))
            best = x;
    }
    return best;
}

void programs_name(const struct programs *p, const struct store *s, enum programs_by by, struct buf *out)
{
    uint64_t sum = by == PROGRAMS_DELAY ? p->delay_ns : p->faults;
    const struct program *x = next(p, by, NULL);
    char count[32], share[32];

    for (int i = 0; i < NAMED && x && sum && amount(x, by) >= sum / PART; i++, x = next(p, by, x)) {
        buf_addf(out, "%s%s", i ? ", " : "", strtab_get(&s->strings, x->comm));
        if (x->processes > 1)
            buf_addf(out, " (%s processes)", units_count(count, sizeof(count), x->processes));
        buf_addf(out, " %s", units_share(share, sizeof(share), (double)amount(x, by) / (double)sum));
    }
}
