/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callgrind's profile format (valgrind.org/docs/manual/cl-format.html), as KCachegrind reads it: each
 * function's own cost by line, and what it spent in whom it called. How often it called them, samples don't
 * tell: calls=1. A call within itself counts where it is entered first, so that recursion adds up.
 */
#include "exchange/export/export.h"

#include "base/hash.h"
#include "base/map.h"

#include <inttypes.h>
#include <stdlib.h>

struct function {
    uint32_t func, file, module; /* strings of the profile */
};

/* Own cost of a line of a function (callee 0), or what a call at it cost. */
struct cost {
    uint32_t function, callee, line; /* functions: index + 1 */
    uint64_t value;
};

struct names {
    uint8_t *told; /* string id: its text was written already */
};

struct callgrind {
    const struct profile *p;
    struct buf *out;
    VEC(struct function) functions;
    VEC(struct cost) costs;
    struct index function_index, cost_index;
    uint32_t *of_frame; /* profile frame -> function, index + 1 */
    struct names func, file, module;
};

/* ---- functions and costs ---- */

struct wanted_function {
    const struct function *list;
    struct function key;
};

static int same_function(const void *ctx, uint32_t id)
{
    const struct wanted_function *w = ctx;
    const struct function *f = &w->list[id - 1];

    return f->func == w->key.func && f->file == w->key.file && f->module == w->key.module;
}

static uint32_t function_of(struct callgrind *c, const struct profile_frame *f)
{
    struct wanted_function w = {c->functions.a, {f->func, f->file, f->module}};
    uint64_t hash = hash_mix((uint64_t)f->func << 32 | f->file, f->module);
    uint32_t id = index_find(&c->function_index, hash, same_function, &w);

    if (!id) {
        *vec_push(&c->functions) = w.key;
        id = (uint32_t)c->functions.n;
        index_add(&c->function_index, hash, id);
    }
    return id;
}

struct wanted_cost {
    const struct cost *list, *key;
};

static int same_cost(const void *ctx, uint32_t id)
{
    const struct wanted_cost *w = ctx;
    const struct cost *k = &w->list[id - 1];

    return k->function == w->key->function && k->callee == w->key->callee && k->line == w->key->line;
}

static void add_cost(struct callgrind *c, uint32_t function, uint32_t callee, uint32_t line, uint64_t value)
{
    struct cost key = {function, callee, line, 0};
    struct wanted_cost w = {c->costs.a, &key};
    uint64_t hash = hash_mix((uint64_t)function << 32 | callee, line);
    uint32_t id = index_find(&c->cost_index, hash, same_cost, &w);

    if (!id) {
        *vec_push(&c->costs) = key;
        id = (uint32_t)c->costs.n;
        index_add(&c->cost_index, hash, id);
    }
    c->costs.a[id - 1].value += value;
}

/* Whether the same call is further out on this stack. */
static int is_inside_itself(const struct callgrind *c, uint32_t node, uint32_t caller, uint32_t callee)
{
    const struct profile_node *n = c->p->nodes.a;

    for (node = n[node].parent; node && n[node].parent; node = n[node].parent)
        if (c->of_frame[n[node].frame] == callee && c->of_frame[n[n[node].parent].frame] == caller)
            return 1;
    return 0;
}

static void add_node(struct callgrind *c, uint32_t node)
{
    const struct profile_metric *m = &c->p->metrics.a[0];
    const struct profile_node *n = &c->p->nodes.a[node], *up = &c->p->nodes.a[n->parent];
    uint32_t callee = c->of_frame[n->frame], caller = c->of_frame[up->frame];

    if (m->self[node])
        add_cost(c, callee, 0, c->p->frames.a[n->frame].line, m->self[node]);
    if (n->parent && m->total[node] && !is_inside_itself(c, node, caller, callee))
        add_cost(c, caller, callee, c->p->frames.a[up->frame].line, m->total[node]);
}

/* ---- writing ---- */

/* "fn=(12) name", the name once. */
static void put_name(struct callgrind *c, const char *key, struct names *names, uint32_t id)
{
    const char *text = strtab_get(&c->p->strings, id);

    buf_addf(c->out, "%s=(%u)", key, id + 1);
    if (!names->told[id]) {
        names->told[id] = 1;
        buf_addch(c->out, ' ');
        if (!*text)
            buf_addstr(c->out, "???");
        for (; *text; text++)
            buf_addch(c->out, (unsigned char)*text < 0x20 ? '_' : *text);
    }
    buf_addch(c->out, '\n');
}

static void put_function(struct callgrind *c, const char *prefix, uint32_t id)
{
    const struct function *f = &c->functions.a[id - 1];
    char key[8] = {prefix[0]};
    size_t at = prefix[0] ? 1 : 0;

    memcpy(key + at, "ob", 3);
    put_name(c, key, &c->module, f->module);
    memcpy(key + at, prefix[0] ? "fi" : "fl", 3);
    put_name(c, key, &c->file, f->file);
    memcpy(key + at, "fn", 3);
    put_name(c, key, &c->func, f->func);
}

static int by_function(const void *pa, const void *pb)
{
    const struct cost *a = pa, *b = pb;

    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static void put_costs(struct callgrind *c)
{
    uint32_t last = 0;

    if (c->costs.n)
        qsort(c->costs.a, c->costs.n, sizeof(*c->costs.a), by_function);
    for (size_t i = 0; i < c->costs.n; i++) {
        const struct cost *k = &c->costs.a[i];

        if (k->function != last) {
            buf_addch(c->out, '\n');
            put_function(c, "", k->function);
        }
        last = k->function;
        if (k->callee) {
            put_function(c, "c", k->callee);
            buf_addstr(c->out, "calls=1 0\n");
        }
        buf_addf(c->out, "%u %" PRIu64 "\n", k->line, k->value);
    }
}

static void put_head(struct callgrind *c, const struct session *s)
{
    const struct profile_metric *m = &c->p->metrics.a[0];

    buf_addstr(c->out, "# callgrind format\nversion: 1\ncreator: wprof\n");
    if (s->meta.workload) {
        buf_addstr(c->out, "cmd: ");
        for (const char *p = s->meta.workload; *p; p++)
            buf_addch(c->out, (unsigned char)*p < 0x20 ? '_' : *p);
        buf_addch(c->out, '\n');
    }
    /* callgrind_annotate reads the costs from "events:" on. */
    buf_addf(c->out, "positions: line\ndesc: %s: %s\nevents: %s\n", m->name, m->unit, m->name);
    buf_addf(c->out, "summary: %" PRIu64 "\n", m->sum);
}

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    const struct profile *p = in->profile;
    struct callgrind c = {.p = p, .out = out};
    size_t nstrings = strtab_count(&p->strings) + 1;

    c.of_frame = mem_calloc(p->frames.n + 1, sizeof(*c.of_frame));
    c.func.told = mem_calloc(nstrings, 1);
    c.file.told = mem_calloc(nstrings, 1);
    c.module.told = mem_calloc(nstrings, 1);
    for (size_t i = 0; i < p->frames.n; i++)
        c.of_frame[i] = function_of(&c, &p->frames.a[i]);
    for (uint32_t node = 1; node < p->nodes.n; node++)
        add_node(&c, node);
    put_head(&c, in->session);
    put_costs(&c);
    buf_addf(out, "\ntotals: %" PRIu64 "\n", p->metrics.a[0].sum);
    free(c.of_frame);
    free(c.func.told);
    free(c.file.told);
    free(c.module.told);
    vec_release(&c.functions);
    vec_release(&c.costs);
    index_release(&c.function_index);
    index_release(&c.cost_index);
    return 0;
}

const struct exporter export_callgrind = {
    .name = "callgrind",
    .summary = "what KCachegrind reads: functions' costs by line, and of their calls",
    .lines = 1,
    .run = run,
};
