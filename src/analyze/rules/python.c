/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 32, 41, 42, 43 and 54: what certain functions on the stack tell. */
#include "analyze/rules/check.h"

#include "analyze/python_file.h"

#include <stdlib.h>

/* All time of the main thread in these frames, or that of its samples from a moment on. */
static void time_in(struct lead_time *t, const struct rule_data *d, const struct place_match *m, size_t n,
                    int waits, uint64_t from)
{
    uint8_t *stacks = places_match(&d->places, m, n);

    lead_time_init(t, d);
    if (waits)
        lead_time_stacks(t, d, stacks);
    else
        lead_time_samples(t, d, stacks, from);
    free(stacks);
}

/* By the store's stack ids a node each, or 0: the one with the most time. */
static uint32_t most_of(const struct rule_data *d, const struct lead_time *t, const uint32_t *nodes)
{
    struct map sums = {0};
    uint64_t most = 0;
    uint32_t best = 0;

    for (size_t i = 1; i <= d->s->store.stacks.nodes.n; i++) {
        uint64_t *sum;

        if (!nodes[i] || !t->where.of[i])
            continue;
        sum = map_put(&sums, nodes[i]);
        *sum += t->where.of[i];
        if (*sum > most) {
            most = *sum;
            best = nodes[i];
        }
    }
    map_release(&sums);
    return best;
}

/* The node of these frames with the most time. */
static uint32_t worst(const struct rule_data *d, const struct lead_time *t, const struct place_match *m,
                      size_t n)
{
    uint32_t *nodes = mem_calloc(d->s->store.stacks.nodes.n + 1, sizeof(*nodes)), best;

    for (uint32_t i = 1; i <= d->s->store.stacks.nodes.n; i++)
        nodes[i] = t->where.of[i] ? places_matched(&d->places, i, m, n) : 0;
    best = most_of(d, t, nodes);
    free(nodes);
    return best;
}

/* Of fewer samples nothing is said. */
#define LEAST_SAMPLES 5

static int is_much(const struct rule_run *r, const struct lead_time *t, const struct rule_data *d)
{
    return t->samples >= LEAST_SAMPLES && lead_time_share(t, d) > rule_threshold(r, "share");
}

/* ---- garbage collection ---- */

/* CPython's collector, by version. */
static const struct place_match collector[] = {{"gc_collect_main", NULL, NULL},
                                               {"gc_collect_region", NULL, NULL},
                                               {"gc_collect_generations", NULL, NULL},
                                               {"collect_generations", NULL, NULL},
                                               {"gc_collect_with_callback", NULL, NULL},
                                               {"_PyGC_Collect", NULL, NULL},
                                               {"_Py_RunGC", NULL, NULL},
                                               {"deduce_unreachable", NULL, NULL},
                                               {"gc_collect_young", NULL, NULL},
                                               {"gc_collect_increment", NULL, NULL},
                                               {"gc_collect_full", NULL, NULL}};

void check_python_gc(struct rule_run *r, const struct rule_data *d)
{
    struct words w = {0};
    struct lead_time t;
    struct finding *x;
    uint32_t caller = 0;

    time_in(&t, d, collector, ARRAY_SIZE(collector), 0, 0);
    if (is_much(r, &t, d)) {
        x = rule_found(r);
        x->weight = RULE_WEIGHT_CAUSE;
        finding_of_lead(x, &t, d);
        caller = places_hot(&d->places, &t.where, 0.5, NULL);
        finding_at(x, d, &t.where, caller);
        x->title = mem_printf("Python's garbage collector takes %s of %s",
                              words_share(&w, lead_time_share(&t, d)), lead_noun_in(d));
        x->evidence = mem_printf("%s in the collector: about %s%s%s.", words_plural(&w, t.samples, "sample"),
                                 words_ns(&w, t.ns), x->line ? ", mostly from " : "", x->line ? x->line : "");
        x->advice = mem_strdup("gc.freeze() after start-up, a higher gc.set_threshold(), or gc.disable() "
                               "with gc.collect() between "
                               "steps; fewer objects that are made and kept in each step.");
    }
    lead_time_release(&t);
}

/* ---- late compilation ---- */

enum { START_OTHER = 5 /* samples */ };

static const struct place_match compilers[] = {
    {NULL, "torch/_dynamo/convert_frame.py", NULL},
    {NULL, "torch/_inductor/compile_fx.py", NULL},
    {NULL, "torch/_inductor/codecache.py", NULL},
    {NULL, "triton/compiler/compiler.py", NULL},
    {NULL, "triton/runtime/autotuner.py", NULL},
    {NULL, "jax/_src/compiler.py", NULL},
    {NULL, "numba/core/dispatcher.py", NULL},
    {"compile", "tensorflow/python/eager/polymorphic_function/tracing_compilation.py", NULL},
    {"cuModuleLoadData", NULL, NULL},
    {"cuModuleLoadDataEx", NULL, NULL},
    {"cuLibraryLoadData", NULL, NULL},
    {"nvrtcCompileProgram", NULL, NULL}};

/* The nearest Python function of a stack; a node, 0: none. */
static uint32_t python_of(const struct rule_data *d, uint32_t node)
{
    for (const struct place *x; (x = places_get(&d->places, node)) && x->kind != FRAME_PYTHON;)
        node = stacks_get(&d->places.tree, node)->parent;
    return node;
}

static int imports(const struct places *p, const struct place *x, void *arg)
{
    return python_file_is_importer(strtab_get(&p->s->strings, x->file));
}

static int is_importer(const struct rule_data *d, uint32_t node)
{
    const struct place *x = places_get(&d->places, node);

    return x && imports(&d->places, x, NULL);
}

/* However long they took: what it does besides is more than a few samples then, and a tenth of all. */
uint64_t imports_over(const struct rule_data *d)
{
    uint8_t *under = places_match_by(&d->places, imports, NULL);
    uint64_t at = d->start;
    size_t other = 0;

    for (size_t i = 0; i < d->lead.samples.n; i++) {
        const struct event *ev = &d->s->store.events.a[d->lead.samples.a[i]];

        if (ev->stack > d->s->store.stacks.nodes.n)
            continue;
        if (under[ev->stack])
            at = ev->ts + 1;
        else if (python_of(d, d->places.node_of[ev->stack]))
            other++;
        if (other > START_OTHER && other > (i + 1) / 10)
            break;
    }
    free(under);
    return at;
}

/* Of a stack that is in an import: nodes. */
struct import {
    uint32_t asker;  /* the program's own function that asked for it, else whoever did */
    uint32_t module; /* what was asked for: its code, as far as that began to run */
};

static int is_module(const struct rule_data *d, uint32_t node)
{
    const struct place *x = places_get(&d->places, node);

    return x && x->kind == FRAME_PYTHON && !strcmp(strtab_get(&d->s->store.strings, x->func), "<module>");
}

static int is_library(const struct rule_data *d, uint32_t node)
{
    const struct place *x = places_get(&d->places, node);
    const char *file = x ? strtab_get(&d->s->store.strings, x->file) : "";

    return python_file_is_package(file) || python_file_is_standard(file);
}

static uint32_t outward(const struct rule_data *d, uint32_t node)
{
    return python_of(d, stacks_get(&d->places.tree, node)->parent);
}

/* The outermost import of a stack; what the code of the program's own modules calls is none: it would be done
 * wherever they are imported. */
static struct import import_of(const struct rule_data *d, uint32_t stack)
{
    uint32_t inner = python_of(d, d->places.node_of[stack]), module = 0, importer = 0;
    struct import x = {0};

    for (uint32_t node = inner; node; node = outward(d, node)) {
        if (is_module(d, node))
            module = node;
        if (!is_importer(d, node))
            continue;
        importer = node;
        x.module = module;
    }
    if (!importer || (x.module && !is_library(d, x.module) && !is_importer(d, inner) && !is_module(d, inner)))
        return (struct import){0};
    x.asker = outward(d, importer);
    for (uint32_t node = x.asker; node; node = outward(d, node))
        if (!is_library(d, node)) {
            x.asker = node;
            break;
        }
    return x;
}

/* "torch" of ".../torch/__init__.py", "queue" of ".../queue.py". Appended. */
static void module_name(const struct rule_data *d, uint32_t node, struct buf *out)
{
    const struct place *x = places_get(&d->places, node);
    const char *file = x ? strtab_get(&d->s->store.strings, x->file) : "", *end = strrchr(file, '/');
    const char *base = end ? end + 1 : file;

    if (end && end > file && !strcmp(base, "__init__.py")) {
        for (base = end; base > file && base[-1] != '/';)
            base--;
        buf_add(out, base, (size_t)(end - base));
        return;
    }
    end = strrchr(base, '.');
    buf_add(out, base, end && end > base ? (size_t)(end - base) : strlen(base));
}

/* Samples and waits of the main thread in imports from then on. */
static void import_time(struct lead_time *t, const struct rule_data *d, const uint8_t *stacks, uint64_t from)
{
    lead_time_init(t, d);
    lead_time_samples(t, d, stacks, from);
    for (size_t i = 0; i < d->lead.spans.n; i++) {
        const struct lead_span *x = &d->lead.spans.a[i];
        uint32_t stack = lead_event(d, x)->stack;

        if (x->kind == LEAD_WAIT && x->start >= from && stack <= d->s->store.stacks.nodes.n && stacks[stack])
            lead_time_wait(t, d, i);
    }
}

static void tell_imports(struct finding *x, const struct rule_data *d, const struct lead_time *t, double warm,
                         uint32_t module, uint32_t asker)
{
    struct buf name = {0};
    struct words w = {0};

    if (module)
        module_name(d, module, &name);
    x->weight = RULE_WEIGHT_CAUSE;
    finding_of_lead(x, t, d);
    finding_at(x, d, &t->where, asker);
    x->title = name.len && asker ? mem_printf("%s is imported long after the start, in %s", buf_str(&name),
                                              places_func(&d->places, asker))
               : name.len        ? mem_printf("%s is imported long after the start", buf_str(&name))
                                 : mem_strdup("Modules are still imported long after the start");
    x->evidence = mem_printf("%s and %s after the first %s of the run are in imports, about %s%s%s%s%s.",
                             words_plural(&w, t->samples, "sample"), words_plural(&w, t->waits, "wait"),
                             words_share(&w, warm), words_ns(&w, t->ns), name.len ? ", mostly of " : "",
                             buf_str(&name), x->line ? ", asked for by " : "", x->line ? x->line : "");
    x->advice = mem_strdup("Import at the start what is used in each step; python3 -X importtime lists what "
                           "each module takes; a "
                           "shorter sys.path and compiled .pyc files on a local disk make it cheaper.");
    buf_release(&name);
}

static void find_late_imports(struct rule_run *r, const struct rule_data *d, double warm)
{
    size_t n = d->s->store.stacks.nodes.n;
    uint32_t *askers = mem_calloc(n + 1, sizeof(*askers)), *modules = mem_calloc(n + 1, sizeof(*modules));
    uint8_t *stacks = mem_calloc(n + 1, 1);
    uint64_t from = d->start + (uint64_t)(warm * (double)d->wall_ns), over = imports_over(d);
    struct lead_time t;

    for (uint32_t i = 1; i <= n; i++) {
        struct import x = import_of(d, i);

        askers[i] = x.asker;
        modules[i] = x.module;
        stacks[i] = x.asker != 0;
    }
    import_time(&t, d, stacks, from > over ? from : over);
    if (is_much(r, &t, d))
        tell_imports(rule_found(r), d, &t, warm, most_of(d, &t, modules), most_of(d, &t, askers));
    lead_time_release(&t);
    free(stacks);
    free(askers);
    free(modules);
}

void check_late_compile(struct rule_run *r, const struct rule_data *d)
{
    double warm = rule_threshold(r, "warm-up");
    struct words w = {0};
    struct lead_time t;

    time_in(&t, d, compilers, ARRAY_SIZE(compilers), 0, d->start + (uint64_t)(warm * (double)d->wall_ns));
    if (is_much(r, &t, d)) {
        struct finding *x = rule_found(r);

        x->weight = RULE_WEIGHT_CAUSE;
        finding_of_lead(x, &t, d);
        finding_at(x, d, &t.where, worst(d, &t, compilers, ARRAY_SIZE(compilers)));
        x->title = mem_strdup("Code is still compiled or loaded long after the start");
        x->evidence = mem_printf("%s after the first %s of the run, about %s, in %s.",
                                 words_plural(&w, t.samples, "sample"), words_share(&w, warm),
                                 words_ns(&w, t.ns), x->line ? x->line : "compilers and loaders");
        x->advice = mem_strdup("Warm up with every shape that will occur, mark dimensions that change as "
                               "dynamic, keep the compiler's "
                               "cache between runs, load modules at the start (CUDA_MODULE_LOADING=EAGER).");
    }
    lead_time_release(&t);
    find_late_imports(r, d, warm);
}

/* ---- checkpoints ---- */

static const struct place_match savers[] = {
    {"save", "torch/serialization.py", NULL},
    {"_save", "torch/serialization.py", NULL},
    {"save_pretrained", NULL, NULL},
    {"save_checkpoint", NULL, NULL},
    {"_save_checkpoint", NULL, NULL},
    {"save_file", "safetensors/torch.py", NULL},
    {"save_state_dict", NULL, NULL},
    {"save", "torch/distributed/checkpoint/state_dict_saver.py", NULL}};

void check_checkpoint(struct rule_run *r, const struct rule_data *d)
{
    struct words w = {0};
    struct lead_time t;

    time_in(&t, d, savers, ARRAY_SIZE(savers), 1, 0);
    if ((double)t.ns > rule_threshold(r, "seconds") * 1e9 ||
        lead_time_share(&t, d) > rule_threshold(r, "share")) {
        struct finding *x = rule_found(r);

        x->weight = RULE_WEIGHT_CAUSE;
        finding_of_lead(x, &t, d);
        finding_at(x, d, &t.where, worst(d, &t, savers, ARRAY_SIZE(savers)));
        x->title = mem_printf("%s saves checkpoints", lead_noun(d));
        x->evidence = mem_printf("%s on the CPU and %s waiting in %s.", words_ns(&w, t.sample_ns),
                                 words_ns(&w, t.wait_ns), x->line ? x->line : "the functions that save");
        x->advice = mem_strdup("Save less often, asynchronously (torch.distributed.checkpoint.async_save), "
                               "in shards, or to a faster "
                               "disk first.");
    }
    lead_time_release(&t);
}

/* ---- ways to use several GPUs ---- */

static uint64_t seen(const struct rule_data *d, const struct place_match *m, size_t n)
{
    uint8_t *stacks = places_match(&d->places, m, n);
    uint64_t samples = 0;

    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if ((ev->kind == EVENT_SAMPLE || ev->kind == EVENT_OFFCPU) &&
            ev->stack <= d->s->store.stacks.nodes.n && stacks[ev->stack])
            samples += ev->value;
    }
    free(stacks);
    return samples;
}

static size_t gpus(const struct graph *g)
{
    size_t n = 0;

    for (size_t i = 0; g && i < g->nodes.n; i++)
        n += g->nodes.a[i]->kind == GRAPH_GPU;
    return n;
}

void check_data_parallel(struct rule_run *r, const struct rule_data *d)
{
    static const struct place_match dp[] = {{NULL, "torch/nn/parallel/data_parallel.py", NULL},
                                            {NULL, "torch/nn/parallel/parallel_apply.py", NULL}};
    static const struct place_match gloo[] = {{NULL, NULL, "libgloo"}};
    uint64_t n = seen(d, dp, ARRAY_SIZE(dp));
    struct finding *x;

    if (n) {
        x = rule_found(r);
        x->severity = FINDING_MEDIUM;
        x->title = mem_strdup("nn.DataParallel is in use");
        x->evidence = mem_printf("%llu samples and waits are in it.", (unsigned long long)n);
        x->advice = mem_strdup("DistributedDataParallel with NCCL has a process for each GPU, and no copies "
                               "of the model in each "
                               "step.");
        x->why = mem_strdup("its functions are on the stacks; what it costs is not measured");
    }
    n = gpus(d->topology) ? seen(d, gloo, 1) : 0;
    if (n) {
        x = rule_found(r);
        x->severity = FINDING_MEDIUM;
        x->title = mem_strdup("Gloo does the communication of a run on GPUs");
        x->evidence = mem_printf("%llu samples and waits are in it; the machine has %zu GPUs.",
                                 (unsigned long long)n, gpus(d->topology));
        x->advice = mem_strdup("init_process_group(\"nccl\").");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("it may be meant for tensors on the CPU");
    }
}

/* ---- forking after threads ---- */

void check_fork_tokenizers(struct rule_run *r, const struct rule_data *d)
{
    static const struct place_match lib[] = {{NULL, NULL, "tokenizers"}};
    const struct store *s = &d->s->store;
    uint8_t *stacks = places_match(&d->places, lib, 1);
    uint8_t *has = mem_calloc(s->tasks.list.n + 1, 1);
    uint32_t parent = 0;
    size_t children = 0;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->stack && ev->stack <= s->stacks.nodes.n && stacks[ev->stack] && ev->task &&
            ev->task <= s->tasks.list.n)
            has[s->tasks.list.a[ev->task - 1].leader <= s->tasks.list.n ? s->tasks.list.a[ev->task - 1].leader
                                                                        : 0] = 1;
    }
    for (size_t i = 0; i < s->tasks.list.n; i++) {
        const struct task *t = &s->tasks.list.a[i];

        if (t->pid == t->tid && t->parent && t->parent <= s->tasks.list.n && has[t->parent] && !t->image) {
            parent = t->parent;
            children++;
        }
    }
    if (children) {
        struct finding *x = rule_found(r);
        struct buf name = {0};

        lead_name(s, parent, &name);
        x->process = buf_detach(&name);
        x->severity = FINDING_LOW;
        x->title = mem_strdup("Processes were forked from one that uses the tokenizers library");
        x->evidence = mem_printf("%s has its threads and started %zu processes.", x->process, children);
        x->advice = mem_strdup(
            "Set TOKENIZERS_PARALLELISM, load the tokenizer in the workers, or start them by spawn.");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup(
            "its functions are on the stacks of the parent; whether the children use it is not known");
    }
    free(stacks);
    free(has);
}
