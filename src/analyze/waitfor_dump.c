/* SPDX-License-Identifier: Apache-2.0 */
/* A dump's threads and processes as a graph of waits, and its answers. */
#include "analyze/waitfor.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>

enum { ROOTS_SHOWN = 8 };

/* What goes on by itself, from what is surely at work to what waits for something that isn't known. A step of
 * the way costs 1. */
enum {
    COST_RUNS = 0,
    COST_DISK = 400000,
    COST_STOPPED = 500000,
    COST_SLEEPS = 600000,
    COST_ELSEWHERE = 700000, /* a process that isn't in the dump */
    COST_UNKNOWN = 1000000,
    COST_MOVED = 2000000, /* waits for others again and again */
    COST_ENDED = 3000000,
    COST_NO_LEADER = 50000, /* more, of another thread than a process's first */
};

/* Nodes: the threads, then the processes, then processes that aren't in the dump. */
struct builder {
    struct dump *d;
    struct waitfor w;
    struct map by_pid, by_tid; /* -> node + 1 */
    VEC(uint32_t) elsewhere;   /* pids of the last nodes */
};

static uint32_t cost_of(const struct dump_thread *t)
{
    uint32_t more = t->pid == t->tid ? 0 : COST_NO_LEADER;

    if (t->edges)
        return t->flags & DUMP_MOVED ? COST_MOVED : WAITFOR_BLOCKED;
    switch (t->state) {
    case 'R':
    case 'W':
        return COST_RUNS + (more != 0);
    case 'D':
        return COST_DISK + more;
    case 'T':
    case 't':
        return COST_STOPPED + more;
    case 'Z':
    case 'X':
        return COST_ENDED + more;
    default:
        return (t->reason == WAIT_SLEEP ? COST_SLEEPS : COST_UNKNOWN) + more;
    }
}

static void add_edge(struct builder *b, uint32_t from, uint32_t to)
{
    *vec_push(&b->w.edges) = (struct waitfor_edge){from, to};
}

static void add_nodes(struct builder *b)
{
    const struct dump *d = b->d;

    for (uint32_t i = 0; i < d->threads.n; i++) {
        *vec_push(&b->w.cost) = cost_of(&d->threads.a[i]);
        *map_put(&b->by_tid, d->threads.a[i].tid) = i + 1;
    }
    for (size_t i = 0; i < d->processes.n; i++) {
        const struct dump_process *p = &d->processes.a[i];

        *vec_push(&b->w.cost) = p->n ? WAITFOR_BLOCKED : COST_ELSEWHERE;
        *map_put(&b->by_pid, p->pid) = b->w.cost.n;
        for (uint32_t k = 0; k < p->n; k++)
            add_edge(b, (uint32_t)b->w.cost.n - 1, p->first + k);
    }
}

static uint32_t node_of(struct builder *b, const struct dump_edge *e)
{
    uint64_t *at = e->tid ? map_get(&b->by_tid, e->tid) : NULL;

    if (!at)
        at = map_put(&b->by_pid, e->pid);
    if (!*at) {
        *vec_push(&b->w.cost) = COST_ELSEWHERE;
        *vec_push(&b->elsewhere) = e->pid;
        *at = b->w.cost.n;
    }
    return (uint32_t)*at - 1;
}

static void add_edges(struct builder *b)
{
    for (uint32_t i = 0; i < b->d->threads.n; i++) {
        const struct dump_thread *t = &b->d->threads.a[i];

        for (uint32_t k = 0; k < t->edges; k++)
            add_edge(b, i, node_of(b, &b->d->edges.a[t->edge + k]));
    }
}

/* ---- answers ---- */

static int is_thread(const struct builder *b, uint32_t node)
{
    return node < b->d->threads.n;
}

static void push_step(struct builder *b, uint32_t node)
{
    struct dump *d = b->d;
    size_t first_elsewhere = d->threads.n + d->processes.n;
    struct dump_step s = {0};

    if (is_thread(b, node))
        s.thread = node + 1;
    else if (node >= first_elsewhere)
        s.pid = b->elsewhere.a[node - first_elsewhere];
    else if (!b->w.next.a[node]) /* nothing was seen of that process */
        s.pid = d->processes.a[node - d->threads.n].pid;
    else
        return;
    *vec_push(&d->path) = s;
}

/* By what thread `from` waits for `to`, a node. */
static enum dump_how how_of(struct builder *b, uint32_t from, uint32_t to)
{
    const struct dump_thread *t = &b->d->threads.a[from];

    for (uint32_t k = 0; k < t->edges; k++)
        if (node_of(b, &b->d->edges.a[t->edge + k]) == to)
            return (enum dump_how)b->d->edges.a[t->edge + k].how;
    return DUMP_PIPE;
}

static int is_lock(enum dump_how how)
{
    return how <= DUMP_FILE_LOCK;
}

/* Threads whose way ends in the circle, those in it too. */
static uint32_t circle_weight(const struct builder *b, uint32_t circle)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < b->d->threads.n; i++) {
        uint32_t at = i;

        if (b->w.root.a[i])
            continue;
        while (!b->w.circle.a[at])
            at = b->w.next.a[at] - 1;
        sum += b->w.circle.a[at] == circle;
    }
    return sum;
}

static void add_circle(struct builder *b, uint32_t circle)
{
    struct dump_answer a = {.kind = DUMP_DEADLOCK, .first = (uint32_t)b->d->path.n};
    uint32_t start = 0, at;

    while (b->w.circle.a[start] != circle)
        start++;
    at = start;
    do {
        uint32_t to = b->w.next.a[at] - 1;

        push_step(b, at);
        if (is_thread(b, at) && !is_lock(how_of(b, at, to)))
            a.kind = DUMP_CIRCLE;
        at = to;
    } while (at != start);
    a.n = (uint32_t)b->d->path.n - a.first;
    a.waiting = circle_weight(b, circle);
    *vec_push(&b->d->answers) = a;
}

struct root {
    uint32_t node, waiting, cost;
};

static int more_waiting(const void *pa, const void *pb)
{
    const struct root *a = pa, *b = pb;

    if (a->waiting != b->waiting)
        return a->waiting > b->waiting ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static uint32_t length(const struct builder *b, uint32_t node)
{
    uint32_t n = 0;

    for (; b->w.next.a[node]; node = b->w.next.a[node] - 1)
        n += is_thread(b, node);
    return n;
}

/* The thread whose way shows best what waits for it: of those that were asked for the first, else the one
 * that is furthest away. */
static uint32_t best_start(const struct builder *b, uint32_t root)
{
    uint32_t best = root, longest = 0;

    for (uint32_t i = 0; i < b->d->threads.n; i++) {
        const struct dump_thread *t = &b->d->threads.a[i];
        const struct dump_process *p;
        uint32_t n;

        if (i == root || b->w.root.a[i] != root + 1)
            continue;
        p = dump_process(b->d, t->pid);
        n = length(b, i) + (t->pid == t->tid ? 1000 : 0) + (p && p->asked ? 10000 : 0);
        if (n <= longest)
            continue;
        longest = n;
        best = i;
    }
    return best;
}

static void add_root(struct builder *b, const struct root *r)
{
    struct dump_answer a = {.kind = DUMP_ROOT, .first = (uint32_t)b->d->path.n, .waiting = r->waiting};
    uint32_t at = best_start(b, r->node);

    for (; at != r->node; at = b->w.next.a[at] - 1)
        push_step(b, at);
    push_step(b, at);
    a.n = (uint32_t)b->d->path.n - a.first;
    *vec_push(&b->d->answers) = a;
}

static void add_roots(struct builder *b)
{
    VEC(struct root) roots = {0};
    uint32_t *waiting = mem_calloc(b->w.cost.n + 1, sizeof(*waiting));

    for (uint32_t i = 0; i < b->d->threads.n; i++)
        if (b->w.root.a[i] && b->w.root.a[i] != i + 1)
            waiting[b->w.root.a[i] - 1]++;
    for (uint32_t i = 0; i < b->w.cost.n; i++)
        if (waiting[i])
            *vec_push(&roots) = (struct root){i, waiting[i], b->w.cost.a[i]};
    if (roots.n)
        qsort(roots.a, roots.n, sizeof(*roots.a), more_waiting);
    for (size_t i = 0; i < roots.n && i < ROOTS_SHOWN; i++)
        add_root(b, &roots.a[i]);
    vec_release(&roots);
    free(waiting);
}

void waitfor_dump(struct dump *d)
{
    struct builder b = {.d = d};

    add_nodes(&b);
    add_edges(&b);
    waitfor_solve(&b.w);
    for (uint32_t c = 1; c <= b.w.circles; c++)
        add_circle(&b, c);
    add_roots(&b);
    waitfor_release(&b.w);
    map_release(&b.by_pid);
    map_release(&b.by_tid);
    vec_release(&b.elsewhere);
}
