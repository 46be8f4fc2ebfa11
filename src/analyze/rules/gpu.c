/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/rules/gpu.h"

#include "analyze/gpu_blame.h"
#include "analyze/gpu_unseen.h"

#include <math.h>
#include <stdlib.h>

void gpu_views(struct rule_run *r, const struct rule_data *d, gpu_view_check check, const char *of_many)
{
    size_t before = r->out->list.n;

    for (size_t i = 0; i < d->gpu->devices.n; i++) {
        struct gpu_view v = {.t = d->gpu, .d = &d->gpu->devices.a[i], .f = d->figures[i]};

        v.slots = gpu_slots(v.t, v.d->first, v.d->n);
        check(r, d, &v);
        free(v.slots);
    }
    gpu_gather(r, d, before, of_many);
}

struct finding *gpu_found(struct rule_run *r, const struct gpu_view *v)
{
    struct finding *x = rule_found(r);
    struct buf b = {0};

    gpu_device_label(v->d, &b);
    x->device = buf_detach(&b);
    if (gpu_unseen_lost(v->t->s)) {
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("records were lost: what they told of counts as idle");
    }
    return x;
}

uint64_t gpu_gaps(struct finding *x, const struct gpu_view *v, enum gpu_idle why, uint64_t least, size_t *n)
{
    uint64_t busy_to = 0, sum = 0;
    uint32_t at = 0;
    struct gpu_gap gap;

    while (gpu_gap_next(v->t, v->slots, v->d->n, &at, &busy_to, &gap)) {
        if ((why != GPU_IDLE_CAUSES && gap.why != why) || gap.end - gap.start < least)
            continue;
        if (x)
            finding_claim(x, gap.start, gap.end, gap.end - gap.start);
        sum += gap.end - gap.start;
        if (n)
            ++*n;
    }
    return sum;
}

enum { BLAME_ROWS = 50 };

static const union table_cell *cell(const struct table *t, size_t row, const char *key)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!strcmp(t->columns[i].key, key))
            return &t->cells.a[row * t->ncolumns + i];
    return NULL;
}

#define LOADER_ADVICE                                                                                        \
    "Have the next batch ready: more loader workers (num_workers), prefetch_factor, persistent_workers, "    \
    "pin_memory with non_blocking=True; and make what they do for a batch cheaper."
#define CHECKPOINT_ADVICE "Save less often, or in the background from a copy, while the device computes on."

/* By how states of gpu_blame.h begin; the others are none of what a thread does in a gap. did: "in" follows.
 */
static const struct {
    const char *state, *did, *advice;
} by_state[] = {
    {"off CPU", "was off the CPU in",
     "Have ready what that thread waits for: more loader workers, prefetching, pinned memory and "
     "non_blocking=True; who it waits for: wprof show --waits."},
    {"queued", "waited for a CPU in",
     "Give that thread a CPU: fewer threads beside it, fewer processes, CPUs of its own."},
    {"GIL", "waited for Python's GIL in",
     "Keep other Python threads off the GIL: processes instead of threads, code that releases it."},
    {"on CPU", "was on the CPU in",
     "Less work on the CPU for each launch: CUDA graphs, torch.compile, larger batches; see the "
     "function that is named."},
    {"in a call", "was in a call in",
     "Less work on the CPU for each launch: CUDA graphs, torch.compile, larger batches; see the "
     "function that is named."},
    {"asking", "was asking, in",
     "Fewer calls: CUDA graphs, torch.compile, larger batches; a call that launches may wait for a "
     "full queue, or for a lock that another thread has."},
};

/* ARRAY_SIZE(by_state): none of them. */
static size_t of_state(const char *state)
{
    size_t i = 0;

    for (; i < ARRAY_SIZE(by_state); i++) {
        size_t n = strlen(by_state[i].state);

        if (!strncmp(state, by_state[i].state, n) && (!state[n] || state[n] == ':'))
            break;
    }
    return i;
}

static void spell(struct buf *text, const struct table *t, size_t row, enum gpu_idle why)
{
    const char *thread = cell(t, row, "thread")->text, *caller = cell(t, row, "caller")->text;
    const char *by = cell(t, row, "by")->text, *meanwhile = cell(t, row, "meanwhile")->text;
    const char *state = cell(t, row, "state")->text;
    struct words w = {0};

    buf_addf(text, " For %s of %s (%s) the thread that asked for what ran next, %s, %s %s",
             words_share(&w, cell(t, row, "share")->share), why == GPU_IDLE_HOST ? "that" : "its idle time",
             words_ns(&w, cell(t, row, "ns")->count), thread ? thread : "not known",
             by_state[of_state(state)].did, cell(t, row, "where")->text);
    if (strchr(state, ':'))
        buf_addf(text, " (%s)", strchr(state, ':') + 2);
    if (caller)
        buf_addf(text, ", called by %s", caller);
    if (by)
        buf_addf(text, ", until %s", by);
    if (meanwhile)
        buf_addf(text, ", which was in %s", meanwhile);
    buf_addch(text, '.');
}

/* What is known by a name in the stack, whatever the thread did there. */
static const struct {
    const char *name, *advice;
} by_name[] = {
    {"DataLoader", LOADER_ADVICE},          {"next_batch", LOADER_ADVICE},
    {"load_batch", LOADER_ADVICE},          {"get_batch", LOADER_ADVICE},
    {"torch.save", CHECKPOINT_ADVICE},      {"save_checkpoint", CHECKPOINT_ADVICE},
    {"save_pretrained", CHECKPOINT_ADVICE},
};

static const char *advice_of(const char *where, const char *stack, const char *otherwise)
{
    for (size_t i = 0; i < ARRAY_SIZE(by_name); i++)
        if (strstr(where, by_name[i].name) || strstr(stack, by_name[i].name))
            return by_name[i].advice;
    return otherwise;
}

/* Of less than that of the idle time nothing follows. */
#define BLAME_LEAST 0.05

/* The first row that names a function, of those that tell what a thread did: of time in which nothing was
 * seen, or before which it had asked, there is nothing to say. */
const char *gpu_blame(struct finding *x, const struct rule_data *d, const struct gpu_view *v,
                      enum gpu_idle why, struct buf *text)
{
    const char *advice = NULL;
    struct words w = {0};
    struct table t;

    if (!d->host->s)
        gpu_host_init(d->host, &d->s->store);
    gpu_blame_device_table(&t, d->gpu, d->host, v->d, why, BLAME_ROWS);
    for (size_t i = 0; i < table_rows(&t) && !advice; i++) {
        size_t state = of_state(cell(&t, i, "state")->text);
        double part = cell(&t, i, "share")->share;

        if (!cell(&t, i, "where")->text || state == ARRAY_SIZE(by_state))
            continue;
        if (part < BLAME_LEAST) {
            buf_addf(text, " What the host did then is known of next to nothing of it (%s).",
                     words_share(&w, part));
            advice = "Record what the host does, too: wprof record, or the profiler with its CPU activities "
                     "and stacks (with_stack=True).";
            break;
        }
        advice = advice_of(cell(&t, i, "where")->text, cell(&t, i, "stack")->text, by_state[state].advice);
        spell(text, &t, i, why);
        x->line = mem_strdup(cell(&t, i, "where")->text);
        x->stack = mem_strdup(cell(&t, i, "stack")->text);
        if (cell(&t, i, "thread")->text)
            x->process = mem_printf("%s[%llu]", cell(&t, i, "thread")->text,
                                    (unsigned long long)cell(&t, i, "tid")->count);
    }
    table_release(&t);
    return advice;
}

size_t gpu_steps(const struct rule_data *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->units.list.n; i++)
        n += d->units.list.a[i].kind == d->step_kind;
    return n;
}

const struct gpu_work *gpu_work(const struct rule_data *d, const struct event *ev)
{
    return ev->kind == EVENT_GPU ? gpu_works_get(&d->s->store.gpus, ev->attr) : NULL;
}

const char *gpu_name(const struct rule_data *d, const struct gpu_work *w)
{
    return strtab_get(&d->s->store.strings, w->name);
}

void gpu_at(struct finding *x, const struct rule_data *d, const struct place_time *t)
{
    uint64_t self;
    uint32_t node = places_hot(&d->places, t, 0.5, NULL);

    finding_at(x, d, t, node ? node : places_top(&d->places, t, &self));
}
