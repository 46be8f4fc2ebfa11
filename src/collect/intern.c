/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/intern.h"

#include "base/hash.h"
#include "model/store_visit.h"
#include "platform/clock.h"
#include "platform/perfmap.h"
#include "platform/procfs.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stack seen once costs 24 bytes here; when there are that many, begin anew. */
#define MEMO_MAX 400000

void intern_init(struct intern *n, struct store *s, struct modules *m)
{
    *n = (struct intern){.store = s, .modules = m};
}

void intern_release(struct intern *n)
{
    map_release(&n->kernel);
    map_release(&n->memo);
    for (size_t i = 0; i < INTERN_LASTS; i++)
        vec_release(&n->last[i].steps);
    vec_release(&n->raw);
}

void intern_ids(struct intern *n, struct store_visit *v)
{
    store_visit_cache(v, &n->kernel);
    store_visit_cache(v, &n->memo);
    for (size_t i = 0; i < INTERN_LASTS; i++)
        n->last[i].of = 0;
}

uint32_t intern_marker(struct intern *n, const char *text)
{
    struct frame key = {.kind = FRAME_MARKER, .func = strtab_add(&n->store->strings, text)};

    return frames_add(&n->store->frames, &key);
}

static uint32_t kernel_frame(struct intern *n, const struct raw_frame *r)
{
    uint64_t *slot = map_put(&n->kernel, r->addr << 1 | r->exact);

    if (!n->kernel_module) {
        struct module m = {
            .kind = MODULE_KERNEL, .path = strtab_add(&n->store->strings, "[kernel]"), .fd = -1};

        n->kernel_module = frames_add_module(&n->store->frames, &m);
    }
    if (!*slot) {
        struct frame key = {.kind = FRAME_KERNEL, .module = n->kernel_module, .addr = r->addr};

        key.flags = r->exact ? 0 : FRAME_RETURN;
        *slot = frames_add(&n->store->frames, &key);
    }
    return (uint32_t)*slot;
}

/* Most JIT compilers never write a map: looking for it at each new address would cost more than the walk. */
#define PERF_MAP_RETRY_NS 500000000ull

/* A map that is written at the process's end, in a file system that ends with it, can only be found from
 * there. */
static int keep_tmp(const struct process *p)
{
    struct stat its, ours;
    int fd = p->gone || !p->ns_tgid ? -1 : procfs_open_tmp((pid_t)p->ns_tgid);

    if (fd >= 0 && !fstat(fd, &its) && !stat("/tmp", &ours) &&
        (its.st_dev != ours.st_dev || its.st_ino != ours.st_ino))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static uint32_t jit_module(struct intern *n, struct process *p)
{
    struct module m = {.kind = MODULE_JIT, .fd = -1, .task = p->leader};
    char path[64];

    if (p->jit_module && p->has_perf_map)
        return p->jit_module;
    if (p->jit_module && clock_monotonic() - p->perf_map_tried < PERF_MAP_RETRY_NS)
        return p->jit_module;
    p->perf_map_tried = clock_monotonic();
    if (!p->gone && p->ns_tgid)
        m.fd = perfmap_open_live((int)p->ns_tgid, p->own_tgid, p->start);
    if (m.fd >= 0) {
        snprintf(path, sizeof(path), "/tmp/perf-%u.map", p->own_tgid);
        m.path = strtab_add(&n->store->strings, path);
        p->has_perf_map = 1;
        p->dirty = 1; /* walks may now go by frame pointer there */
    } else {
        if (p->jit_module)
            return p->jit_module;
        m.path = strtab_add(&n->store->strings, "[jit]");
        m.fd = keep_tmp(p);
    }
    return p->jit_module = frames_add_module(&n->store->frames, &m);
}

static uint32_t native_frame(struct intern *n, struct process *p, const struct raw_frame *r)
{
    uint64_t key_addr = r->addr << 1 | r->exact, *slot = map_get(&p->frames, key_addr);
    struct frame key = {.kind = FRAME_NATIVE, .addr = r->addr, .flags = r->exact ? 0 : FRAME_RETURN};
    const struct mapping *m;
    struct code_file *f;
    uint32_t id;

    if (slot)
        return (uint32_t)*slot;
    m = process_lookup(p, r->exact ? r->addr : r->addr - 1);
    f = m ? modules_get(n->modules, m->file) : NULL;
    if (f) {
        key.module = modules_store_id(f, &n->store->frames, &n->store->strings);
        key.addr = r->addr - m->bias;
    } else if (m) {
        key.kind = FRAME_JIT;
        key.module = jit_module(n, p);
    }
    id = frames_add(&n->store->frames, &key);
    if (m) /* an address in no mapping may be in one later */
        *map_put(&p->frames, key_addr) = id;
    return id;
}

static uint64_t hash_process(const struct process *p)
{
    return p ? hash_mix(p->start ^ p->epoch, p->tgid) : 0;
}

static uint64_t hash_raw(const struct intern *n, const struct process *p)
{
    uint64_t h = hash_process(p);

    for (size_t i = 0; i < n->raw.n; i++) {
        const struct raw_frame *r = &n->raw.a[i];

        h = hash_mix(h ^ r->addr, (uint64_t)r->frame << 16 | (uint64_t)r->kind << 8 | r->exact);
    }
    return h ? h : 1;
}

static struct intern_last *last_of(struct intern *n, const struct process *p)
{
    uint64_t of = hash_process(p) | 1;
    struct intern_last *l = &n->last[of >> 32 & (INTERN_LASTS - 1)];

    if (l->of != of)
        vec_clear(&l->steps);
    l->of = of;
    return l;
}

static int is_same(const struct raw_frame *a, const struct raw_frame *b)
{
    return a->addr == b->addr && a->frame == b->frame && a->kind == b->kind && a->exact == b->exact;
}

static uint32_t frame_of(struct intern *n, struct process *p, const struct raw_frame *r)
{
    if (r->kind == FRAME_KERNEL)
        return kernel_frame(n, r);
    return r->kind == FRAME_NATIVE ? native_frame(n, p, r) : r->frame;
}

/* Most of a stack is as it was a moment ago: what is the same from the root on needs no look into any table.
 */
static uint32_t push_all(struct intern *n, struct process *p)
{
    struct intern_last *l = last_of(n, p);
    uint32_t id = 0;

    for (size_t depth = 0; depth < n->raw.n; depth++) {
        const struct raw_frame *r = &n->raw.a[n->raw.n - 1 - depth];

        if (depth < l->steps.n && is_same(&l->steps.a[depth].raw, r)) {
            id = l->steps.a[depth].id;
            continue;
        }
        id = stacks_push(&n->store->stacks, id, frame_of(n, p, r));
        l->steps.n = depth; /* what was there further in hung on another frame */
        *vec_push(&l->steps) = (struct intern_step){*r, id};
    }
    return id;
}

uint32_t intern_end(struct intern *n, struct process *p)
{
    uint64_t hash = hash_raw(n, p), *slot = map_get(&n->memo, hash);
    uint32_t id;

    if (slot)
        return (uint32_t)*slot;
    id = push_all(n, p);
    if (n->memo.n >= MEMO_MAX)
        map_release(&n->memo);
    *map_put(&n->memo, hash) = id;
    return id;
}
