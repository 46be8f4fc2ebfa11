/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 16, 22, 26, 36, 37 and 52: what GPUs say of themselves each second, and what their links can bear. */
#include "analyze/rules/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GPUS = 64, BUSY_MILLIONTHS = METRIC_MILLION / 10 };

/* ---- gauges ---- */

/* Values that hold until the next one, by time. */
struct level {
    uint64_t ts, value;
};

struct levels {
    VEC(struct level) list;
};

/* Those of one GPU. */
static void levels_init(struct levels *l, const struct rule_data *d, enum metric_id id, unsigned gpu)
{
    uint32_t name = strtab_find(&d->s->store.strings, metrics_get(id)->name);

    *l = (struct levels){0};
    for (size_t i = 0; name && i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if (ev->kind == EVENT_METRIC && ev->metric == name && ev->cpu == gpu)
            *vec_push(&l->list) = (struct level){ev->ts, ev->value};
    }
}

static uint64_t level_at(const struct levels *l, uint64_t ts)
{
    size_t low = 0, high = l->list.n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (l->list.a[middle].ts <= ts)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? l->list.a[low - 1].value : 0;
}

/* Until when the i-th value held. */
static uint64_t level_end(const struct levels *l, const struct rule_data *d, size_t i)
{
    uint64_t end = d->start + d->wall_ns;

    return i + 1 < l->list.n ? l->list.a[i + 1].ts : end > l->list.a[i].ts ? end : l->list.a[i].ts;
}

/* For how long both were at least so much. */
static uint64_t held_together(const struct rule_data *d, const struct levels *a, uint64_t least_a,
                              const struct levels *b, uint64_t least_b)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < a->list.n; i++) {
        uint64_t from = a->list.a[i].ts, to = level_end(a, d, i);

        for (size_t k = 0; a->list.a[i].value >= least_a && k < b->list.n; k++) {
            uint64_t start = b->list.a[k].ts > from ? b->list.a[k].ts : from, end = level_end(b, d, k);

            end = end < to ? end : to;
            sum += b->list.a[k].value >= least_b && end > start ? end - start : 0;
        }
    }
    return sum;
}

static uint64_t most_of(const struct levels *l)
{
    uint64_t most = 0;

    for (size_t i = 0; i < l->list.n; i++)
        most = l->list.a[i].value > most ? l->list.a[i].value : most;
    return most;
}

typedef void gpu_check(struct rule_run *r, const struct rule_data *d, unsigned gpu);

/* Each GPU of which the metric is known. */
static unsigned each_gpu(struct rule_run *r, const struct rule_data *d, enum metric_id id, gpu_check *check)
{
    unsigned n = 0;

    for (size_t i = 0; i < d->sums.list.n; i++)
        if (d->sums.list.a[i].id == id) {
            check(r, d, d->sums.list.a[i].cpu);
            n++;
        }
    return n;
}

static struct finding *found(struct rule_run *r, unsigned gpu)
{
    struct finding *x = rule_found(r);

    x->device = mem_printf("GPU %u", gpu);
    return x;
}

/* ---- the hardware, by the topology ---- */

static const struct graph_node *node_of(const struct rule_data *d, unsigned gpu)
{
    char number[16];

    snprintf(number, sizeof(number), "%u", gpu);
    for (size_t i = 0; d->topology && i < d->topology->nodes.n; i++) {
        const struct graph_node *n = d->topology->nodes.a[i];
        size_t len = strcspn(n->key, "\x1f");

        if (n->kind == GRAPH_GPU && !strncmp(n->key, number, len) && !number[len])
            return n;
    }
    return NULL;
}

/* Bytes a second and direction that the link can carry: of each lane by its generation (PCI Express base
 * specifications: 2.5, 5, 8, 16, 32, 64 GT/s, less what the encoding takes). The generation is the highest
 * that it can: an idle link runs at a lower one. 0: not known. */
static double link_rate(const struct graph_node *n)
{
    static const double lane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
    int64_t gen = n ? graph_attr_int(&n->attrs, "pcie_max_gen", 0) : 0;
    int64_t width = n ? graph_attr_int(&n->attrs, "pcie_width", 0) : 0;

    return gen > 0 && gen < (int64_t)ARRAY_SIZE(lane) && width > 0 ? lane[gen] * (double)width : 0;
}

/* ---- 16: copies that are slow ---- */

struct copying {
    uint64_t n, bytes, ns;
};

/* Large copies to the device; those at a time share the link, and their time counts once. */
static void measure_copies(struct copying *c, const struct rule_data *d, const struct gpu_view *v,
                           uint64_t least, double rate, struct finding *x)
{
    uint64_t to = 0;

    for (uint32_t i = 0; i < v->d->n; i++) {
        const struct event *ev = gpu_event(v->t, &v->t->ran.a[v->slots[i].run]);
        const struct gpu_work *w = gpu_work(d, ev);
        uint64_t end = ev->ts + ev->dur, from = ev->ts > to ? ev->ts : to, ideal;

        if (!w || w->op != GPU_COPY || w->to != GPU_DEVICE || w->bytes < least ||
            (w->from != GPU_PAGEABLE && w->from != GPU_PINNED))
            continue;
        c->n++;
        c->bytes += w->bytes;
        ideal = (uint64_t)((double)w->bytes / rate * 1e9);
        if (end <= from)
            continue;
        c->ns += end - from;
        if (x && end - from > ideal)
            finding_claim(x, from, end, end - from - ideal);
        to = end;
    }
}

static void copy_rate(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    uint64_t least = (uint64_t)rule_threshold(r, "bytes");
    double rate = link_rate(node_of(d, v->d->device ? v->d->device - 1u : 0)), got;
    struct copying c = {0};
    struct words w = {0};
    struct finding *x;

    if (!(rate > 0)) {
        rule_not_checked(r, "needs the link's generation and width, which the topology does not tell");
        return;
    }
    measure_copies(&c, d, v, least, rate, NULL);
    got = c.ns ? (double)c.bytes / (double)c.ns * 1e9 : 0;
    if (!c.ns || got >= rule_threshold(r, "share") * rate)
        return;
    x = gpu_found(r, v);
    measure_copies(&(struct copying){0}, d, v, least, rate, x);
    x->title = mem_printf("Copies to %s are slow for its link", x->device);
    x->evidence =
        mem_printf("%s of %s and more, together at %.2g GB/s: %s of the %.3g GB/s that the link can.",
                   words_plural(&w, c.n, "copy to it"), words_count(&w, least), got / 1e9,
                   words_share(&w, got / rate), rate / 1e9);
    x->advice =
        mem_strdup("Pinned memory (pin_memory=True), allocated on the GPU's NUMA node; see whether the "
                   "link has all its lanes, and what else shares the switch.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("GPUs of the trace are taken to be numbered as the topology's");
}

void check_gpu_copy_rate(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, copy_rate, "Copies to %s are slow for their links");
}

/* ---- 22: a CPU that is busy and a GPU that is not ---- */

static uint64_t machine_in(const struct rule_data *d, enum metric_id id, const struct event *like)
{
    uint32_t name = strtab_find(&d->s->store.strings, metrics_get(id)->name);
    uint32_t machine = metrics_sums_machine(&d->sums);

    for (size_t i = 0; name && i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];

        if (ev->kind == EVENT_METRIC && ev->metric == name && ev->task == machine && ev->ts == like->ts)
            return ev->value;
    }
    return 0;
}

/* The busiest of all GPUs at a time. */
static uint64_t busiest(const struct levels *l, unsigned n, uint64_t ts)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < n; i++) {
        uint64_t v = level_at(&l[i], ts);

        most = v > most ? v : most;
    }
    return most;
}

struct bound {
    VEC(const struct event *) seconds; /* those in which the CPU was busy and no GPU was */
    uint64_t ns, all_ns;
};

static void find_seconds(struct bound *b, struct rule_run *r, const struct rule_data *d,
                         const struct levels *gpus, unsigned n)
{
    uint32_t name = strtab_find(&d->s->store.strings, metrics_get(METRIC_ID_CPU_USER)->name);

    for (size_t i = 0; name && i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];
        double cpu;

        if (ev->kind != EVENT_METRIC || ev->metric != name || ev->task || !ev->dur)
            continue;
        cpu = (double)(ev->value + machine_in(d, METRIC_ID_CPU_SYSTEM, ev) +
                       machine_in(d, METRIC_ID_CPU_IRQ, ev)) /
              ((double)ev->dur * d->s->meta.ncpus);
        b->all_ns += ev->dur;
        if (cpu <= rule_threshold(r, "cpu") ||
            (double)busiest(gpus, n, ev->ts + ev->dur) >= rule_threshold(r, "gpu") * METRIC_MILLION)
            continue;
        *vec_push(&b->seconds) = ev;
        b->ns += ev->dur;
    }
}

void check_cpu_bound(struct rule_run *r, const struct rule_data *d)
{
    struct levels gpus[GPUS];
    struct bound b = {0};
    struct words w = {0};
    unsigned n = 0;

    for (size_t i = 0; i < d->sums.list.n && n < GPUS; i++)
        if (d->sums.list.a[i].id == METRIC_ID_GPU_BUSY)
            levels_init(&gpus[n++], d, METRIC_ID_GPU_BUSY, d->sums.list.a[i].cpu);
    if (n && d->s->meta.ncpus)
        find_seconds(&b, r, d, gpus, n);
    else
        rule_not_checked(r, "needs how busy GPUs and CPUs are, which the metrics of this session lack");
    if (b.all_ns && (double)b.ns > rule_threshold(r, "time") * (double)b.all_ns) {
        struct finding *x = rule_found(r);

        for (size_t i = 0; i < b.seconds.n; i++)
            finding_claim(x, b.seconds.a[i]->ts, b.seconds.a[i]->ts + b.seconds.a[i]->dur,
                          b.seconds.a[i]->dur);
        x->weight = RULE_WEIGHT_GENERAL;
        x->title = mem_strdup("The CPUs are busy while the GPUs have nothing to do");
        x->evidence =
            mem_printf("For %s of %s all CPUs were busy for more than %s, and no GPU for %s.",
                       words_ns(&w, b.ns), words_ns(&w, b.all_ns), words_share(&w, rule_threshold(r, "cpu")),
                       words_share(&w, rule_threshold(r, "gpu")));
        x->advice = mem_strdup("Move preprocessing to the GPU or ahead of the run, use more CPUs, or fewer "
                               "workers that take turns; the hot functions say what it is.");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("the CPUs are the machine's: others may use them");
    }
    for (unsigned i = 0; i < n; i++)
        vec_release(&gpus[i].list);
    vec_release(&b.seconds);
}

/* ---- 26: memory ---- */

static void memory(struct rule_run *r, const struct rule_data *d, unsigned gpu)
{
    const struct graph_node *node = node_of(d, gpu);
    double all = node ? (double)graph_attr_int(&node->attrs, "memory_bytes", 0) : 0, most;
    char size[2][32];
    struct words w = {0};
    struct levels l;
    struct finding *x;

    levels_init(&l, d, METRIC_ID_GPU_MEMORY, gpu);
    most = (double)most_of(&l);
    vec_release(&l.list);
    if (!(all > 0)) {
        rule_not_checked(r, "needs how much memory GPUs have, which the topology does not tell");
        return;
    }
    if (most <= rule_threshold(r, "share") * all)
        return;
    x = found(r, gpu);
    x->severity = FINDING_MEDIUM;
    x->title = mem_printf("The memory of %s is nearly full", x->device);
    x->evidence =
        mem_printf("%s of %s in use at the most (%s).", units_size(size[0], sizeof(size[0]), (uint64_t)most),
                   units_size(size[1], sizeof(size[1]), (uint64_t)all), words_share(&w, most / all));
    x->advice = mem_strdup("Mixed precision, activation checkpointing, a smaller batch with gradients "
                           "accumulated, or sharded optimizer states.");
    x->certainty = FINDING_LIKELY;
    x->why =
        mem_strdup("read once a second, of all programs; a framework's allocator keeps what it has freed");
}

void check_gpu_memory(struct rule_run *r, const struct rule_data *d)
{
    each_gpu(r, d, METRIC_ID_GPU_MEMORY, memory);
}

/* ---- 36, 37: clocks that are held down ---- */

/* MHz, or 0 where nothing tells. */
static double most_clock(const struct rule_data *d, unsigned gpu)
{
    struct levels clock;
    double most;

    levels_init(&clock, d, METRIC_ID_GPU_CLOCK, gpu);
    most = (double)most_of(&clock) / 1e6;
    vec_release(&clock.list);
    return most;
}

/* On average over the time in which it was busy and held down. */
static double slow_clock(const struct rule_data *d, const struct levels *slow, const struct levels *busy,
                         unsigned gpu)
{
    struct levels clock;
    double sum = 0, ns = 0;

    levels_init(&clock, d, METRIC_ID_GPU_CLOCK, gpu);
    for (size_t i = 0; i < clock.list.n; i++) {
        const struct level *l = &clock.list.a[i];
        double dur = (double)(level_end(&clock, d, i) - l->ts);

        if (!level_at(slow, l->ts) || level_at(busy, l->ts) < BUSY_MILLIONTHS)
            continue;
        sum += (double)l->value / 1e6 * dur;
        ns += dur;
    }
    vec_release(&clock.list);
    return ns > 0 ? sum / ns : 0;
}

struct slow {
    uint64_t busy, held; /* ns; held: of busy */
    double mean, most;   /* MHz while it is held down, and the most that was seen; 0: not known */
};

static void measure_slow(struct slow *s, const struct rule_data *d, enum metric_id id, unsigned gpu)
{
    struct levels slow, busy;

    levels_init(&slow, d, id, gpu);
    levels_init(&busy, d, METRIC_ID_GPU_BUSY, gpu);
    s->busy = held_together(d, &busy, BUSY_MILLIONTHS, &busy, BUSY_MILLIONTHS);
    s->held = held_together(d, &slow, METRIC_MILLION, &busy, BUSY_MILLIONTHS);
    s->mean = slow_clock(d, &slow, &busy, gpu);
    s->most = most_clock(d, gpu);
    vec_release(&slow.list);
    vec_release(&busy.list);
}

static void say_slow(struct finding *x, const struct slow *s, const char *why)
{
    struct words w = {0};
    struct buf b = {0};

    buf_addf(&b, "For %s of the %s that it was busy its clock was held down %s", words_ns(&w, s->held),
             words_ns(&w, s->busy), why);
    if (s->mean > 0 && s->most > s->mean)
        buf_addf(&b, ": at %.0f MHz on average, while %.0f MHz were seen", s->mean, s->most);
    buf_addch(&b, '.');
    x->evidence = buf_detach(&b);
    x->certainty = FINDING_MEASURED;
    x->why = mem_strdup("what it costs is not measured: not all kernels go by the clock");
}

static void slowdown(struct rule_run *r, const struct rule_data *d, unsigned gpu)
{
    struct slow s;
    struct finding *x;

    measure_slow(&s, d, METRIC_ID_GPU_SLOW_HARDWARE, gpu);
    if (!s.held)
        return;
    x = found(r, gpu);
    x->severity = FINDING_MEDIUM;
    x->title = mem_printf("The hardware of %s slows itself down", x->device);
    say_slow(x, &s, "by the hardware itself, for heat, power or a brake of the power supply");
    x->advice = mem_strdup("See its cooling and the air around it, the power cables and the supply: "
                           "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER.");
}

void check_gpu_slowdown(struct rule_run *r, const struct rule_data *d)
{
    if (!each_gpu(r, d, METRIC_ID_GPU_SLOW_HARDWARE, slowdown))
        rule_not_checked(r, "needs why clocks are held down, which the metrics of this session lack");
}

static const struct cap {
    enum metric_id id;
    const char *title, *why, *advice;
} caps[] = {
    {METRIC_ID_GPU_SLOW_POWER, "power limit", "for its limit of power",
     "Raise the limit where it may be (nvidia-smi -pl), or use fewer watts per operation: lower precision, "
     "fewer copies through memory."},
    {METRIC_ID_GPU_SLOW_HEAT, "temperature limit", "for its temperature",
     "See its cooling, its fans and the air around it."},
};

static void power_cap(struct rule_run *r, const struct rule_data *d, unsigned gpu)
{
    for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
        struct finding *x;
        struct slow s;

        measure_slow(&s, d, caps[i].id, gpu);
        if (!s.busy || (double)s.held <= rule_threshold(r, "share") * (double)s.busy)
            continue;
        x = found(r, gpu);
        x->severity = FINDING_LOW;
        x->title = mem_printf("%s runs at its %s", x->device, caps[i].title);
        say_slow(x, &s, caps[i].why);
        x->advice = mem_strdup(caps[i].advice);
    }
}

void check_gpu_power_cap(struct rule_run *r, const struct rule_data *d)
{
    if (!each_gpu(r, d, METRIC_ID_GPU_SLOW_POWER, power_cap))
        rule_not_checked(r, "needs why clocks are held down, which the metrics of this session lack");
}

/* ---- 52: a link that is full ---- */

static void pcie_busy(struct rule_run *r, const struct rule_data *d, unsigned gpu)
{
    static const enum metric_id ways[] = {METRIC_ID_GPU_PCIE_SENT, METRIC_ID_GPU_PCIE_RECEIVED};
    double rate = link_rate(node_of(d, gpu));

    if (!(rate > 0)) {
        rule_not_checked(r, "needs the link's generation and width, which the topology does not tell");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        uint64_t least = (uint64_t)(rule_threshold(r, "share") * rate), full;
        struct words w = {0};
        struct levels l;
        struct finding *x;

        levels_init(&l, d, ways[i], gpu);
        full = held_together(d, &l, least, &l, least);
        vec_release(&l.list);
        if (!d->wall_ns || (double)full <= rule_threshold(r, "time") * (double)d->wall_ns)
            continue;
        x = found(r, gpu);
        x->severity = FINDING_MEDIUM;
        x->title = mem_printf("The PCIe link of %s is full", x->device);
        x->evidence =
            mem_printf("For %s it %s more than %s of the %.3g GB/s that the link can.", words_ns(&w, full),
                       i ? "received" : "sent", words_share(&w, rule_threshold(r, "share")), rate / 1e9);
        x->advice =
            mem_strdup("Keep data on the GPU, copy less and in smaller types, decode and augment there; "
                       "between GPUs use NVLink.");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("each second's figure is of 20 ms of it");
    }
}

void check_pcie_busy(struct rule_run *r, const struct rule_data *d)
{
    if (!each_gpu(r, d, METRIC_ID_GPU_PCIE_SENT, pcie_busy))
        rule_not_checked(r, "needs what goes over PCIe, which the metrics of this session lack");
}
