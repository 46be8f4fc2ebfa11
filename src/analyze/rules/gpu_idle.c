/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 1 to 6: when an accelerator was idle, and why. */
#include "analyze/gpu_unseen.h"
#include "analyze/rules/gpu.h"

#include "analyze/gpu_ranges.h"

#include <stdlib.h>

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static uint64_t seen(const struct gpu_view *v)
{
    return v->f.span - v->f.unseen;
}

/* ---- long gaps ---- */

static void gap(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    uint64_t least = (uint64_t)(rule_threshold(r, "gap") * 1e9), sum;
    struct buf text = {0};
    struct words w = {0};
    struct finding *x;
    size_t n = 0;

    if (v->f.longest_gap < least)
        return;
    x = gpu_found(r, v);
    x->weight = RULE_WEIGHT_CAUSE;
    sum = gpu_gaps(x, v, GPU_IDLE_CAUSES, least, &n);
    x->title = mem_printf("%s stands idle for long", x->device);
    buf_addf(&text, "%s of at least %s, %s in all, the longest %s.", words_plural(&w, n, "gap"),
             words_ns(&w, least), words_ns(&w, sum), words_ns(&w, v->f.longest_gap));
    gpu_blame(x, d, v, GPU_IDLE_CAUSES, &text);
    x->evidence = buf_detach(&text);
    x->advice = mem_strdup("See what fed the device then: wprof show --gpu, wprof render --view timeline.");
}

void check_gpu_gap(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, gap, "%s stand idle for long");
}

/* ---- windows ---- */

enum { WINDOWS_MAX = 1000, FINE = 100 };

static void add_busy(uint64_t *busy, unsigned n, const struct gpu_view *v, uint64_t start, uint64_t end)
{
    uint64_t width = v->f.span / n + 1;

    while (start < end) {
        uint64_t k = (start - v->f.from) / width, stop = v->f.from + (k + 1) * width;

        stop = stop < end ? stop : end;
        if (k < n)
            busy[k] += stop - start;
        start = stop;
    }
}

/* Busy ns of each of n equal parts of the span; what was not seen is not known to be idle. */
static void windows(uint64_t *busy, unsigned n, const struct gpu_view *v)
{
    uint64_t to = v->f.from;

    memset(busy, 0, n * sizeof(*busy));
    for (uint32_t i = 0; i < v->d->n; i++) {
        uint64_t start = v->slots[i].start > to ? v->slots[i].start : to, end = v->slots[i].end;

        add_busy(busy, n, v, to, gpu_unseen_until(v->d, to, start));
        add_busy(busy, n, v, start, end);
        to = end > to ? end : to;
    }
}

static void low_use(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    unsigned n = (unsigned)rule_threshold(r, "windows"), low = 0;
    uint64_t busy[WINDOWS_MAX], width, idle = 0;
    struct buf text = {0};
    struct words w = {0};
    struct finding *x = NULL;

    n = n < 1 ? 1 : n < WINDOWS_MAX ? n : WINDOWS_MAX;
    windows(busy, n, v);
    width = v->f.span / n + 1;
    for (unsigned i = 0; i < n; i++) {
        if (share(busy[i], width) >= rule_threshold(r, "busy"))
            continue;
        x = x ? x : gpu_found(r, v);
        finding_claim(x, v->f.from + i * width, v->f.from + (i + 1) * width, width - busy[i]);
        idle += width - busy[i];
        low++;
    }
    if (!x)
        return;
    x->weight = RULE_WEIGHT_LAST;
    x->least_ns = seen(v) / 20; /* most of it has a cause, which is a finding of its own */
    x->title = mem_printf("%s is mostly idle in %u of %u parts of the run", x->device, low, n);
    buf_addf(
        &text,
        "In these it is busy less than %s of the time, %s idle in all; over the whole span it is busy %s.",
        words_share(&w, rule_threshold(r, "busy")), words_ns(&w, idle),
        words_share(&w, share(v->f.busy, seen(v))));
    gpu_blame(x, d, v, GPU_IDLE_CAUSES, &text);
    x->evidence = buf_detach(&text);
    x->advice = mem_strdup("Larger batches, several streams, or loading that overlaps with computing.");
}

void check_gpu_low_use(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, low_use, "%s are mostly idle in parts of the run");
}

static int by_value(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

static void bursts(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    uint64_t busy[FINE], width = v->f.span / FINE + 1;
    double high, low;
    struct words w = {0};
    struct finding *x;

    windows(busy, FINE, v);
    qsort(busy, FINE, sizeof(*busy), by_value);
    high = share(busy[FINE * 95 / 100], width);
    low = share(busy[FINE * 5 / 100], width);
    if (high >= rule_threshold(r, "p95") && low >= rule_threshold(r, "p5"))
        return;
    x = gpu_found(r, v);
    x->weight = RULE_WEIGHT_LAST;
    x->severity = FINDING_LOW;
    x->title = mem_printf("%s %s", x->device,
                          high < rule_threshold(r, "p95") ? "is never busy for long" : "works in bursts");
    x->evidence = mem_printf("Of %d parts of its span the busiest twentieth is busy at least %s of the time, "
                             "the idlest at most %s.",
                             FINE, words_share(&w, high), words_share(&w, low));
    x->advice = mem_strdup("Feed it evenly: prefetch, more loader workers, larger batches.");
    free(x->why);
    x->why = mem_strdup("what it costs is counted where the idle time is");
}

void check_gpu_bursts(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, bursts, "%s work in bursts, or are never busy for long");
}

/* ---- causes ---- */

static void host_wait(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    struct buf text = {0};
    struct words w = {0};
    const char *advice;
    struct finding *x;

    if (share(v->f.idle_of[GPU_IDLE_HOST], v->f.idle) <= rule_threshold(r, "share") ||
        share(v->f.idle, seen(v)) <= rule_threshold(r, "idle"))
        return;
    x = gpu_found(r, v);
    gpu_gaps(x, v, GPU_IDLE_HOST, 0, NULL);
    x->title = mem_printf("%s waits for the host to launch", x->device);
    buf_addf(&text, "It is idle %s of %s, and for %s of that nothing had been launched yet.",
             words_ns(&w, v->f.idle), words_ns(&w, seen(v)),
             words_share(&w, share(v->f.idle_of[GPU_IDLE_HOST], v->f.idle)));
    advice = gpu_blame(x, d, v, GPU_IDLE_HOST, &text);
    x->evidence = buf_detach(&text);
    x->advice = mem_strdup(advice ? advice
                                  : "Less work on the CPU for each launch: CUDA graphs, torch.compile, "
                                    "larger batches; record what the host does: wprof record.");
}

void check_gpu_host_wait(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, host_wait, "%s wait for the host to launch");
}

static void kernel_gaps(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    uint64_t least = (uint64_t)(rule_threshold(r, "gap") * 1e9), sum;
    struct words w = {0};
    struct finding *x;
    size_t n = 0;

    sum = gpu_gaps(NULL, v, GPU_IDLE_KERNEL, least, &n);
    if (share(sum, seen(v)) <= rule_threshold(r, "share"))
        return;
    x = gpu_found(r, v);
    gpu_gaps(x, v, GPU_IDLE_KERNEL, least, NULL);
    x->title = mem_printf("Gaps between kernels of %s add up", x->device);
    x->evidence = mem_printf("%s of at least %s and below %s: %s of %s.", words_plural(&w, n, "gap"),
                             words_ns(&w, least), words_ns(&w, GPU_KERNEL_WAIT_NS), words_ns(&w, sum),
                             words_ns(&w, seen(v)));
    x->advice = mem_strdup("Fuse kernels (torch.compile), or launch them as a CUDA graph.");
}

void check_gpu_kernel_gaps(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, kernel_gaps, "Gaps between kernels of %s add up");
}

static void idle_other(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    struct words w = {0};
    struct finding *x;

    if (share(v->f.idle_of[GPU_IDLE_OTHER], seen(v)) <= rule_threshold(r, "share"))
        return;
    x = gpu_found(r, v);
    gpu_gaps(x, v, GPU_IDLE_OTHER, 0, NULL);
    x->title = mem_printf("%s is idle although work was launched", x->device);
    x->evidence = mem_printf(
        "%s of %s: what ran next had been asked for before the gap began, or by no call that was seen.",
        words_ns(&w, v->f.idle_of[GPU_IDLE_OTHER]), words_ns(&w, seen(v)));
    x->advice = mem_strdup("Look for streams that wait for events of others, and for copies before kernels.");
    if (v->f.launched < v->f.kernels) {
        x->certainty = FINDING_LIKELY;
        free(x->why);
        x->why = mem_strdup("not all launches were seen");
    }
}

void check_gpu_idle_other(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, idle_other, "%s are idle although work was launched");
}

/* ---- nothing to do ---- */

static void others_busy(struct gpu_ranges *busy, const struct gpu_view *v)
{
    const struct gpu_device *own = v->d;

    for (size_t i = 0; i < v->t->ran.n; i++) {
        const struct event *ev = gpu_event(v->t, &v->t->ran.a[i]);

        if (i < own->first || i >= own->first + own->n)
            gpu_ranges_add(busy, ev->ts, ev->ts + ev->dur);
    }
    gpu_ranges_settle(busy);
}

/* Claims what `busy` has between two moments. Gives its sum. */
static uint64_t claim_busy(struct finding *x, const struct gpu_ranges *busy, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;

    for (size_t i = from < to ? gpu_ranges_find(busy, from) : busy->list.n;
         i < busy->list.n && busy->list.a[i].start < to; i++) {
        uint64_t start = busy->list.a[i].start > from ? busy->list.a[i].start : from,
                 end = busy->list.a[i].end < to ? busy->list.a[i].end : to;

        sum += end - start;
        if (x)
            finding_claim(x, start, end, end - start);
    }
    return sum;
}

static void no_work(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    uint64_t end = d->start + d->wall_ns, first = v->slots[0].start, last = 0, before, after;
    struct gpu_ranges busy = {0};
    struct words w = {0};
    struct finding *x;

    for (uint32_t i = 0; i < v->d->n; i++)
        last = v->slots[i].end > last ? v->slots[i].end : last;
    others_busy(&busy, v);
    before = claim_busy(NULL, &busy, d->start, first);
    after = claim_busy(NULL, &busy, last, end);
    if (share(before + after, d->wall_ns) > rule_threshold(r, "share")) {
        x = gpu_found(r, v);
        claim_busy(x, &busy, d->start, first);
        claim_busy(x, &busy, last, end);
        x->title = mem_printf("%s has no work while others compute", x->device);
        x->evidence = mem_printf("Others were busy for %s before its first work and for %s after its last.",
                                 words_ns(&w, before), words_ns(&w, after));
        x->advice =
            mem_strdup("Equal parts: shards of one size, stages of a pipeline that take as long as each "
                       "other; and see what its process did then: wprof show --ranks, wprof render "
                       "--view timeline.");
    }
    gpu_ranges_release(&busy);
}

void check_gpu_no_work(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, no_work, "%s have no work while others compute");
}
