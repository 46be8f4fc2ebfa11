/* SPDX-License-Identifier: Apache-2.0 */
/* CPU packages, and the caches that cores share; private ones are attributes of their package. */
#include "topo/cpus.h"

#include "base/json.h"
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it is called: /proc/cpuinfo ---- */

/* The value in the line of that key in [text, end), into out. */
static int cpuinfo_value(const char *text, const char *end, const char *key, char *out, size_t n)
{
    size_t len = strlen(key);

    for (const char *line = text, *next; line < end; line = next) {
        const char *value = line + len;

        next = strchr(line, '\n');
        next = next ? next + 1 : end;
        if (strncmp(line, key, len) != 0)
            continue;
        value += strspn(value, " \t");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(out, n, "%.*s", (int)strcspn(value, "\n"), value);
        return 0;
    }
    return -1;
}

/* The paragraph of a CPU; *end is set behind it. NULL: none. */
static const char *cpuinfo_of(const char *text, int64_t cpu, const char **end)
{
    for (const char *p = text; *p; p = *end) {
        char number[24];

        *end = strstr(p, "\n\n");
        *end = *end ? *end + 2 : p + strlen(p);
        if (!cpuinfo_value(p, *end, "processor", number, sizeof(number)) && atoll(number) == cpu)
            return p;
    }
    return NULL;
}

/* x86 has "model name", POWER "cpu", ARM numbers of the maker and the part. */
static void set_model(struct graph *g, struct graph_node *n, const char *cpuinfo, int64_t cpu)
{
    const char *end, *p = cpuinfo_of(cpuinfo, cpu, &end);
    char model[160], maker[32], part[32];

    if (!p)
        return;
    if (!cpuinfo_value(p, end, "model name", model, sizeof(model)) ||
        !cpuinfo_value(p, end, "cpu", model, sizeof(model)))
        graph_set_str(g, &n->attrs, "name", model);
    else if (!cpuinfo_value(p, end, "CPU implementer", maker, sizeof(maker)) &&
             !cpuinfo_value(p, end, "CPU part", part, sizeof(part))) {
        snprintf(model, sizeof(model), "ARM, implementer %s, part %s", maker, part);
        graph_set_str(g, &n->attrs, "name", model);
    }
    if (!cpuinfo_value(p, end, "vendor_id", model, sizeof(model)))
        graph_set_str(g, &n->attrs, "vendor", model);
}

/* ---- caches ---- */

/* Those of one sort in a package are summed up. */
struct sort {
    const struct cpus_cache *like;
    size_t n;
};

static int is_like(const struct cpus_cache *a, const struct cpus_cache *b)
{
    return a->level == b->level && a->type == b->type && a->size == b->size;
}

static const char *type_name(char type)
{
    return type == 'I' ? "instruction" : type == 'D' ? "data" : "unified";
}

static int is_node(const struct cpus *c, const struct cpus_cache *k)
{
    return k->type != 'I' && (cpus_cores(c, &k->cpus) > 1 || cpus_is_last(c, k));
}

static void set_private_caches(struct graph *g, struct graph_node *n, const struct cpus *c,
                               const struct cpus_package *p)
{
    VEC(struct sort) sorts = {0};
    struct buf b = {0};
    struct json_writer w = {.out = &b};
    size_t k;

    for (size_t i = 0; i < c->caches.n; i++) {
        const struct cpus_cache *cache = &c->caches.a[i];

        if (!idset_meets(&cache->cpus, &p->cpus) || is_node(c, cache))
            continue;
        for (k = 0; k < sorts.n && !is_like(sorts.a[k].like, cache); k++)
            ;
        if (k == sorts.n)
            *vec_push(&sorts) = (struct sort){.like = cache};
        sorts.a[k].n++;
    }
    json_array(&w, NULL);
    for (size_t i = 0; i < sorts.n; i++) {
        json_object(&w, NULL);
        json_u64(&w, "level", sorts.a[i].like->level);
        json_str(&w, "type", type_name(sorts.a[i].like->type));
        json_u64(&w, "bytes", sorts.a[i].like->size);
        json_u64(&w, "count", sorts.a[i].n);
        json_end_object(&w);
    }
    json_end_array(&w);
    if (sorts.n)
        graph_set_json(g, &n->attrs, "private_caches", buf_str(&b));
    buf_release(&b);
    vec_release(&sorts);
}

/* "allowed" is told only where a control group forbids some of the machine. */
static void set_allowed(struct graph *g, struct graph_node *n, const struct idset *cpus,
                        const struct hw_allowed *allowed, int others)
{
    struct idset may = {0};

    idset_unite(&may, cpus);
    idset_intersect(&may, &allowed->cpus);
    graph_set_bool(g, &n->attrs, "allowed", idset_count(&may) || others);
    hw_set_ids(g, &n->attrs, "allowed_cpus", &may);
    idset_release(&may);
}

static void add_cache(struct graph *g, const struct cpus *c, const struct cpus_cache *k,
                      const struct hw_allowed *allowed)
{
    char id[48], size[32], name[80];
    struct graph_node *n;

    snprintf(id, sizeof(id), "L%u%s of CPU %lld", k->level, k->type == 'D' ? "d" : "",
             (long long)idset_first(&k->cpus));
    n = graph_named(g, GRAPH_CACHE, id);
    snprintf(name, sizeof(name), "L%u%s, %s", k->level, k->type == 'D' ? "d" : "",
             units_size(size, sizeof(size), k->size));
    graph_set_str(g, &n->attrs, "name", name);
    graph_set_int(g, &n->attrs, "level", k->level);
    graph_set_str(g, &n->attrs, "type", type_name(k->type));
    graph_set_int(g, &n->attrs, "bytes", (int64_t)k->size);
    hw_set_ids(g, &n->attrs, "cpus", &k->cpus);
    graph_set_int(g, &n->attrs, "cores", (int64_t)cpus_cores(c, &k->cpus));
    if (k->line)
        graph_set_int(g, &n->attrs, "line_bytes", k->line);
    if (k->ways)
        graph_set_int(g, &n->attrs, "ways", k->ways);
    if (allowed)
        set_allowed(g, n, &k->cpus, allowed, 0);
    for (size_t i = 0; i < c->packages.n; i++)
        if (idset_meets(&c->packages.a[i].cpus, &k->cpus))
            graph_edge(g, GRAPH_EDGE_HOST, graph_numbered(g, GRAPH_PACKAGE, c->packages.a[i].id), n);
}

/* ---- packages ---- */

/* Whether a NUMA node next to these CPUs may be used. */
static int has_allowed_memory(struct topo_ctx *ctx, const struct idset *cpus, const struct hw_allowed *a)
{
    int yes = 0;

    for (int64_t i = idset_first(&a->mems); i >= 0 && !yes; i = idset_next(&a->mems, i)) {
        char list[80], mask[80];
        struct idset near = {0};

        snprintf(list, sizeof(list), "/sys/devices/system/node/node%lld/cpulist", (long long)i);
        snprintf(mask, sizeof(mask), "/sys/devices/system/node/node%lld/cpumap", (long long)i);
        yes = !hw_read_set(ctx, list, mask, &near) && idset_meets(&near, cpus);
        idset_release(&near);
    }
    return yes;
}

static void add_package(struct topo_ctx *ctx, struct graph *g, const struct cpus *c,
                        const struct cpus_package *p, const char *cpuinfo, const struct hw_allowed *allowed)
{
    struct graph_node *n = graph_numbered(g, GRAPH_PACKAGE, p->id);

    set_model(g, n, cpuinfo, idset_first(&p->cpus));
    hw_set_ids(g, &n->attrs, "cpus", &p->cpus);
    graph_set_int(g, &n->attrs, "threads", (int64_t)idset_count(&p->cpus));
    graph_set_int(g, &n->attrs, "cores", (int64_t)idset_count(&p->cores));
    set_private_caches(g, n, c, p);
    if (allowed)
        set_allowed(g, n, &p->cpus, allowed, has_allowed_memory(ctx, &p->cpus, allowed));
    if (idset_has(&p->cpus, (unsigned)(c->contradicts < 0 ? IDSET_MAX : c->contradicts)))
        graph_set_bool(g, &n->attrs, "contradicted", 1);
    ctx->seen++;
}

static void note(struct topo_ctx *ctx, const struct cpus *c, const struct hw_allowed *allowed)
{
    struct buf b = {0};

    if (idset_count(&c->absent)) {
        idset_text(&c->absent, &b);
        hw_note(ctx, "warning: %zu CPU%s offline: %s", idset_count(&c->absent),
                idset_count(&c->absent) == 1 ? " is" : "s are", buf_str(&b));
    }
    if (c->contradicts >= 0)
        hw_note(ctx, "warning: the list of siblings of CPU %lld contradicts its package number",
                (long long)c->contradicts);
    if (allowed) {
        buf_clear(&b);
        idset_text(&allowed->cpus, &b);
        hw_note(ctx, "the control group allows CPUs %s", buf_str(&b));
    }
    buf_release(&b);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    const struct hw_allowed *restricted;
    struct hw_allowed allowed;
    struct buf cpuinfo = {0};
    struct cpus c;

    if (cpus_read(&c, ctx)) {
        ctx->state = "unavailable";
        hw_note(ctx, "the kernel tells of no CPUs in /sys");
        cpus_release(&c);
        return 0;
    }
    hw_allowed_read(ctx, &allowed);
    restricted = allowed.has_cpus && !idset_within(&c.online, &allowed.cpus) ? &allowed : NULL;
    topo_read(ctx, "/proc/cpuinfo", &cpuinfo);
    for (size_t i = 0; i < c.packages.n; i++)
        add_package(ctx, g, &c, &c.packages.a[i], buf_str(&cpuinfo), restricted);
    for (size_t i = 0; i < c.caches.n; i++)
        if (is_node(&c, &c.caches.a[i])) {
            add_cache(g, &c, &c.caches.a[i], restricted);
            ctx->seen++;
        }
    note(ctx, &c, restricted);
    buf_release(&cpuinfo);
    hw_allowed_release(&allowed);
    cpus_release(&c);
    return 0;
}

const struct topo_source topo_source_cpu = {
    .name = "cpu",
    .summary = "CPU packages, and the caches that cores share",
    .on_by_default = 1,
    .part = TOPO_HARDWARE,
    .describes = {2, {GRAPH_PACKAGE, GRAPH_CACHE}},
    .witty = "",
    .collect = collect,
};
