/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/rank_waits.h"

#include "model/barrier.h"
#include "model/waits.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000u

/* Functions that communicate: what their names begin with, and what they contain or are. */
static const char *const begins[] = {"MPI_", "PMPI_", "ompi_", "nccl", "gloo::", "c10d::"};
static const char *const contains[] = {"ProcessGroup", "all_reduce",     "allreduce",
                                       "AllReduce",    "all_gather",     "allgather",
                                       "AllGather",    "reduce_scatter", "ReduceScatter"};
static const char *const is[] = {"barrier", "Barrier"};

static int communicates(const char *name)
{
    const char *last = strrchr(name, '.');

    for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return 1;
    for (size_t i = 0; i < ARRAY_SIZE(contains); i++)
        if (strstr(name, contains[i]))
            return 1;
    for (size_t i = 0; i < ARRAY_SIZE(is); i++)
        if (!strcmp(last ? last + 1 : name, is[i]))
            return 1;
    return 0;
}

/* By stack id: whether a function in it communicates. */
static uint8_t *communicating_stacks(const struct store *s)
{
    uint8_t *stack = mem_calloc(s->stacks.nodes.n + 1, 1), *frame = mem_calloc(s->frames.list.n + 1, 1);

    for (uint32_t id = 1; id <= s->frames.list.n; id++) {
        const struct frame_name *names;
        struct frame_name self;

        if (frames_names(&s->frames, id, &self, &names))
            frame[id] = (uint8_t)communicates(strtab_get(&s->strings, names[0].func));
    }
    for (uint32_t id = 1; id <= s->stacks.nodes.n; id++) {
        const struct stack_node *n = &s->stacks.nodes.a[id - 1];

        stack[id] = stack[n->parent] | frame[n->frame];
    }
    free(frame);
    return stack;
}

/* ---- sockets between ranks ---- */

/* "tcp 10.0.0.1:80 - 10.0.0.2:5000 python3[42]": the own address, and the other one. 0: none such. */
static int addresses(const char *what, const char **own, size_t *own_n, const char **theirs, size_t *theirs_n)
{
    if (strncmp(what, "tcp ", 4) != 0)
        return 0;
    *own = what + 4;
    *own_n = strcspn(*own, " ");
    if (strncmp(*own + *own_n, " - ", 3) != 0)
        return 0;
    *theirs = *own + *own_n + 3;
    *theirs_n = strcspn(*theirs, " ");
    return 1;
}

struct finder {
    struct rank_waits *r;
    uint8_t *communicating;
    struct strtab ends; /* addresses of sockets that ranks waited at */
    struct map owner;   /* of each -> index + 1 */
    uint8_t *told;      /* by rank: its marks or devices tell */
};

static void find_ends(struct finder *f)
{
    const struct store *s = &f->r->s->store;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct wait *w = ev->kind == EVENT_OFFCPU ? waits_get(&s->waits, ev->attr) : NULL;
        const char *own, *theirs;
        size_t own_n, theirs_n;

        if (w && w->reason == WAIT_SOCKET && f->r->rank_of[ev->task] &&
            addresses(strtab_get(&s->strings, w->what), &own, &own_n, &theirs, &theirs_n))
            *map_put(&f->owner, strtab_addn(&f->ends, own, own_n)) = f->r->rank_of[ev->task];
    }
}

static int is_for_rank(struct finder *f, const struct event *ev)
{
    const struct store *s = &f->r->s->store;
    const struct wait *w = waits_get(&s->waits, ev->attr);
    const char *own, *theirs;
    size_t own_n, theirs_n;
    uint64_t *who;

    if (f->communicating[ev->stack])
        return 1;
    if (!w || w->reason != WAIT_SOCKET ||
        !addresses(strtab_get(&s->strings, w->what), &own, &own_n, &theirs, &theirs_n))
        return 0;
    who = map_get(&f->owner, strtab_addn(&f->ends, theirs, theirs_n));
    return who && *who != f->r->rank_of[ev->task];
}

/* ---- spans ---- */

static void add_span(struct rank *k, uint64_t start, uint64_t end)
{
    if (end > start)
        *vec_push(&k->waits) = (struct rank_span){start, end};
}

static struct rank *rank_of_event(const struct rank_waits *r, const struct event *ev)
{
    uint32_t at = ev->task <= r->s->store.tasks.list.n ? r->rank_of[ev->task] : 0;

    return at ? &r->list.a[at - 1] : NULL;
}

/* Whose device it is, where the thread that asked isn't known. */
static struct rank *rank_of_device(const struct rank_waits *r, const struct gpu_work *w)
{
    for (size_t i = 0; i < r->list.n; i++)
        if (w->rank && origins_get(&r->s->store.origins, r->list.a[i].origin)->rank == w->rank)
            return &r->list.a[i];
    return NULL;
}

/* Marks and devices: exact where there are any. */
static void take_told(struct finder *f)
{
    const struct meta *m = &f->r->s->meta;
    const struct store *s = &f->r->s->store;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&s->gpus, ev->attr) : NULL;
        struct rank *k = NULL;

        if (ev->kind == EVENT_MARKER && ev->dur && !(ev->flags & EVENT_JOINED) &&
            barrier_is_mark(strtab_get(&s->strings, ev->metric), m->barriers.a, m->barriers.n))
            k = rank_of_event(f->r, ev);
        else if (w && w->op == GPU_KERNEL && gpu_is_communication(strtab_get(&s->strings, w->name)))
            k = rank_of_device(f->r, w);
        if (!k)
            continue;
        add_span(k, ev->ts, ev->ts + ev->dur);
        f->told[k - f->r->list.a] = 1;
    }
}

static int is_lead(const struct rank_waits *r, const struct rank *k, uint32_t task)
{
    const struct tasks *t = &r->s->store.tasks;

    return k->task && task && task_same_thread(&t->list.a[k->task - 1], &t->list.a[task - 1]);
}

static void take_event(struct finder *f, struct rank *k, uint32_t index)
{
    const struct event *ev = &f->r->s->store.events.a[index];
    uint32_t hz = origins_get(&f->r->s->store.origins, k->origin)->frequency;
    uint64_t half = hz ? SECOND / hz / 2 : 0;
    int told = f->told[k - f->r->list.a];

    *vec_push(&k->events) = index;
    if (ev->kind == EVENT_SAMPLE) {
        k->samples += ev->value ? ev->value : 1;
        if (!told && f->communicating[ev->stack])
            add_span(k, ev->ts > half ? ev->ts - half : 0, ev->ts + half);
    } else if (ev->kind == EVENT_RUNQ) {
        k->runq += ev->dur;
    } else {
        k->offcpu += ev->dur;
        if (!told && !(ev->flags & EVENT_SHORT) && is_for_rank(f, ev))
            add_span(k, ev->ts, ev->ts + ev->dur);
    }
}

static void take_leads(struct finder *f)
{
    const struct store *s = &f->r->s->store;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        struct rank *k = rank_of_event(f->r, ev);

        if (!k || (ev->kind != EVENT_SAMPLE && ev->kind != EVENT_OFFCPU && ev->kind != EVENT_RUNQ))
            continue;
        if (ev->kind == EVENT_SAMPLE)
            k->all_samples += ev->value ? ev->value : 1;
        if (is_lead(f->r, k, ev->task))
            take_event(f, k, (uint32_t)i);
    }
}

static int by_start(const void *pa, const void *pb)
{
    const struct rank_span *a = pa, *b = pb;

    return a->start < b->start ? -1 : a->start > b->start;
}

static void settle(struct rank *k)
{
    size_t n = 0;

    if (k->waits.n)
        qsort(k->waits.a, k->waits.n, sizeof(*k->waits.a), by_start);
    for (size_t i = 0; i < k->waits.n; i++) {
        struct rank_span *last = n ? &k->waits.a[n - 1] : NULL, x = k->waits.a[i];

        if (last && x.start <= last->end)
            last->end = x.end > last->end ? x.end : last->end;
        else
            k->waits.a[n++] = x;
    }
    k->waits.n = n;
}

/* ---- leads ---- */

/* Of each task: steps that it began, and how busy it was. */
struct use {
    uint64_t steps, events;
};

static void find_leads(struct rank_waits *r, const struct units *u, const struct units_choice *steps)
{
    const struct store *s = &r->s->store;
    struct use *use = mem_calloc(s->tasks.list.n + 1, sizeof(*use));

    for (size_t i = 0; u && i < steps->chosen.n; i++)
        use[u->list.a[steps->chosen.a[i]].task].steps++;
    for (size_t i = 0; i < s->events.n; i++)
        if (s->events.a[i].task <= s->tasks.list.n)
            use[s->events.a[i].task].events++;
    for (uint32_t id = 1; id <= s->tasks.list.n; id++) {
        struct rank *k = r->rank_of[id] ? &r->list.a[r->rank_of[id] - 1] : NULL;
        const struct use *best = k ? &use[k->task] : NULL;

        if (!k)
            continue;
        k->cpu += s->tasks.list.a[id - 1].cpu_ns;
        if (!use[id].steps && !use[id].events)
            continue;
        if (!k->task || use[id].steps > best->steps ||
            (use[id].steps == best->steps && !best->steps && use[id].events > best->events &&
             k->task != origins_get(&s->origins, k->origin)->task))
            k->task = id;
    }
    free(use);
}

void rank_waits_init(struct rank_waits *r, const struct session *s, const struct units *u,
                     const struct units_choice *steps)
{
    const struct store *st = &s->store;
    struct finder f = {.r = r, .communicating = communicating_stacks(st)};
    uint32_t *of_origin = mem_calloc(st->origins.list.n + 1, sizeof(*of_origin));

    *r = (struct rank_waits){.s = s, .rank_of = mem_calloc(st->tasks.list.n + 1, sizeof(*r->rank_of))};
    for (uint32_t o = 1; o <= st->origins.list.n; o++) {
        if (!st->origins.list.a[o - 1].session)
            continue;
        *vec_push(&r->list) = (struct rank){.origin = o, .task = st->origins.list.a[o - 1].task};
        of_origin[o] = (uint32_t)r->list.n;
    }
    for (size_t i = 0; i < st->tasks.list.n; i++)
        r->rank_of[i + 1] = of_origin[st->tasks.list.a[i].origin];
    f.told = mem_calloc(r->list.n + 1, 1);
    find_leads(r, u, steps);
    find_ends(&f);
    take_told(&f);
    take_leads(&f);
    for (size_t i = 0; i < r->list.n; i++)
        settle(&r->list.a[i]);
    free(of_origin);
    free(f.communicating);
    free(f.told);
    strtab_release(&f.ends);
    map_release(&f.owner);
}

void rank_waits_release(struct rank_waits *r)
{
    for (size_t i = 0; i < r->list.n; i++) {
        vec_release(&r->list.a[i].waits);
        vec_release(&r->list.a[i].events);
    }
    vec_release(&r->list);
    free(r->rank_of);
    *r = (struct rank_waits){0};
}

uint64_t rank_waited(const struct rank *k, uint64_t from, uint64_t to)
{
    size_t low = 0, high = k->waits.n;
    uint64_t sum = 0;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (k->waits.a[mid].end <= from)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < k->waits.n && k->waits.a[low].start < to; low++) {
        const struct rank_span *x = &k->waits.a[low];

        sum += (x->end < to ? x->end : to) - (x->start > from ? x->start : from);
    }
    return sum;
}
