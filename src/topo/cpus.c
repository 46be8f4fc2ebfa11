/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_DIR "/sys/devices/system/cpu"

enum { CACHES_MAX = 16 }; /* of one CPU */

/* The folders cpuN: kernels before 2.6.26 have no file "online". */
static void list_folders(struct topo_ctx *ctx, struct idset *out)
{
    struct dir_names names = {0};

    topo_list(ctx, CPU_DIR, &names);
    for (size_t i = 0; i < names.list.n; i++) {
        int64_t cpu = hw_numbered(names.list.a[i], "cpu");

        if (cpu >= 0 && cpu < IDSET_MAX)
            idset_add(out, (unsigned)cpu);
    }
    dir_names_release(&names);
}

static void read_online(struct cpus *c, struct topo_ctx *ctx)
{
    struct idset present = {0};

    if (hw_read_list(ctx, CPU_DIR "/online", &c->online) || !idset_count(&c->online))
        list_folders(ctx, &c->online);
    hw_read_list(ctx, CPU_DIR "/present", &present);
    for (int64_t i = idset_first(&present); i >= 0; i = idset_next(&present, i))
        if (!idset_has(&c->online, (unsigned)i))
            idset_add(&c->absent, (unsigned)i);
    idset_release(&present);
}

/* ---- packages and cores ---- */

static int read_cpu_set(struct topo_ctx *ctx, int64_t cpu, const char *list, const char *mask,
                        struct idset *out)
{
    char list_path[128], mask_path[128];

    snprintf(list_path, sizeof(list_path), CPU_DIR "/cpu%lld/%s", (long long)cpu, list);
    snprintf(mask_path, sizeof(mask_path), CPU_DIR "/cpu%lld/%s", (long long)cpu, mask);
    return hw_read_set(ctx, list_path, mask_path, out);
}

static struct cpus_package *package_of(struct cpus *c, int64_t id)
{
    struct cpus_package *p;

    for (size_t i = 0; i < c->packages.n; i++)
        if (c->packages.a[i].id == id)
            return &c->packages.a[i];
    p = vec_push(&c->packages);
    *p = (struct cpus_package){.id = id};
    return p;
}

static void read_package(struct cpus *c, struct topo_ctx *ctx, int64_t cpu)
{
    struct idset threads = {0};
    struct cpus_package *p;
    char path[128];
    int64_t id;

    snprintf(path, sizeof(path), CPU_DIR "/cpu%lld/topology/physical_package_id", (long long)cpu);
    id = topo_read_int(ctx, path, -2);
    if (id == -2) { /* no topology is told of this CPU */
        ctx->vanished++;
        return;
    }
    p = package_of(c, id < 0 ? 0 : id); /* -1: the firmware does not say; then there is one */
    idset_add(&p->cpus, (unsigned)cpu);
    if (read_cpu_set(ctx, cpu, "topology/thread_siblings_list", "topology/thread_siblings", &threads) ||
        !idset_has(&threads, (unsigned)cpu))
        idset_add(&p->cores, (unsigned)cpu);
    else
        idset_add(&p->cores, (unsigned)idset_first(&threads));
    idset_release(&threads);
}

/* The kernel names a package by its number, and by the list and the mask of its CPUs. */
static int contradicts(const struct cpus *c, const struct cpus_package *p, struct idset *told)
{
    int yes;

    idset_intersect(told, &c->online);
    yes = !idset_equal(told, &p->cpus);
    idset_release(told);
    return yes;
}

static void compare_siblings(struct cpus *c, struct topo_ctx *ctx, const struct cpus_package *p)
{
    for (int64_t cpu = idset_first(&p->cpus); cpu >= 0 && c->contradicts < 0;
         cpu = idset_next(&p->cpus, cpu)) {
        struct idset list = {0}, mask = {0};
        char path[128];

        snprintf(path, sizeof(path), CPU_DIR "/cpu%lld/topology/core_siblings_list", (long long)cpu);
        if (!hw_read_list(ctx, path, &list) && contradicts(c, p, &list))
            c->contradicts = cpu;
        snprintf(path, sizeof(path), CPU_DIR "/cpu%lld/topology/core_siblings", (long long)cpu);
        if (!hw_read_mask(ctx, path, &mask) && contradicts(c, p, &mask))
            c->contradicts = cpu;
        idset_release(&list);
        idset_release(&mask);
    }
}

/* ---- caches ---- */

static struct cpus_cache *known_cache(struct cpus *c, unsigned level, char type, int64_t cpu)
{
    for (size_t i = c->caches.n; i-- > 0;) {
        struct cpus_cache *k = &c->caches.a[i];

        if (k->level == level && k->type == type && idset_has(&k->cpus, (unsigned)cpu))
            return k;
    }
    return NULL;
}

/* "512K" */
static uint64_t read_size(struct topo_ctx *ctx, const char *path)
{
    char text[32], *end;
    uint64_t v;

    topo_read_line(ctx, path, text, sizeof(text));
    v = strtoull(text, &end, 10);
    return *end == 'K' ? v << 10 : *end == 'M' ? v << 20 : v;
}

/* -1: the CPU has no more. */
static int read_cache(struct cpus *c, struct topo_ctx *ctx, int64_t cpu, int index)
{
    char folder[80], path[128], list[64], mask[64], type[32];
    struct cpus_cache *k;
    int64_t level;

    snprintf(folder, sizeof(folder), CPU_DIR "/cpu%lld/cache/index%d", (long long)cpu, index);
    snprintf(path, sizeof(path), "%s/level", folder);
    level = topo_read_int(ctx, path, -1);
    if (level < 1)
        return -1;
    snprintf(path, sizeof(path), "%s/type", folder);
    topo_read_line(ctx, path, type, sizeof(type));
    if (known_cache(c, (unsigned)level, type[0], cpu))
        return 0;
    k = vec_push(&c->caches);
    *k = (struct cpus_cache){.level = (unsigned)level, .type = type[0]};
    snprintf(path, sizeof(path), "%s/size", folder);
    k->size = read_size(ctx, path);
    snprintf(path, sizeof(path), "%s/coherency_line_size", folder);
    k->line = (unsigned)topo_read_int(ctx, path, 0);
    snprintf(path, sizeof(path), "%s/ways_of_associativity", folder);
    k->ways = (unsigned)topo_read_int(ctx, path, 0);
    snprintf(list, sizeof(list), "cache/index%d/shared_cpu_list", index);
    snprintf(mask, sizeof(mask), "cache/index%d/shared_cpu_map", index);
    read_cpu_set(ctx, cpu, list, mask, &k->cpus);
    idset_intersect(&k->cpus, &c->online);
    idset_add(&k->cpus, (unsigned)cpu);
    return 0;
}

/* ---- all ---- */

static int by_id(const void *a, const void *b)
{
    const struct cpus_package *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

int cpus_read(struct cpus *c, struct topo_ctx *ctx)
{
    *c = (struct cpus){.contradicts = -1};
    read_online(c, ctx);
    for (int64_t cpu = idset_first(&c->online); cpu >= 0; cpu = idset_next(&c->online, cpu)) {
        read_package(c, ctx, cpu);
        for (int i = 0; i < CACHES_MAX && !read_cache(c, ctx, cpu, i); i++)
            ;
    }
    if (c->packages.n)
        qsort(c->packages.a, c->packages.n, sizeof(*c->packages.a), by_id);
    for (size_t i = 0; i < c->packages.n; i++)
        compare_siblings(c, ctx, &c->packages.a[i]);
    return c->packages.n ? 0 : -1;
}

void cpus_release(struct cpus *c)
{
    for (size_t i = 0; i < c->packages.n; i++) {
        idset_release(&c->packages.a[i].cpus);
        idset_release(&c->packages.a[i].cores);
    }
    for (size_t i = 0; i < c->caches.n; i++)
        idset_release(&c->caches.a[i].cpus);
    vec_release(&c->packages);
    vec_release(&c->caches);
    idset_release(&c->online);
    idset_release(&c->absent);
}

/* Each core is counted by its first CPU, so a set has as many cores as it has first CPUs; a set that begins
 * within a core has that one, too. */
size_t cpus_cores(const struct cpus *c, const struct idset *of)
{
    size_t n = 0;

    for (size_t i = 0; i < c->packages.n; i++) {
        struct idset cores = {0};

        idset_unite(&cores, &c->packages.a[i].cores);
        idset_intersect(&cores, of);
        n += idset_count(&cores);
        idset_release(&cores);
    }
    return n ? n : idset_count(of) > 0;
}

int cpus_is_last(const struct cpus *c, const struct cpus_cache *cache)
{
    for (size_t i = 0; i < c->caches.n; i++)
        if (c->caches.a[i].level > cache->level && idset_meets(&c->caches.a[i].cpus, &cache->cpus))
            return 0;
    return cache->type != 'I';
}
