/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/fold.h"

#include "analyze/fold_bytes.h"
#include "analyze/fold_frames.h"
#include "analyze/fold_spans.h"
#include "analyze/wake_chain.h"
#include "model/profile_index.h"
#include "model/quality.h"

#include <string.h>

/* What of an event counts. */
enum weighs {
    BY_LENGTH, /* spans their time, samples how many they are */
    BY_BYTES,  /* allocations */
    BY_PEAK,   /* the same, of what was there when there was the most */
    BY_SELF,   /* of a span what is in no other one: fold_spans.h */
};

struct metric_kind {
    const char *name, *unit;
    enum event_kind kind;
    const char
        *by;    /* who ended the wait, or held what was waited for, and where: below this; NULL: left out */
    int chains; /* and what they did meanwhile, below that */
    enum weighs weighs;
};

static const struct metric_kind metric_kinds[] = {
    {"oncpu", "samples", EVENT_SAMPLE, NULL},
    {"offcpu", "ns", EVENT_OFFCPU, NULL},
    {"waker", "ns", EVENT_OFFCPU, "[woken by]", 1},
    {"runq", "ns", EVENT_RUNQ, NULL},
    {"gil", "ns", EVENT_GIL, WAIT_HELD_BY},
    {"gpu", "ns", EVENT_GPU, NULL},
    {"alloc", "bytes", EVENT_GPU, NULL, .weighs = BY_BYTES},
    {"alloc-peak", "bytes", EVENT_GPU, NULL, .weighs = BY_PEAK},
    {"spans", "ns", EVENT_GPU, NULL, .weighs = BY_SELF},
};

/* Some of an event's weight that stands elsewhere than the rest. */
struct piece {
    uint32_t event, node;
    uint64_t ns;
};

struct builder {
    struct profile *p;
    const struct store *s;
    const struct fold_opts *o;
    const struct metric_kind *metric;
    uint64_t start, from, to; /* of the session, of the part that is wanted: CLOCK_MONOTONIC */
    struct fold_frames frames;
    struct index children; /* of nodes, by index; unused where every stack is a node of its own */
    VEC(uint64_t) self;    /* one per node */
    uint32_t *root;        /* task id -> its node + 1; [0]: events of no task */
    uint32_t *node_of;     /* stack id -> node, under the root in work; 0: not made yet */
    VEC(uint32_t) touched; /* stacks with a node there */
    uint32_t *event_node;  /* with samples: event -> node + 1; 0: it is not wanted */
    uint32_t *leaf_of;     /* of what was asked of a GPU: work -> frame + 1 */
    uint64_t *self_of;     /* BY_SELF: of each event; else NULL */
    uint8_t *at_peak;      /* BY_PEAK: which events count, a bit each */
    struct wake_chain chain;
    struct map under;         /* {node, stack} -> the stack's node below it, where chains go */
    VEC(struct piece) pieces; /* parts of waits that stand below their waker, by event */
};

/* ---- nodes ---- */

static uint32_t new_node(struct builder *b, uint32_t parent, uint32_t frame)
{
    *vec_push(&b->p->nodes) = (struct profile_node){.parent = parent, .frame = frame};
    *vec_push(&b->self) = 0;
    return (uint32_t)b->p->nodes.n - 1;
}

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t frame)
{
    uint32_t id = profile_index_find(&b->children, b->p, parent, frame);

    if (id)
        return id;
    id = new_node(b, parent, frame);
    profile_index_add(&b->children, b->p, id);
    return id;
}

/* The node of a stack under `root`. Makes those of its ancestors first. */
static uint32_t stack_node(struct builder *b, uint32_t root, uint32_t stack)
{
    const struct stack_node *nodes = b->s->stacks.nodes.a;
    size_t mark = b->touched.n;
    uint32_t node;

    for (; stack && !b->node_of[stack]; stack = nodes[stack - 1].parent)
        *vec_push(&b->touched) = stack;
    node = stack ? b->node_of[stack] : root;
    for (size_t i = b->touched.n; i-- > mark;) {
        uint32_t frame = nodes[b->touched.a[i] - 1].frame;
        const uint32_t *seq = b->frames.seq.a + b->frames.first[frame];

        if (b->frames.one_to_one) {
            node = new_node(b, node, seq[0]);
        } else {
            for (uint32_t k = 0; k < b->frames.n[frame]; k++)
                node = child_of(b, node, seq[k]);
        }
        b->node_of[b->touched.a[i]] = node;
    }
    return node;
}

/* ---- roots ---- */

static char *task_name(const struct builder *b, const struct task *t)
{
    return origins_task_name(b->s, t, "?");
}

/* A process's name tells host and rank where there are several; those of its threads stand below it. */
static uint32_t task_child(struct builder *b, uint32_t parent, const struct task *t, uint32_t id,
                           int is_thread)
{
    const char *comm = strtab_get(&b->s->strings, t->comm);
    char *name = is_thread ? mem_strdup(*comm ? comm : "?") : task_name(b, t),
         *with_id = b->o->pids ? mem_printf("%s (%u)", name, id) : NULL;
    uint32_t node = child_of(b, parent, fold_frames_task(&b->frames, with_id ? with_id : name));

    free(with_id);
    free(name);
    return node;
}

/* "java-1234", "java-1234/1235". The process of some imported threads is not known: "java-?". */
static uint32_t root_with_ids(struct builder *b, uint32_t parent, const struct task *leader,
                              const struct task *t)
{
    char *name = task_name(b, leader);
    struct buf text = {0};
    uint32_t node;

    buf_addf(&text, "%s-", name);
    free(name);
    if (leader->own_pid == TASK_PID_UNKNOWN)
        buf_addch(&text, '?');
    else
        buf_addf(&text, "%u", leader->ns_pid ? leader->ns_pid : leader->pid);
    if (b->o->tid_suffix)
        buf_addf(&text, "/%u", t->ns_tid ? t->ns_tid : t->tid);
    node = child_of(b, parent, fold_frames_task(&b->frames, text.data));
    buf_release(&text);
    return node;
}

/* Process leader's name, then the thread's where it differs. A task that is a root stands for its process. */
static uint32_t task_root(struct builder *b, uint32_t parent, uint32_t task)
{
    const struct tasks *tasks = &b->s->tasks;
    const struct task *t = &tasks->list.a[task - 1];
    const struct task *leader =
        !t->is_root && t->leader && t->leader <= tasks->list.n ? &tasks->list.a[t->leader - 1] : t;
    uint32_t node;

    if (b->o->pid_suffix || b->o->tid_suffix)
        node = root_with_ids(b, parent, leader, t);
    else
        node = task_child(b, parent, leader, leader->ns_pid ? leader->ns_pid : leader->pid, 0);
    if (leader != t && (b->o->pids || leader->comm != t->comm))
        node = task_child(b, node, t, t->ns_tid ? t->ns_tid : t->tid, 1);
    return node;
}

static uint32_t event_root(struct builder *b, const struct event *ev)
{
    uint32_t task = ev->task <= b->s->tasks.list.n && !b->o->no_tasks ? ev->task : 0;

    if (b->o->units) {
        const char *unit = strtab_get(&b->s->strings, b->o->units[ev - b->s->events.a]);
        uint32_t root = child_of(b, 0, fold_frames_marker(&b->frames, unit));

        return task ? task_root(b, root, task) : root;
    }
    if (!b->root[task])
        b->root[task] = (task ? task_root(b, 0, task) : 0) + 1;
    return b->root[task] - 1;
}

/* ---- events ---- */

static int task_wanted(const struct builder *b, uint32_t id)
{
    const struct task *t = id && id <= b->s->tasks.list.n ? &b->s->tasks.list.a[id - 1] : NULL;

    if (!b->o->pid && !b->o->tid)
        return 1;
    if (!t)
        return 0;
    return (!b->o->pid || t->pid == b->o->pid || t->ns_pid == b->o->pid) &&
           (!b->o->tid || t->tid == b->o->tid || t->ns_tid == b->o->tid);
}

/* Calls and what else is of the host are no GPU time. */
static int counts(const struct metric_kind *k, const struct gpu_work *w)
{
    if (k->weighs == BY_SELF)
        return fold_spans_counts(w);
    return k->weighs == BY_LENGTH ? gpu_on_device(w) : w->op == GPU_ALLOC;
}

static int gpu_counts(const struct metric_kind *k, const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = gpu_works_get(&s->gpus, ev->attr);

    return w && counts(k, w);
}

static int is_at_peak(const struct builder *b, const struct event *ev)
{
    size_t i = (size_t)(ev - b->s->events.a);

    return b->at_peak[i / 8] >> i % 8 & 1;
}

/* Of events that count. */
static unsigned kinds(const struct builder *b)
{
    return 1u << b->metric->kind | (b->o->idle_ns ? 1 << EVENT_OFFCPU | 1 << EVENT_RUNQ : 0);
}

static int wanted(const struct builder *b, const struct event *ev)
{
    if (!(event_kind_bit(ev->kind) & kinds(b)))
        return 0;
    if (ev->kind == EVENT_GPU && !gpu_counts(b->metric, b->s, ev))
        return 0;
    if ((b->at_peak && !is_at_peak(b, ev)) || (b->self_of && !ev->task))
        return 0;
    return ev->ts >= b->from && ev->ts < b->to && (!b->o->gil || ev->flags & EVENT_GIL_HELD) &&
           task_wanted(b, ev->task);
}

/* With time off the CPU among the samples: ns, until as_samples(). */
static uint64_t weight(const struct builder *b, const struct event *ev)
{
    if (b->self_of)
        return b->self_of[ev - b->s->events.a];
    if (b->metric->weighs != BY_LENGTH)
        return gpu_works_get(&b->s->gpus, ev->attr)->bytes;
    if (ev->kind != EVENT_SAMPLE)
        return ev->dur;
    return b->o->idle_ns ? ev->value * b->o->idle_ns : ev->value;
}

/* An event and where it stands in the tree: at its root first, at its node in the end. */
struct placed {
    uint32_t node, event;
};

/* By node; what has the same stays in order. */
static void sort_by_node(const struct builder *b, struct placed *list, size_t n)
{
    struct placed *from = mem_dup(list, n * sizeof(*list));
    size_t *first = mem_calloc(b->p->nodes.n + 1, sizeof(*first));

    for (size_t i = 0; i < n; i++)
        first[from[i].node + 1]++;
    for (size_t i = 1; i <= b->p->nodes.n; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < n; i++)
        list[first[from[i].node]++] = from[i];
    free(first);
    free(from);
}

static void forget_nodes(struct builder *b)
{
    for (size_t k = 0; k < b->touched.n; k++)
        b->node_of[b->touched.a[k]] = 0;
    vec_clear(&b->touched);
}

static uint32_t own_stack(const struct builder *b, const struct event *ev)
{
    return ev->stack <= b->s->stacks.nodes.n ? ev->stack : 0;
}

static uint32_t waker_stack(const struct builder *b, const struct event *ev)
{
    const struct wait *w = waits_of_event(&b->s->waits, ev);

    return w && w->waker_stack <= b->s->stacks.nodes.n ? w->waker_stack : 0;
}

/* From each event's root to the node of its stack; root by root, so that one array from stacks to nodes
 * serves them all. Where there is no stack, `none` is the frame; 0: it stays at its root. */
static void place(struct builder *b, struct placed *list, size_t n,
                  uint32_t (*stack_of)(const struct builder *b, const struct event *ev), uint32_t none)
{
    uint32_t root = n ? list[0].node : 0;
    int many = 0;

    for (size_t i = 0; i < n; i++)
        many |= list[i].node != root;
    if (many)
        sort_by_node(b, list, n);
    forget_nodes(b);
    for (size_t i = 0; i < n; i++) {
        uint32_t stack = stack_of(b, &b->s->events.a[list[i].event]);

        if (list[i].node != root)
            forget_nodes(b);
        root = list[i].node;
        if (stack)
            list[i].node = stack_node(b, root, stack);
        else if (none)
            list[i].node = child_of(b, root, none);
    }
}

/* Below where the event waited: by whom it was woken, or who held what it waited for. */
static uint32_t waker_root(struct builder *b, const struct placed *at)
{
    const struct event *ev = &b->s->events.a[at->event];
    const struct wait *w = waits_of_event(&b->s->waits, ev);
    uint32_t node;

    if (!w)
        return at->node;
    node = child_of(b, at->node, fold_frames_marker(&b->frames, b->metric->by));
    if (w->waker_task && w->waker_task <= b->s->tasks.list.n)
        return b->o->no_tasks ? node : task_root(b, node, w->waker_task);
    return w->waker_stack ? node : child_of(b, node, fold_frames_marker(&b->frames, WAIT_BY_UNKNOWN));
}

/* The stack's frames below `root`, frame by frame. */
static uint32_t stack_below(struct builder *b, uint32_t root, uint32_t stack)
{
    const struct stack_node *n = stacks_get(&b->s->stacks, stack);
    uint64_t key = (uint64_t)root << 32 | stack, *known;
    uint32_t node = root;

    if (!n)
        return root;
    known = map_get(&b->under, key);
    if (known)
        return (uint32_t)*known;
    node = stack_below(b, root, n->parent);
    for (uint32_t k = 0; k < b->frames.n[n->frame]; k++)
        node = child_of(b, node, b->frames.seq.a[b->frames.first[n->frame] + k]);
    *map_put(&b->under, key) = node;
    return node;
}

static uint32_t leaf_frame(struct builder *b, const struct gpu_work *w)
{
    struct buf text = {0};
    uint32_t frame;

    if (b->metric->weighs == BY_LENGTH)
        return fold_frames_gpu(&b->frames, w->name);
    fold_bytes_label(w, &text);
    frame = fold_frames_marker(&b->frames, buf_str(&text));
    buf_release(&text);
    return frame;
}

/* Below where it was asked for: what ran on the GPU, or whose memory it is. */
static uint32_t gpu_leaf(struct builder *b, uint32_t node, const struct event *ev)
{
    if (!b->leaf_of[ev->attr])
        b->leaf_of[ev->attr] = leaf_frame(b, gpu_works_get(&b->s->gpus, ev->attr)) + 1;
    return child_of(b, node, b->leaf_of[ev->attr] - 1);
}

struct followed {
    struct builder *b;
    const struct placed *at;
};

/* Below the waker's stack: where that thread was while the other one waited, who woke it from that ... */
static void add_chain(void *arg, const struct wake_step *steps, unsigned n, uint64_t ns)
{
    struct followed *f = arg;
    struct builder *b = f->b;
    uint32_t node = f->at->node, task = steps[0].task;

    for (unsigned i = 0; i < n; i++) {
        if (steps[i].task != task) {
            node = child_of(b, node, fold_frames_marker(&b->frames, b->metric->by));
            node = b->o->no_tasks ? node : task_root(b, node, steps[i].task);
        }
        task = steps[i].task;
        node = child_of(b, node, fold_frames_marker(&b->frames, "[which was in]"));
        node = stack_below(b, node, steps[i].stack);
    }
    *vec_push(&b->pieces) = (struct piece){f->at->event, node, ns};
}

/* Takes the waits apart by what their wakers did meanwhile. Gives what is left of each, by its place in the
 * list. */
static uint64_t *follow_chains(struct builder *b, const struct placed *list, size_t n)
{
    uint64_t *rest = mem_calloc(n + 1, sizeof(*rest));

    wake_chain_init(&b->chain, b->s);
    for (size_t i = 0; i < n; i++) {
        struct followed f = {b, &list[i]};
        const struct event *ev = &b->s->events.a[list[i].event];

        rest[i] = ev->dur - wake_chain_follow(&b->chain, ev, add_chain, &f);
    }
    wake_chain_release(&b->chain);
    for (size_t i = 0; i < b->pieces.n; i++)
        b->self.a[b->pieces.a[i].node] += b->pieces.a[i].ns;
    return rest;
}

static void add_sample(struct builder *b, const struct event *ev, uint32_t node, uint64_t value)
{
    *vec_push(&b->p->samples) =
        (struct profile_sample){ev->ts > b->start ? ev->ts - b->start : 0, node, 0, value};
}

static void add_samples(struct builder *b)
{
    for (size_t i = 0; i < b->pieces.n; i++)
        if (b->pieces.a[i].ns)
            add_sample(b, &b->s->events.a[b->pieces.a[i].event], b->pieces.a[i].node, b->pieces.a[i].ns);
    if (b->metric->chains)
        return;
    store_each(b->s, i, kinds(b)) {
        const struct event *ev = &b->s->events.a[i];

        if (b->event_node[i])
            add_sample(b, ev, b->event_node[i] - 1, weight(b, ev));
    }
}

/* Each counts where it stands. rest: what is left of each; NULL: its whole weight. */
static void settle(struct builder *b, const struct placed *list, size_t n, const uint64_t *rest)
{
    int on_gpu = b->metric->kind == EVENT_GPU && !b->self_of; /* a span is in its own stack */

    for (size_t i = 0; i < n; i++) {
        const struct event *ev = &b->s->events.a[list[i].event];
        uint32_t node = on_gpu ? gpu_leaf(b, list[i].node, ev) : list[i].node;
        uint64_t own = rest ? rest[i] : weight(b, ev);

        b->self.a[node] += own;
        if (b->event_node && rest)
            *vec_push(&b->pieces) = (struct piece){list[i].event, node, own};
        if (b->event_node)
            b->event_node[list[i].event] = node + 1;
    }
}

static void add_events(struct builder *b)
{
    VEC(struct placed) list = {0};
    uint64_t *rest = NULL;
    int no_stack = 0;

    store_each(b->s, i, kinds(b)) {
        const struct event *ev = &b->s->events.a[i];

        if (!wanted(b, ev))
            continue;
        *vec_push(&list) = (struct placed){event_root(b, ev), (uint32_t)i};
        no_stack |= !own_stack(b, ev);
    }
    place(b, list.a, list.n, own_stack, no_stack ? fold_frames_none(&b->frames) : 0);
    if (b->metric->by) {
        for (size_t i = 0; i < list.n; i++)
            list.a[i].node = waker_root(b, &list.a[i]);
        place(b, list.a, list.n, waker_stack, 0);
    }
    if (b->metric->chains)
        rest = follow_chains(b, list.a, list.n);
    settle(b, list.a, list.n, rest);
    if (b->event_node)
        add_samples(b);
    vec_release(&list);
    free(rest);
}

/* ---- the short way ---- */

/* Whether the trie is the tree already: imported stacks, all of them wanted. */
static int is_whole(const struct builder *b)
{
    if (!b->frames.one_to_one || b->metric->by || b->metric->kind == EVENT_GPU || b->o->units)
        return 0;
    for (size_t i = 0; i < b->s->events.n; i++) {
        const struct event *ev = &b->s->events.a[i];

        if (!wanted(b, ev) || !ev->stack || (ev->task && !b->o->no_tasks))
            return 0;
    }
    return 1;
}

/* The memory of the store's nodes becomes that of the profile's, which are twice as large: from the end on.
 */
static void reuse_nodes(struct profile *p, struct stacks *from, size_t n)
{
    struct stack_node node;

    p->nodes.a = mem_realloc(from->nodes.a, n, sizeof(*p->nodes.a));
    p->nodes.cap = n;
    from->nodes.a = NULL;
    from->nodes.n = from->nodes.cap = 0;
    stacks_settle(from);
    for (size_t i = n; i-- > 1;) {
        memcpy(&node, (const char *)p->nodes.a + (i - 1) * sizeof(node), sizeof(node));
        p->nodes.a[i] = (struct profile_node){.parent = node.parent, .frame = node.frame};
    }
}

static void copy_nodes(struct profile *p, const struct stacks *from, size_t n)
{
    vec_reserve(&p->nodes, n);
    for (size_t i = 1; i < n; i++)
        p->nodes.a[i] =
            (struct profile_node){.parent = from->nodes.a[i - 1].parent, .frame = from->nodes.a[i - 1].frame};
}

/* Then stack ids are nodes, frame ids are frames. */
static void take_whole(struct builder *b)
{
    struct profile *p = b->p;
    size_t n = b->s->stacks.nodes.n + 1;

    if (b->o->spent)
        reuse_nodes(p, b->o->spent, n);
    else
        copy_nodes(p, &b->s->stacks, n);
    b->self.a = mem_calloc(n, sizeof(*b->self.a));
    b->self.n = b->self.cap = p->nodes.n = n;
    p->nodes.a[0] = (struct profile_node){0};
    for (size_t i = 0; i < b->s->events.n; i++) {
        const struct event *ev = &b->s->events.a[i];

        b->self.a[ev->stack] += weight(b, ev);
        if (b->o->samples)
            *vec_push(&p->samples) = (struct profile_sample){ev->ts > b->start ? ev->ts - b->start : 0,
                                                             ev->stack, 0, weight(b, ev)};
    }
}

static int sample_order(const void *pa, const void *pb)
{
    const struct profile_sample *a = pa, *b = pb;

    return a->ts < b->ts ? -1 : a->ts > b->ts;
}

static void order_samples(struct profile *p)
{
    for (size_t i = 1; i < p->samples.n; i++) {
        if (p->samples.a[i - 1].ts > p->samples.a[i].ts) {
            qsort(p->samples.a, p->samples.n, sizeof(*p->samples.a), sample_order);
            return;
        }
    }
}

/* From ns to samples. What a node has over a whole number of them goes on to the next one, so that the sum is
 * right to one sample. */
static void as_samples(struct builder *b)
{
    uint64_t period = b->o->idle_ns, ns = period / 2;

    for (size_t i = 0; i < b->self.n; i++) {
        ns += b->self.a[i];
        b->self.a[i] = ns / period;
        ns %= period;
    }
    ns = period / 2;
    for (size_t i = 0; i < b->p->samples.n; i++) {
        ns += b->p->samples.a[i].value;
        b->p->samples.a[i].value = ns / period;
        ns %= period;
    }
}

static void finish(struct builder *b)
{
    struct profile *p = b->p;
    struct profile_metric *m = vec_push(&p->metrics);
    size_t n = p->nodes.n;

    *m = (struct profile_metric){
        .name = mem_strdup(b->metric->name),
        .unit = mem_strdup(b->metric->kind == EVENT_SAMPLE ? quality_sample_unit(b->s) : b->metric->unit)};
    m->self = b->self.a;
    for (size_t i = 0; i < n; i++)
        m->sum += m->self[i];
    if (!b->o->self_alone)
        profile_link(p);
}

/* ---- metrics ---- */

static const struct metric_kind *find_metric(const char *name)
{
    for (size_t k = 0; k < ARRAY_SIZE(metric_kinds); k++)
        if (!strcmp(metric_kinds[k].name, name))
            return &metric_kinds[k];
    return NULL;
}

/* Among some thousand works it shows sooner than among millions of events. */
static int any_work(const struct store *s, const struct metric_kind *k)
{
    for (size_t i = 0; i < s->gpus.list.n; i++)
        if (counts(k, &s->gpus.list.a[i]))
            return 1;
    return 0;
}

static int has_metric(const struct store *s, const struct metric_kind *k)
{
    if (k->kind == EVENT_GPU && !any_work(s, k))
        return 0;
    store_each(s, i, 1u << k->kind)
        if (k->kind != EVENT_GPU || gpu_counts(k, s, &s->events.a[i]))
            return 1;
    return 0;
}

int fold_has(const struct store *s, const char *metric)
{
    const struct metric_kind *k = find_metric(metric);

    return k && has_metric(s, k);
}

const char *fold_first(const struct store *s)
{
    static const char *const order[] = {"oncpu", "gpu", "offcpu", "gil", "spans", "alloc"};

    for (size_t i = 0; i < ARRAY_SIZE(order); i++)
        if (fold_has(s, order[i]))
            return order[i];
    return order[0];
}

static int no_metric(const struct store *s, const char *name, struct err *e)
{
    struct buf have = {0};

    for (size_t k = 0; k < ARRAY_SIZE(metric_kinds); k++)
        if (has_metric(s, &metric_kinds[k]))
            buf_addf(&have, "%s%s", have.len ? ", " : "", metric_kinds[k].name);
    err_set(e, "no metric '%s' in this session (it has: %s)", name, have.len ? have.data : "none");
    buf_release(&have);
    return -1;
}

static int choose_metric(struct builder *b, struct err *e)
{
    const char *name = b->o->metric ? b->o->metric : "oncpu";

    b->metric = find_metric(name);
    if (!b->metric)
        return no_metric(b->s, name, e);
    if (b->metric->kind == EVENT_SAMPLE) /* a session in which nothing ran is no error */
        return 0;
    if (b->o->had >> b->metric->kind & 1)
        return 0;
    return has_metric(b->s, b->metric) ? 0 : no_metric(b->s, name, e);
}

static void take_stacks(struct builder *b)
{
    const struct store *s = b->s;

    b->root = mem_calloc(s->tasks.list.n + 1, sizeof(*b->root));
    b->node_of = mem_calloc(s->stacks.nodes.n + 1, sizeof(*b->node_of));
    b->event_node = b->o->samples ? mem_calloc(s->events.n + 1, sizeof(*b->event_node)) : NULL;
    b->at_peak = b->metric->weighs == BY_PEAK ? fold_bytes_at_peak(s) : NULL;
    b->self_of = b->metric->weighs == BY_SELF ? fold_spans_self(s) : NULL;
    b->leaf_of = mem_calloc(s->gpus.list.n + 1, sizeof(*b->leaf_of));
    new_node(b, 0, 0);
    add_events(b);
    index_release(&b->children);
    map_release(&b->under);
    vec_release(&b->pieces);
    vec_release(&b->touched);
    free(b->root);
    free(b->node_of);
    free(b->event_node);
    free(b->leaf_of);
    free(b->at_peak);
    free(b->self_of);
}

int fold_store(struct profile *p, const struct store *s, uint64_t start_mono, const struct fold_opts *o,
               struct err *e)
{
    struct builder b = {.p = p, .s = s, .o = o, .start = start_mono};

    *p = (struct profile){0};
    if (choose_metric(&b, e))
        return -1;
    b.from = o->from_ns ? start_mono + o->from_ns : 0;
    b.to = o->to_ns ? start_mono + o->to_ns : UINT64_MAX;
    fold_frames_init(&b.frames, p, s, o);
    if (is_whole(&b))
        take_whole(&b);
    else
        take_stacks(&b);
    order_samples(p);
    if (o->idle_ns)
        as_samples(&b);
    finish(&b);
    fold_frames_release(&b.frames);
    return 0;
}

int fold_profile(struct profile *p, const struct session *s, const struct fold_opts *o, struct err *e)
{
    return fold_store(p, &s->store, s->meta.start_mono, o, e);
}

void fold_text(const struct profile *p, size_t metric, struct buf *out)
{
    profile_folded(p, metric, out);
}
