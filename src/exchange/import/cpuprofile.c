/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `.cpuprofile` of Chrome and Node.js: a tree of nodes (a list with children's ids; older: each inside its
 * parent) and, of each sample, its node and the time since the one before, us.
 */
#include "exchange/import/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 500 }; /* a tree inside a tree: the reader of JSON goes as deep */

struct node {
    uint32_t stack;
    int idle;
};

struct cpuprofile {
    struct store *s;
    struct import_stats *st;
    struct map nodes; /* id -> index + 1 */
    VEC(struct node) list;
    uint32_t task;
    uint64_t now; /* ns */
    int counted;  /* a sample counts once; else as the us until the next one */
    int timed;    /* it does */
};

/* (root) is no function. */
static uint32_t push_node(struct cpuprofile *x, const struct json_value *v, uint32_t above)
{
    const struct json_value *call = json_get(v, "callFrame") ? json_get(v, "callFrame") : v;
    const char *name = json_get_str(call, "functionName", ""), *url = json_get_str(call, "url", "");
    double line = json_get_f64(call, "lineNumber", -1);
    struct frame f = {.kind = FRAME_JIT};
    struct node node = {above, !strcmp(name, "(idle)")};

    if (strcmp(name, "(root)") != 0) {
        f.func = strtab_add(&x->s->strings, *name ? name : "(anonymous)");
        f.file = strtab_add(&x->s->strings, url);
        f.line = line >= 0 && line < INT32_MAX && *url ? (uint32_t)line + 1 : 0;
        node.stack = stacks_push(&x->s->stacks, above, frames_add(&x->s->frames, &f));
    }
    *vec_push(&x->list) = node;
    *map_put(&x->nodes, json_get_u64(v, "id", 0)) = x->list.n;
    return node.stack;
}

/* samples: how many, or `us` of one. */
static void push(struct cpuprofile *x, uint64_t id, uint64_t samples, uint64_t us)
{
    const uint64_t *at = map_get(&x->nodes, id);
    const struct node *n = at && *at ? &x->list.a[*at - 1] : NULL;

    if (!n)
        import_count(x->st, IMPORT_LOST, "sample of no node|samples of no node", samples);
    else if (n->idle)
        import_count(x->st, IMPORT_LEFT, "idle sample|idle samples", samples);
    if (!n || n->idle)
        return;
    if (!x->timed || us)
        *vec_push(&x->s->events) = (struct event){.ts = x->now,
                                                  .value = x->timed ? us : samples,
                                                  .task = x->task,
                                                  .stack = n->stack,
                                                  .kind = EVENT_SAMPLE};
    import_count(x->st, IMPORT_TOOK, "sample|samples", samples);
}

/* Older files. */
static void take_tree(struct cpuprofile *x, const struct json_value *v, uint32_t above, int depth)
{
    uint32_t stack = push_node(x, v, above);
    const struct json_value *children = json_get(v, "children");

    for (const struct json_value *c = children ? children->child : NULL; c && depth < DEPTH_MAX; c = c->next)
        if (c->type == JSON_OBJECT)
            take_tree(x, c, stack, depth + 1);
}

/* A list whose nodes name their children: a parent stands before them, as V8 writes it, or it is no root's.
 */
static void take_list(struct cpuprofile *x, const struct json_value *list)
{
    struct map parents = {0}; /* id -> stack */

    for (const struct json_value *v = list->child; v; v = v->next) {
        const uint64_t *above = map_get(&parents, json_get_u64(v, "id", 0));
        const struct json_value *children = json_get(v, "children"), *parent = json_get(v, "parent");
        uint32_t stack;

        if (parent && parent->is_integer && map_get(&x->nodes, (uint64_t)parent->integer))
            stack = push_node(x, v, x->list.a[*map_get(&x->nodes, (uint64_t)parent->integer) - 1].stack);
        else
            stack = push_node(x, v, above ? (uint32_t)*above : 0);
        for (const struct json_value *c = children ? children->child : NULL; c; c = c->next)
            if (c->is_integer && c->integer >= 0)
                *map_put(&parents, (uint64_t)c->integer) = stack;
    }
    map_release(&parents);
}

/* When each was taken, us, 0: not told; behind them the end of the last one. Owned by the caller. */
static double *times_of(const struct json_value *root, const struct json_value *samples)
{
    const struct json_value *deltas = json_get(root, "timeDeltas"), *times = json_get(root, "timestamps");
    const struct json_value *t = deltas ? deltas->child : times ? times->child : NULL;
    size_t n = samples->len;
    double now = deltas ? json_get_f64(root, "startTime", 0) : 0, *out = mem_calloc(n + 1, sizeof(*out));

    for (size_t i = 0; i < n; i++, t = t ? t->next : NULL) {
        if (t && t->type == JSON_NUMBER)
            now = deltas ? now + t->number : t->number;
        out[i] = now > 0 && now < 0x1p52 ? now : 0;
    }
    out[n] = json_get_f64(root, "endTime", 0);
    if (n > 1 && !(out[n] > out[n - 1])) /* the last one is as long as the others */
        out[n] = out[n - 1] + (out[n - 1] - out[0]) / (double)(n - 1);
    return out;
}

/* A sample stands for the time until the next one: V8 takes them when it can, which is not evenly. */
static void take_samples(struct cpuprofile *x, const struct json_value *root,
                         const struct json_value *samples)
{
    double *at = times_of(root, samples);
    size_t i = 0;

    x->timed = !x->counted && samples->len > 1 && at[samples->len - 1] > at[0];
    for (const struct json_value *v = samples->child; v; v = v->next, i++) {
        double us = floor(at[i + 1]) - floor(at[i]);

        x->now = (uint64_t)(at[i] * 1e3);
        push(x, v->type == JSON_NUMBER && v->number >= 0 && v->number < 0x1p53 ? (uint64_t)v->number : 0, 1,
             us > 0 && us < 0x1p52 ? (uint64_t)us : 0);
    }
    free(at);
}

/* Without samples: how often each node was hit. */
static void take_hits(struct cpuprofile *x, const struct json_value *list)
{
    for (const struct json_value *v = list ? list->child : NULL; v; v = v->next) {
        uint64_t hits = json_get_u64(v, "hitCount", 0);

        if (hits && hits < 1ull << 53)
            push(x, json_get_u64(v, "id", 0), hits, 0);
    }
}

static int take_all(struct cpuprofile *x, const struct json_value *root, struct err *e)
{
    const struct json_value *nodes = json_get(root, "nodes"), *head = json_get(root, "head");
    const struct json_value *samples = json_get(root, "samples");
    struct task t = {.pid = 1, .tid = 1, .ns_pid = 1, .ns_tid = 1, .own_pid = 1};

    t.comm = strtab_add(&x->s->strings, "JavaScript");
    x->task = tasks_add(&x->s->tasks, &t);
    if (nodes && nodes->type == JSON_ARRAY)
        take_list(x, nodes);
    else if (head)
        take_tree(x, head, 0, 0);
    if (samples && samples->type == JSON_ARRAY && samples->len)
        take_samples(x, root, samples);
    else
        take_hits(x, nodes);
    return x->s->events.n ? 0 : err_set(e, "no sample in it (a .cpuprofile was expected)");
}

static int run(struct input *in, struct store *s, struct meta *m, struct import_stats *st, struct err *e)
{
    struct cpuprofile x = {.s = s, .st = st, .counted = in->event && !strcmp(in->event, "samples")};
    struct json_doc *doc;
    int rc;

    if (in->event && !x.counted && strcmp(in->event, "time") != 0)
        return err_set(e, "no values '%s' in it (it has: time, samples)", in->event);
    doc = input_read_json(in, e);
    rc = doc ? take_all(&x, json_root(doc), e) : -1;
    if (!rc && in->event && !x.counted && !x.timed)
        rc = err_set(e, "nothing in it says when a sample was taken: --event samples counts them");
    if (!rc)
        meta_add_language(m, "javascript");
    if (!rc && x.timed)
        *vec_push(&m->notes) =
            mem_strdup("a .cpuprofile; a sample counts as the microseconds until the next one");
    json_free(doc);
    map_release(&x.nodes);
    vec_release(&x.list);
    return rc;
}

static int probe(const char *head, size_t n)
{
    return import_first(head) == '{' && import_holds(head, n, "\"functionName\"") &&
           (import_holds(head, n, "\"nodes\"") || import_holds(head, n, "\"head\""));
}

const struct importer import_cpuprofile = {
    .name = "cpuprofile",
    .summary = ".cpuprofile of Chrome and Node.js",
    .events = 1,
    .probe = probe,
    .run = run,
};
