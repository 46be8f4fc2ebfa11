/* SPDX-License-Identifier: Apache-2.0 */
/* Row 21: the training loop waits for what its data loader's workers prepare. */
#include "analyze/rules/chase.h"

/* A share of the chains that is enough to speak of them; less is filled up with the children's samples. */
#define TOLD_LEAST 0.3
#define HOT_LEAST  0.5
/* So much of the CPUs in use: more workers would not help. */
#define CPUS_FULL 0.9

/* Where a loop asks for its next batch: PyTorch, TensorFlow, MXNet's. */
static const struct place_match loaders[] = {
    {"__next__", "torch/utils/data/dataloader.py", NULL},
    {"_next_data", "torch/utils/data/dataloader.py", NULL},
    {"_get_data", "torch/utils/data/dataloader.py", NULL},
    {"__next__", "tensorflow/python/data/ops/iterator_ops.py", NULL},
    {"__next__", "mxnet/gluon/data/dataloader.py", NULL},
    {"__next__", "webdataset/pipeline.py", NULL},
    {"__next__", "grain/_src/python/dataset/transformations/prefetch.py", NULL},
};

/* Where it asks for the next result of a pool, which may be of threads. */
static const struct place_match pools[] = {
    {"next", "multiprocessing/pool.py", NULL},
    {"__next__", "multiprocessing/pool.py", NULL},
    {"result_iterator", "concurrent/futures/_base.py", NULL},
};

/* Loading without workers: the main thread prepares the batch itself. */
static const struct place_match alone[] = {{"fetch", "torch/utils/data/_utils/fetch.py", NULL}};

/* What workers run in whatever they do: no function that anybody could make cheaper. */
static const struct place_match machinery[] = {{NULL, "torch/utils/data/dataloader.py", NULL},
                                               {NULL, "torch/utils/data/_utils/worker.py", NULL},
                                               {NULL, "torch/utils/data/_utils/fetch.py", NULL},
                                               {NULL, "torch/utils/data/_utils/pin_memory.py", NULL},
                                               {NULL, "multiprocessing/process.py", NULL},
                                               {NULL, "multiprocessing/popen_fork.py", NULL},
                                               {NULL, "multiprocessing/pool.py", NULL},
                                               {NULL, "multiprocessing/spawn.py", NULL},
                                               {NULL, "multiprocessing/context.py", NULL},
                                               {NULL, "multiprocessing/forkserver.py", NULL},
                                               {NULL, "concurrent/futures/process.py", NULL},
                                               {NULL, "concurrent/futures/thread.py", NULL},
                                               {NULL, "threading.py", NULL}};

/* How workers get what they work on, and give back what they made. */
static const struct place_match transport[] = {{NULL, "multiprocessing/queues.py", NULL},
                                               {NULL, "multiprocessing/connection.py", NULL},
                                               {NULL, "multiprocessing/reduction.py", NULL},
                                               {NULL, "multiprocessing/synchronize.py", NULL}};

/* One of their functions is named that has so much of what they do for itself. */
#define OWN_LEAST 0.25

struct loader {
    struct lead_time time;
    struct chase chase;
    uint32_t hot; /* a node: what the workers, or the main thread itself, were in */
    uint64_t hot_ns;
    int in_main; /* there are no workers */
    int by_children;
    int pool;     /* it is a pool of workers, for whatever */
    double moved; /* the share of their time in which workers wait for what is moved, or move it */
};

static void measure(struct loader *x, const struct rule_data *d, const struct place_match *frames, size_t n)
{
    uint8_t *stacks = places_match(&d->places, frames, n);
    uint8_t *fetch = places_match(&d->places, alone, ARRAY_SIZE(alone));
    uint64_t fetched = 0;

    lead_time_init(&x->time, d);
    chase_init(&x->chase, d);
    lead_time_stacks(&x->time, d, stacks);
    for (size_t i = 0; i < d->lead.spans.n; i++) {
        uint32_t stack = lead_event(d, &d->lead.spans.a[i])->stack;

        if (stack <= d->s->store.stacks.nodes.n && stacks[stack] && d->lead.spans.a[i].kind == LEAD_WAIT)
            chase_wait(&x->chase, d, i);
    }
    for (size_t i = 1; i <= d->s->store.stacks.nodes.n; i++)
        fetched += fetch[i] ? x->time.where.of[i] : 0;
    x->in_main = fetched > x->time.where.sum / 2;
    free(stacks);
    free(fetch);
}

static double share_in(const struct place_time *t, const struct rule_data *d, const struct place_match *m,
                       size_t n)
{
    uint8_t *stacks = places_match(&d->places, m, n);
    uint64_t sum = 0;

    for (size_t i = 1; i <= d->s->store.stacks.nodes.n; i++)
        sum += stacks[i] ? t->of[i] : 0;
    free(stacks);
    return t->sum ? (double)sum / (double)t->sum : 0;
}

static void find_hot(struct loader *x, const struct rule_data *d)
{
    if (x->in_main) {
        x->hot = places_hot(&d->places, &x->time.where, HOT_LEAST, &x->hot_ns);
        return;
    }
    if (x->chase.other_process < TOLD_LEAST * (double)x->chase.asked) {
        chase_release(&x->chase);
        chase_init(&x->chase, d);
        chase_children(&x->chase, d);
        x->by_children = 1;
    }
    x->moved = share_in(&x->chase.where, d, transport, ARRAY_SIZE(transport));
    x->hot = places_hot(&d->places, &x->chase.where, HOT_LEAST, &x->hot_ns);
    if (places_is(&d->places, x->hot, transport, ARRAY_SIZE(transport)))
        x->hot = 0;
    if (x->hot && !places_is(&d->places, x->hot, machinery, ARRAY_SIZE(machinery)))
        return;
    x->hot = places_top(&d->places, &x->chase.where, &x->hot_ns);
    if ((double)x->hot_ns < OWN_LEAST * (double)x->chase.where.sum ||
        places_is(&d->places, x->hot, machinery, ARRAY_SIZE(machinery)) ||
        places_is(&d->places, x->hot, transport, ARRAY_SIZE(transport)))
        x->hot = 0;
}

/* Who works for the pool are threads, or nobody is known: that is told as any wait for another thread. */
static int is_of_threads(const struct loader *x)
{
    if (!x->by_children)
        return x->chase.other_process <= x->chase.told / 2;
    return !x->chase.where.sum;
}

static void advise(struct finding *x, const struct loader *l, const struct rule_data *d, const char *func)
{
    double busy = cpus_busy(d);
    unsigned cpus = d->s->meta.ncpus;

    if (l->in_main)
        x->advice = mem_printf(
            "Load in worker processes (DataLoader's num_workers), or make %s cheaper: it runs in the "
            "training loop's own thread.",
            func);
    else if (l->moved > HOT_LEAST)
        x->advice =
            mem_strdup("What goes to the workers and back takes the time, or they have nothing to do: "
                       "fewer and larger tasks (chunksize), arrays or shared memory instead of lists "
                       "of objects.");
    else if (!*func)
        x->advice = mem_strdup("Look at the workers: wprof show --by process, and wprof show --waits.");
    else if (cpus && busy > CPUS_FULL * cpus)
        x->advice = mem_printf(
            "Make %s cheaper (whole-array operations, caching, a compiled library): %.1f of %u CPUs are in "
            "use, more workers would share them.",
            func, busy, cpus);
    else if (cpus && busy > 0)
        x->advice = mem_printf(
            "Make %s cheaper (whole-array operations, caching, a compiled library), or start more workers: "
            "%.1f of %u CPUs are in use.",
            func, busy, cpus);
    else
        x->advice =
            mem_printf("Make %s cheaper (whole-array operations, caching, a compiled library), or start more "
                       "workers.",
                       func);
}

static void tell(struct finding *x, const struct loader *l, const struct rule_data *d)
{
    const struct place_time *where = l->in_main ? &l->time.where : &l->chase.where;
    const char *func = places_func(&d->places, l->hot);
    double hot = where->sum ? (double)l->hot_ns / (double)where->sum : 0;
    struct buf workers = {0}, text = {0};
    struct words w = {0};
    size_t n = l->in_main ? 0 : chase_name(&l->chase, d, &workers);

    finding_of_lead(x, &l->time, d);
    finding_at(x, d, where, l->hot);
    if (l->in_main)
        x->title = mem_printf("%s loads its data itself, in %s", lead_noun(d), *func ? func : "many places");
    else if (*func)
        x->title = mem_printf("%s waits for its %s are in %s", lead_noun(d),
                              l->pool ? "pool's workers, which" : "data loader, whose workers", func);
    else
        x->title =
            mem_printf("%s waits for its %s", lead_noun(d), l->pool ? "pool's workers" : "data loader");
    buf_addf(&text, "%s of %s are in the %s: %s waited in %s", words_ns(&w, l->time.ns),
             words_ns(&w, d->wall_ns), l->pool ? "pool" : "loader", words_ns(&w, l->time.wait_ns),
             words_plural(&w, l->time.waits, "wait"));
    if (l->time.sample_ns)
        buf_addf(&text, ", %s on the CPU", words_ns(&w, l->time.sample_ns));
    buf_addch(&text, '.');
    if (!l->in_main && l->moved > HOT_LEAST)
        buf_addf(&text,
                 " For %s of what was seen of the workers they wait for what is sent, or unpack or "
                 "pack it.",
                 words_share(&w, l->moved));
    if (l->hot && n)
        buf_addf(&text, " Meanwhile %s %s %s in %s for %s of what was seen of %s.",
                 n == 1 ? "the worker" : "the workers", buf_str(&workers), n == 1 ? "was" : "were", x->line,
                 words_share(&w, hot), n == 1 ? "it" : "them");
    else if (l->hot)
        buf_addf(&text, " %s of it in %s.", words_share(&w, hot), x->line);
    x->evidence = buf_detach(&text);
    advise(x, l, d, func);
    x->weight = RULE_WEIGHT_CAUSE;
    x->certainty = l->by_children || !l->hot ? FINDING_LIKELY : FINDING_MEASURED;
    x->why = mem_strdup(
        l->by_children
            ? "who ended the waits is not known: the workers are the processes that this one started"
            : "the chain of who woke whom leads from each wait to the workers");
    if (l->in_main) {
        free(x->why);
        x->why = mem_strdup("the main thread's own samples and waits");
    }
    buf_release(&workers);
}

static void check_frames(struct rule_run *r, const struct rule_data *d, const struct place_match *frames,
                         size_t n, int pool)
{
    struct loader l = {.pool = pool};

    measure(&l, d, frames, n);
    if (lead_time_share(&l.time, d) > rule_threshold(r, "share")) {
        find_hot(&l, d);
        if (!pool || !is_of_threads(&l))
            tell(rule_found(r), &l, d);
    }
    lead_time_release(&l.time);
    chase_release(&l.chase);
}

void check_loader_wait(struct rule_run *r, const struct rule_data *d)
{

    if (!(d->has & (NEED_OFFCPU | NEED_SAMPLES))) {
        rule_not_checked(r, "needs samples or waits: %s", rule_need_help(NEED_OFFCPU));
        return;
    }
    check_frames(r, d, loaders, ARRAY_SIZE(loaders), 0);
    check_frames(r, d, pools, ARRAY_SIZE(pools), 1);
}
