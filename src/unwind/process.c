/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/process.h"

#include "base/mem.h"
#include "unwind/jit_runtime.h"

#include <string.h>

static void process_free(struct process *p)
{
    vec_release(&p->maps);
    map_release(&p->frames);
    free(p->python);
    free(p);
}

void processes_release(struct processes *ps)
{
    for (size_t i = 0; i < ps->list.n; i++)
        process_free(ps->list.a[i]);
    vec_release(&ps->list);
    map_release(&ps->by_tgid);
    map_release(&ps->by_ns);
}

static struct process *find(const struct map *m, uint32_t pid)
{
    uint64_t *p = map_get(m, pid);

    return p ? (struct process *)(uintptr_t)*p : NULL;
}

struct process *processes_find(const struct processes *ps, uint32_t tgid)
{
    return find(&ps->by_tgid, tgid);
}

struct process *processes_find_ns(const struct processes *ps, uint32_t ns_tgid)
{
    return find(&ps->by_ns, ns_tgid);
}

struct process *processes_add(struct processes *ps, const struct wire_task *t)
{
    struct process *p = processes_find(ps, t->tgid);

    if (p)
        processes_remove(ps, p);
    p = mem_calloc(1, sizeof(*p));
    p->tgid = t->tgid;
    p->ns_tgid = t->ns_tgid;
    p->own_tgid = t->own_tgid;
    p->start = t->leader_start;
    *vec_push(&ps->list) = p;
    *map_put(&ps->by_tgid, p->tgid) = (uintptr_t)p;
    if (p->ns_tgid)
        *map_put(&ps->by_ns, p->ns_tgid) = (uintptr_t)p;
    return p;
}

void processes_remove(struct processes *ps, struct process *p)
{
    if (processes_find(ps, p->tgid) == p)
        map_del(&ps->by_tgid, p->tgid);
    if (processes_find_ns(ps, p->ns_tgid) == p)
        map_del(&ps->by_ns, p->ns_tgid);
    for (size_t i = 0; i < ps->list.n; i++)
        if (ps->list.a[i] == p) {
            ps->list.a[i] = ps->list.a[--ps->list.n];
            break;
        }
    process_free(p);
}

/* The first mapping that ends above addr. */
static size_t position(const struct process *p, uint64_t addr)
{
    size_t lo = 0, hi = p->maps.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (p->maps.a[mid].end <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct mapping *process_lookup(const struct process *p, uint64_t addr)
{
    size_t i = position(p, addr);

    return i < p->maps.n && p->maps.a[i].start <= addr ? &p->maps.a[i] : NULL;
}

static void forget_frames(struct process *p)
{
    map_release(&p->frames);
    p->epoch++;
}

static int same_code(const struct mapping *a, const struct mapping *b)
{
    return a->file == b->file && a->bias == b->bias;
}

void process_map(struct process *p, const struct mapping *m)
{
    size_t from = position(p, m->start), to = from, keep = 0;
    struct mapping with[3], *old;
    size_t n = 0;

    while (to < p->maps.n && p->maps.a[to].start < m->end) {
        old = &p->maps.a[to++];
        keep += same_code(old, m);
        if (old->start < m->start) /* what sticks out below and above stays */
            with[n++] = (struct mapping){old->start, m->start, old->bias, old->pgoff, old->file, 0};
    }
    if (to - from == 1 && keep == 1 && p->maps.a[from].start <= m->start && p->maps.a[from].end >= m->end)
        return; /* known */
    if (to > from && keep < to - from)
        forget_frames(p);
    with[n++] = *m;
    if (to > from && p->maps.a[to - 1].end > m->end) {
        old = &p->maps.a[to - 1];
        with[n++] =
            (struct mapping){m->end, old->end, old->bias, old->pgoff + (m->end - old->start), old->file, 0};
    }
    vec_reserve(&p->maps, p->maps.n + n);
    memmove(p->maps.a + from + n, p->maps.a + to, (p->maps.n - to) * sizeof(*p->maps.a));
    memcpy(p->maps.a + from, with, n * sizeof(with[0]));
    p->maps.n += n - (to - from);
    p->dirty = 1;
}

int process_jit_keeps_fp(const struct process *p)
{
    switch (p->runtime) {
    case JIT_V8:
        return 1;
    case JIT_JVM:
        return p->jvm_fp;
    case JIT_ONEDNN:
        return 0;
    default:
        return p->has_perf_map && !p->python;
    }
}

void process_unmap_all(struct process *p)
{
    forget_frames(p);
    vec_clear(&p->maps);
    p->jit_module = 0;
    p->has_perf_map = 0;
    p->runtime = JIT_NONE;
    p->jvm_fp = 0;
    p->dirty = 1;
}

void process_copy_maps(struct process *to, const struct process *from)
{
    vec_clear(&to->maps);
    vec_reserve(&to->maps, from->maps.n);
    if (from->maps.n)
        memcpy(to->maps.a, from->maps.a, from->maps.n * sizeof(*from->maps.a));
    to->maps.n = from->maps.n;
    to->image = from->image;
    to->stale = from->stale;
    to->runtime = from->runtime;
    to->jvm_fp = from->jvm_fp;
    to->dirty = 1;
}
