/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 7 to 14 and 27: how the host launches, copies and waits. */
#include "analyze/rules/gpu.h"

#include "analyze/gpu_ranges.h"

#include <stdlib.h>

static int is_launch(const char *name)
{
    return strstr(name, "Launch") != NULL;
}

static struct finding *found_at(struct rule_run *r, const struct rule_data *d, const struct place_time *at)
{
    struct finding *x = rule_found(r);

    x->weight = RULE_WEIGHT_GENERAL;
    gpu_at(x, d, at);
    return x;
}

/* When something ran on any device; with `computing` other things than copies and sets. */
static void busy_ranges(struct gpu_ranges *busy, const struct rule_data *d, int computing)
{
    for (size_t i = 0; i < d->gpu->ran.n; i++) {
        const struct event *ev = gpu_event(d->gpu, &d->gpu->ran.a[i]);

        if (!computing || gpu_class_of(d->gpu, ev) != GPU_MOVE)
            gpu_ranges_add(busy, ev->ts, ev->ts + ev->dur);
    }
    gpu_ranges_settle(busy);
}

/* What costs nothing is of low severity. */
static void claim_ranges(struct finding *x, const struct gpu_ranges *ranges)
{
    if (!ranges->list.n)
        x->severity = FINDING_LOW;
    for (size_t i = 0; i < ranges->list.n; i++)
        finding_claim(x, ranges->list.a[i].start, ranges->list.a[i].end,
                      ranges->list.a[i].end - ranges->list.a[i].start);
}

/* ---- launches ---- */

/* One call launches all kernels of a graph. */
static int is_graph(const struct rule_data *d, const struct gpu_work *w, const struct event *call)
{
    const struct gpu_work *asked = gpu_work(d, call);

    return w->graph || (asked && strstr(gpu_name(d, asked), "GraphLaunch"));
}

struct launches {
    uint64_t n, longer; /* those seen; whose call took longer than the kernel */
    uint64_t call_ns, kernel_ns;
    struct place_time at;
};

static void collect_launches(struct launches *l, const struct rule_data *d)
{
    *l = (struct launches){0};
    place_time_init(&l->at, &d->s->store);
    for (size_t i = 0; i < d->gpu->ran.n; i++) {
        const struct event *ev = gpu_event(d->gpu, &d->gpu->ran.a[i]),
                           *call = gpu_launch(d->gpu, &d->gpu->ran.a[i]);
        const struct gpu_work *w = gpu_work(d, ev);

        if (!call || !w || w->op != GPU_KERNEL || is_graph(d, w, call))
            continue;
        l->n++;
        if (ev->dur >= call->dur)
            continue;
        l->longer++;
        l->call_ns += call->dur;
        l->kernel_ns += ev->dur;
        if (call->stack <= d->s->store.stacks.nodes.n) {
            l->at.of[call->stack] += call->dur;
            l->at.sum += call->dur;
        }
    }
}

void check_gpu_short_kernels(struct rule_run *r, const struct rule_data *d)
{
    struct launches l;
    struct words w = {0};

    collect_launches(&l, d);
    if (!l.n) {
        rule_not_checked(r, "needs gpu: the calls that launch kernels");
    } else if ((double)l.longer / (double)l.n > rule_threshold(r, "share")) {
        struct finding *x = found_at(r, d, &l.at);

        x->severity = FINDING_LOW;
        x->title = mem_strdup("Most kernels are shorter than the calls that launch them");
        x->evidence = mem_printf("%s of %s launches: %s of calls for %s of kernels.",
                                 words_share(&w, (double)l.longer / (double)l.n), words_count(&w, l.n),
                                 words_ns(&w, l.call_ns), words_ns(&w, l.kernel_ns));
        x->advice = mem_strdup("CUDA graphs, torch.compile, larger batches: fewer and longer kernels.");
        x->why = mem_strdup("what it costs is counted where the device waits for the host");
    }
    place_time_release(&l.at);
}

void check_gpu_slow_launch(struct rule_run *r, const struct rule_data *d)
{
    uint64_t limit = (uint64_t)(rule_threshold(r, "time") * 1e9), n = 0, slow = 0, longest = 0;
    struct gpu_ranges ranges = {0};
    struct place_time at;
    struct words w = {0};

    place_time_init(&at, &d->s->store);
    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];
        const struct gpu_work *work = gpu_work(d, ev);

        if (!work || (work->op != GPU_RUNTIME && work->op != GPU_DRIVER) || !is_launch(gpu_name(d, work)))
            continue;
        n++;
        if (ev->dur <= limit)
            continue;
        slow++;
        longest = ev->dur > longest ? ev->dur : longest;
        gpu_ranges_add(&ranges, ev->ts, ev->ts + ev->dur);
        if (ev->stack <= d->s->store.stacks.nodes.n) {
            at.of[ev->stack] += ev->dur;
            at.sum += ev->dur;
        }
    }
    gpu_ranges_settle(&ranges);
    if (d->wall_ns && (double)gpu_ranges_sum(&ranges) / (double)d->wall_ns > rule_threshold(r, "share")) {
        struct finding *x = found_at(r, d, &at);

        x->least_ns = (uint64_t)(rule_threshold(r, "share") * (double)d->wall_ns);
        claim_ranges(x, &ranges);
        x->title = mem_strdup("Calls that launch kernels take long");
        x->evidence = mem_printf("%s of %s took more than %s, the longest %s: %s in all.",
                                 words_count(&w, slow), words_plural(&w, n, "launch"), words_ns(&w, limit),
                                 words_ns(&w, longest), words_ns(&w, gpu_ranges_sum(&ranges)));
        x->advice = mem_strdup("A full queue (then the device is the limit), a lock between threads that "
                               "launch, or a CPU that others "
                               "have: wprof show --waits, --gpu.");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("a call that waits since the device is the limit costs nothing");
    }
    gpu_ranges_release(&ranges);
    place_time_release(&at);
}

static void launch_delay(struct rule_run *r, const struct rule_data *d, const struct gpu_view *v)
{
    struct words w = {0};
    struct finding *x;

    if (v->f.latency_median == TABLE_NONE || (double)v->f.latency_median <= rule_threshold(r, "delay") * 1e9)
        return;
    x = gpu_found(r, v);
    x->severity = FINDING_INFO;
    x->title = mem_printf("Kernels start on %s long after their launch", x->device);
    x->evidence =
        mem_printf("Half of them more than %s after, one in twenty more than %s; it is busy %s of its span.",
                   words_ns(&w, v->f.latency_median), words_ns(&w, v->f.latency_p95),
                   words_share(&w, v->f.span ? (double)v->f.busy / (double)v->f.span : 0));
    x->advice = mem_strdup("No fault where it is busy: the host is ahead, the device is the limit. Else see "
                           "what the streams wait for.");
    x->why = mem_strdup("a delay costs nothing by itself");
}

void check_gpu_launch_delay(struct rule_run *r, const struct rule_data *d)
{
    gpu_views(r, d, launch_delay, "Kernels start on %s long after their launch");
}

void check_gpu_queue(struct rule_run *r, const struct rule_data *d)
{
    size_t before = r->out->list.n;

    for (size_t i = 0; i < d->gpu->streams.n; i++) {
        const struct gpu_stream *s = &d->gpu->streams.a[i];
        struct gpu_queue q;
        struct buf b = {0};
        struct finding *x;

        gpu_queue(&q, d->gpu, s);
        if ((double)q.most < rule_threshold(r, "outstanding"))
            continue;
        x = rule_found(r);
        gpu_device_label(&d->gpu->devices.a[s->device], &b);
        x->device = buf_detach(&b);
        x->title = mem_printf("The launch queue of %s, stream %u, was full", x->device, s->stream);
        x->evidence = mem_printf("Up to %llu were asked for and not started, %.1f on average.",
                                 (unsigned long long)q.most, q.mean);
        x->advice = mem_strdup("No fault: the device is the limit, and the host is far ahead.");
        x->why = mem_strdup("a full queue costs nothing by itself");
    }
    gpu_gather(r, d, before, "The launch queues of %s were full");
}

/* ---- waiting ---- */

static int is_wait(const struct rule_data *d, const struct gpu_work *w)
{
    return w->op == GPU_SYNC ||
           ((w->op == GPU_RUNTIME || w->op == GPU_DRIVER) && strstr(gpu_name(d, w), "Synchronize") != NULL);
}

void check_gpu_sync(struct rule_run *r, const struct rule_data *d)
{
    struct gpu_ranges ranges = {0};
    struct place_time at;
    struct words w = {0};
    uint64_t n = 0;

    place_time_init(&at, &d->s->store);
    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];
        const struct gpu_work *work = gpu_work(d, ev);

        if (!work || !is_wait(d, work))
            continue;
        n += work->op != GPU_SYNC;
        gpu_ranges_add(&ranges, ev->ts, ev->ts + ev->dur);
        if (ev->stack <= d->s->store.stacks.nodes.n) {
            at.of[ev->stack] += ev->dur;
            at.sum += ev->dur;
        }
    }
    gpu_ranges_settle(&ranges);
    if (d->wall_ns && (double)gpu_ranges_sum(&ranges) / (double)d->wall_ns > rule_threshold(r, "share")) {
        struct finding *x = found_at(r, d, &at);

        struct gpu_ranges busy = {0}, idle = {0};
        uint64_t ns = gpu_ranges_sum(&ranges);

        busy_ranges(&busy, d, 0);
        for (size_t i = 0; i < ranges.list.n; i++)
            gpu_ranges_gaps(&idle, &busy, ranges.list.a[i]);
        gpu_ranges_settle(&idle);
        claim_ranges(x, &idle);
        x->title = mem_printf("The host stands still until the device is done%s%s", x->line ? ", in " : "",
                              x->line ? x->line : "");
        x->evidence =
            mem_printf("%s in %s that synchronize (what runs at a time counts once); for %s of it a "
                       "device was busy, and that is the device's own time.",
                       words_ns(&w, ns), words_plural(&w, n ? n : ranges.list.n, "call"),
                       words_ns(&w, ns - gpu_ranges_sum(&idle)));
        x->advice = mem_strdup(
            "Wait for an event where the result is needed, not for the device; read losses every N steps.");
        gpu_ranges_release(&busy);
        gpu_ranges_release(&idle);
    }
    gpu_ranges_release(&ranges);
    place_time_release(&at);
}

/* ---- copies ---- */

typedef int (*copy_wanted)(struct rule_run *r, const struct rule_data *d, const struct gpu_work *w,
                           const char *call);

struct copies {
    uint64_t n, ns, bytes, unsized; /* unsized: whose bytes are not told */
    struct place_time at;
    struct gpu_ranges when;
};

static void copies_release(struct copies *c)
{
    place_time_release(&c->at);
    gpu_ranges_release(&c->when);
}

static void collect_copies(struct copies *c, struct rule_run *r, const struct rule_data *d, copy_wanted want)
{
    *c = (struct copies){0};
    place_time_init(&c->at, &d->s->store);
    for (size_t i = 0; i < d->gpu->ran.n; i++) {
        const struct event *ev = gpu_event(d->gpu, &d->gpu->ran.a[i]),
                           *call = gpu_launch(d->gpu, &d->gpu->ran.a[i]);
        const struct gpu_work *w = gpu_work(d, ev), *asked = call ? gpu_work(d, call) : NULL;
        uint32_t stack = call ? call->stack : ev->stack;

        if (!w || !want(r, d, w, asked ? gpu_name(d, asked) : ""))
            continue;
        c->n++;
        c->ns += ev->dur;
        gpu_ranges_add(&c->when, ev->ts, ev->ts + ev->dur);
        c->bytes += w->bytes;
        c->unsized += !w->bytes;
        if (stack <= d->s->store.stacks.nodes.n) {
            c->at.of[stack] += ev->dur ? ev->dur : 1;
            c->at.sum += ev->dur ? ev->dur : 1;
        }
    }
    gpu_ranges_settle(&c->when);
}

static int is_item(struct rule_run *r, const struct rule_data *d, const struct gpu_work *w, const char *call)
{
    return w->op == GPU_COPY && w->from == GPU_DEVICE && (w->to == GPU_PAGEABLE || w->to == GPU_PINNED) &&
           (double)w->bytes < rule_threshold(r, "bytes");
}

/* The host waits for the value, and only then asks for more: until that is there the device has nothing. */
static void claim_after(struct finding *x, const struct rule_data *d, const struct gpu_ranges *copies)
{
    struct gpu_ranges busy = {0}, idle = {0};

    busy_ranges(&busy, d, 0);
    for (size_t i = 0; i < copies->list.n; i++) {
        uint64_t end = copies->list.a[i].end;
        size_t next = gpu_ranges_find(&busy, end);

        if (next < busy.list.n)
            gpu_ranges_add(&idle, end, busy.list.a[next].start > end ? busy.list.a[next].start : end);
    }
    gpu_ranges_settle(&idle);
    claim_ranges(x, &idle);
    gpu_ranges_release(&busy);
    gpu_ranges_release(&idle);
}

/* While nothing is computed. */
static void claim_alone(struct finding *x, const struct rule_data *d, const struct gpu_ranges *copies)
{
    struct gpu_ranges computing = {0}, alone = {0};

    busy_ranges(&computing, d, 1);
    for (size_t i = 0; i < copies->list.n; i++)
        gpu_ranges_gaps(&alone, &computing, copies->list.a[i]);
    gpu_ranges_settle(&alone);
    claim_ranges(x, &alone);
    gpu_ranges_release(&computing);
    gpu_ranges_release(&alone);
}

void check_gpu_item(struct rule_run *r, const struct rule_data *d)
{
    size_t steps = gpu_steps(d);
    struct words w = {0};
    struct copies c;

    if (!steps) {
        rule_not_checked(r, "needs marks: %s", rule_need_help(NEED_MARKS));
        return;
    }
    collect_copies(&c, r, d, is_item);
    if (c.n && (double)c.n / (double)steps >= rule_threshold(r, "per-step")) {
        struct finding *x = found_at(r, d, &c.at);

        x->weight = RULE_WEIGHT_CAUSE;
        claim_after(x, d, &c.when);
        x->title = mem_printf("Small copies to the host in every step%s%s", x->line ? ", in " : "",
                              x->line ? x->line : "");
        x->evidence = mem_printf("%s copies below %.0f bytes in %s: %.1f a step.", words_count(&w, c.n),
                                 rule_threshold(r, "bytes"), words_plural(&w, steps, "step"),
                                 (double)c.n / (double)steps);
        x->advice = mem_strdup("Keep the values on the device (no .item(), .cpu(), print of a tensor) and "
                               "read them every N steps.");
        x->certainty = FINDING_LIKELY;
        x->why =
            mem_strdup("it costs what the device was idle for after each of them, until it had more to do");
    }
    copies_release(&c);
}

static int is_pageable(struct rule_run *r, const struct rule_data *d, const struct gpu_work *w,
                       const char *call)
{
    return w->op == GPU_COPY && (w->from == GPU_PAGEABLE || w->to == GPU_PAGEABLE) &&
           strstr(call, "Async") != NULL && (double)w->bytes >= rule_threshold(r, "bytes");
}

static void tell_copies(struct rule_run *r, const struct rule_data *d, copy_wanted want, const char *title,
                        const char *advice)
{
    struct words w = {0};
    char size[32];
    struct copies c;

    collect_copies(&c, r, d, want);
    if (c.n) {
        struct finding *x = found_at(r, d, &c.at);

        x->weight = RULE_WEIGHT_CAUSE;
        claim_alone(x, d, &c.when);
        x->title = mem_printf("%s%s%s", title, x->line ? ", in " : "", x->line ? x->line : "");
        x->evidence = mem_printf("%s of them, %s%s, %s on the device.", words_count(&w, c.n),
                                 c.bytes ? units_size(size, sizeof(size), c.bytes) : "of unknown size",
                                 c.bytes && c.unsized ? " and some of unknown size" : "", words_ns(&w, c.ns));
        x->advice = mem_strdup(advice);
        x->certainty = FINDING_LIKELY;
        x->why =
            mem_strdup("it costs what they take while nothing is computed; how long the host waited for each "
                       "is not told");
    }
    copies_release(&c);
}

void check_gpu_pageable(struct rule_run *r, const struct rule_data *d)
{
    tell_copies(r, d, is_pageable, "Asynchronous copies wait, since their memory is not pinned",
                "pin_memory=True in the DataLoader, tensor.pin_memory(), and non_blocking=True.");
}

/* Small ones from pageable memory are taken over at once; where nothing tells how large, or from where, it
 * may be such a one. */
static int is_blocking(struct rule_run *r, const struct rule_data *d, const struct gpu_work *w,
                       const char *call)
{
    int small = w->op == GPU_COPY &&
                (w->from == GPU_PAGEABLE || w->from == GPU_HOST || w->from == GPU_PLACE_UNKNOWN) &&
                (double)w->bytes <= rule_threshold(r, "bytes");

    return (w->op == GPU_COPY || w->op == GPU_SET) && !small && *call && !strstr(call, "Async") &&
           (strstr(call, "Memcpy") || strstr(call, "Memset"));
}

void check_gpu_blocking_copy(struct rule_run *r, const struct rule_data *d)
{
    tell_copies(r, d, is_blocking, "Copies or memsets block the host",
                "The calls whose names end in Async; non_blocking=True with pinned memory.");
}

/* ---- allocating ---- */

void check_gpu_malloc(struct rule_run *r, const struct rule_data *d)
{
    uint64_t warm = d->start + (uint64_t)(rule_threshold(r, "warm-up") * (double)d->wall_ns), n = 0;
    double steps = (double)gpu_steps(d) * (1 - rule_threshold(r, "warm-up"));
    struct gpu_ranges ranges = {0};
    struct place_time at;
    struct words w = {0};

    if (steps <= 0) {
        rule_not_checked(r, "needs marks: %s", rule_need_help(NEED_MARKS));
        return;
    }
    place_time_init(&at, &d->s->store);
    for (size_t i = 0; i < d->s->store.events.n; i++) {
        const struct event *ev = &d->s->store.events.a[i];
        const struct gpu_work *work = gpu_work(d, ev);
        const char *name = work && work->op == GPU_RUNTIME ? gpu_name(d, work) : "";

        if (ev->ts < warm || (strncmp(name, "cudaMalloc", 10) && strncmp(name, "cudaFree", 8)))
            continue;
        n++;
        gpu_ranges_add(&ranges, ev->ts, ev->ts + ev->dur);
        if (ev->stack <= d->s->store.stacks.nodes.n) {
            at.of[ev->stack] += ev->dur;
            at.sum += ev->dur;
        }
    }
    gpu_ranges_settle(&ranges);
    if ((double)n / steps > rule_threshold(r, "per-step")) {
        struct finding *x = found_at(r, d, &at);

        claim_ranges(x, &ranges);
        x->weight = RULE_WEIGHT;
        x->title = mem_strdup("GPU memory is allocated and freed in every step");
        x->evidence = mem_printf("%s after warm-up, %.1f a step, %s in all.", words_plural(&w, n, "call"),
                                 (double)n / steps, words_ns(&w, gpu_ranges_sum(&ranges)));
        x->advice = mem_strdup("Let the framework's allocator keep memory; "
                               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where it "
                               "fragments; batches of one size.");
    }
    gpu_ranges_release(&ranges);
    place_time_release(&at);
}
