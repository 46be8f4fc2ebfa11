/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 15, 17, 18, 24 and 25: what accelerators compute, copy and say to each other. */
#include "analyze/rules/gpu.h"

#include "analyze/gpu_ranges.h"

#include <stdlib.h>

/* Below it, what is moved or communicated is too little to speak of. */
#define LEAST_OF_SPAN 0.02

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Copies to the device: those whose ends are not told may be. */
static int is_fed(const struct gpu_work *w)
{
    return w->op == GPU_COPY && (w->to == GPU_DEVICE || w->to == GPU_ARRAY || w->to == GPU_PLACE_UNKNOWN) &&
           w->from != GPU_DEVICE && w->from != GPU_ARRAY;
}

/* alone: when there was nothing but such copies. */
static void measure_fed(const struct rule_data *d, const struct gpu_view *v, uint64_t *fed, uint64_t *hidden,
                        struct gpu_ranges *alone)
{
    struct gpu_ranges copies = {0}, kernels = {0};

    for (uint32_t i = 0; i < v->d->n; i++) {
        const struct event *ev = gpu_event(v->t, &v->t->ran.a[v->slots[i].run]);
        const struct gpu_work *w = gpu_work(d, ev);

        if (w && is_fed(w))
            gpu_ranges_add(&copies, v->slots[i].start, v->slots[i].end);
        else if (gpu_class_of(v->t, ev) != GPU_MOVE)
            gpu_ranges_add(&kernels, v->slots[i].start, v->slots[i].end);
    }
    gpu_ranges_settle(&copies);
    gpu_ranges_settle(&kernels);
    *fed = gpu_ranges_sum(&copies);
    *hidden = gpu_ranges_common(&copies, &kernels);
    for (size_t i = 0; i < copies.list.n; i++)
        gpu_ranges_gaps(alone, &kernels, copies.list.a[i]);
    gpu_ranges_release(&copies);
    gpu_ranges_release(&kernels);
}

static void tell_fed(struct finding *x, const struct gpu_view *v, uint64_t fed, uint64_t hidden,
                     const struct gpu_ranges *alone)
{
    struct words w = {0};

    for (size_t i = 0; i < alone->list.n; i++)
        finding_claim(x, alone->list.a[i].start, alone->list.a[i].end,
                      alone->list.a[i].end - alone->list.a[i].start);
    x->title = mem_printf("Copies to %s don't overlap with computing", x->device);
    x->evidence =
        mem_printf("Copies to it take %s (%s of its span); kernels run for %s of that.", words_ns(&w, fed),
                   words_share(&w, share(fed, v->f.span)), words_share(&w, share(hidden, fed)));
    x->advice = mem_strdup("Copy the next batch on a stream of its own while this one is computed; pinned "
                           "memory, non_blocking=True.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("how much of it could be hidden is not known");
}

static void copy_overlap(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    struct gpu_ranges alone = {0};
    uint64_t fed, hidden;

    measure_fed(d, v, &fed, &hidden, &alone);
    if (share(fed, v->f.span) > LEAST_OF_SPAN && share(hidden, fed) < rule_threshold(r, "share"))
        tell_fed(gpu_found(r, v), v, fed, hidden, &alone);
    gpu_ranges_release(&alone);
}

void check_gpu_copy_overlap(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, copy_overlap, "Copies to %s don't overlap with computing");
}

static void comm_exposed(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    struct words w = {0};
    struct finding *x;

    if (share(v->f.exposed, v->f.span) <= rule_threshold(r, "share"))
        return;
    x = gpu_found(r, v);
    for (uint32_t i = 0; i < v->d->n; i++) {
        const struct event *ev = gpu_event(v->t, &v->t->ran.a[v->slots[i].run]);

        /* Where and for how long of each nothing else ran is bounded by the sum. */
        if (gpu_class_of(v->t, ev) == GPU_COMMUNICATE && v->f.of[GPU_COMMUNICATE])
            finding_claim(x, ev->ts, ev->ts + ev->dur,
                          (uint64_t)((double)ev->dur * share(v->f.exposed, v->f.of[GPU_COMMUNICATE])));
    }
    x->title = mem_printf("%s communicates while nothing computes", x->device);
    x->evidence = mem_printf("%s of communication, %s of it exposed: %s of the span.",
                             words_ns(&w, v->f.of[GPU_COMMUNICATE]), words_ns(&w, v->f.exposed),
                             words_share(&w, share(v->f.exposed, v->f.span)));
    x->advice = mem_strdup("Smaller buckets that begin earlier (bucket_cap_mb), gradient accumulation, a "
                           "stream of its own; see which rank "
                           "comes last: wprof show --gpu.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("a collective also waits for the slowest rank");
}

void check_comm_exposed(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, comm_exposed, "%s communicate while nothing computes");
}

static void comm_overlap(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    uint64_t comm = v->f.of[GPU_COMMUNICATE];
    struct words w = {0};
    struct finding *x;

    if (share(comm, v->f.span) <= LEAST_OF_SPAN || share(v->f.overlap, comm) >= rule_threshold(r, "share"))
        return;
    x = gpu_found(r, v);
    x->severity = FINDING_LOW;
    x->title = mem_printf("Communication of %s overlaps little with computation", x->device);
    x->evidence = mem_printf("%s of %s.", words_share(&w, share(v->f.overlap, comm)), words_ns(&w, comm));
    x->advice = mem_strdup("Smaller buckets, and communication on a stream of its own, so that gradients "
                           "travel while others are computed.");
    x->why = mem_strdup("what it costs is counted as exposed communication");
}

void check_comm_overlap(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, comm_overlap, "Communication of %s overlaps little with computation");
}

/* ---- precision ---- */

/* Parts of the names of kernels that use tensor cores (PyTorch's profiler has such a list), and of those that
 * multiply matrices or convolve. */
static const char *const tensor_cores[] = {"884",      "1688", "16816", "hmma",  "wgmma",
                                           "tensorop", "imma", "xmma",  "bf16_s"};
static const char *const products[] = {"gemm", "conv", "cutlass", "cudnn", "matmul"};

static int has_any(const char *name, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(name, parts[i]))
            return 1;
    return 0;
}

struct precision {
    uint64_t all, product, tensor, single;
    const char *worst;
    uint64_t worst_ns;
};

static void measure(struct precision *p, const struct rule_data *d, const struct gpu_view *v)
{
    *p = (struct precision){0};
    for (uint32_t i = 0; i < v->d->n; i++) {
        const struct event *ev = gpu_event(v->t, &v->t->ran.a[v->slots[i].run]);
        const struct gpu_work *w = gpu_work(d, ev);
        const char *name = w ? gpu_name(d, w) : "";
        int tensor = has_any(name, tensor_cores, ARRAY_SIZE(tensor_cores));

        if (!w || w->op != GPU_KERNEL)
            continue;
        p->all += ev->dur;
        p->product += tensor || has_any(name, products, ARRAY_SIZE(products)) ? ev->dur : 0;
        p->tensor += tensor ? ev->dur : 0;
        if (strstr(name, "sgemm") && !strstr(name, "tf32") && !tensor) {
            p->single += ev->dur;
            if (ev->dur > p->worst_ns) {
                p->worst_ns = ev->dur;
                p->worst = name;
            }
        }
    }
}

static void no_tensor_cores(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    struct words w = {0};
    struct precision p;
    struct finding *x;

    measure(&p, d, v);
    if (share(p.product, p.all) <= 0.1 || share(p.tensor, p.product) > rule_threshold(r, "ratio"))
        return;
    x = gpu_found(r, v);
    x->severity = FINDING_LOW;
    x->title = mem_printf("No tensor cores are used on %s", x->device);
    x->evidence = mem_printf("%s of the kernels' time multiplies matrices or convolves, none of it by a "
                             "kernel whose name tells of tensor "
                             "cores.",
                             words_share(&w, share(p.product, p.all)));
    x->advice = mem_strdup("Mixed precision (torch.autocast), TF32, and sizes that are multiples of 8.");
    x->certainty = FINDING_GUESS;
    x->why = mem_strdup("told by the kernels' names; the device may have none");
}

void check_gpu_no_tensor_cores(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, no_tensor_cores, "No tensor cores are used on %s");
}

static void fp32(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    struct words w = {0};
    struct precision p;
    struct finding *x;

    measure(&p, d, v);
    if (share(p.single, p.all) <= rule_threshold(r, "share"))
        return;
    x = gpu_found(r, v);
    x->severity = FINDING_LOW;
    x->title = mem_printf("%s multiplies matrices in single precision", x->device);
    x->evidence =
        mem_printf("%s of the kernels' time, as in %.80s.", words_share(&w, share(p.single, p.all)), p.worst);
    x->advice = mem_strdup("torch.set_float32_matmul_precision(\"high\") uses TF32; mixed precision more.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("told by the kernels' names");
}

void check_gpu_fp32(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, fp32, "%s multiply matrices in single precision");
}
