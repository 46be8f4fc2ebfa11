/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_busy.h"

#include "analyze/gpu_figures.h"
#include "analyze/gpu_unseen.h"

#include <math.h>
#include <stdlib.h>

/* What figures are called; BUSY or IDLE titles it, according to what is asked. */
#define FIGURES(BUSY, IDLE)                                                                                  \
    {"span_ns", BUSY("span"), TABLE_NS}, {"busy_ns", BUSY("busy"), TABLE_NS},                                \
        {"idle_ns", IDLE("idle"), TABLE_NS}, {"unseen_ns", NULL, TABLE_NS},                                  \
        {"busy_share", BUSY("of span"), TABLE_SHARE}, {"compute_ns", BUSY("computing"), TABLE_NS},           \
        {"comm_ns", BUSY("communicating"), TABLE_NS, 2}, {"overlap_ns", NULL, TABLE_NS},                     \
        {"exposed_ns", BUSY("exposed"), TABLE_NS, 3}, {"copy_ns", BUSY("copying"), TABLE_NS, 4},             \
        {"copy_overlap_ns", NULL, TABLE_NS}, {"idle_host_ns", IDLE("for the host"), TABLE_NS},               \
        {"idle_kernel_ns", IDLE("between kernels"), TABLE_NS}, {"idle_other_ns", IDLE("other"), TABLE_NS},   \
        {"gaps", IDLE("gaps"), TABLE_COUNT, 3}, {"longest_gap_ns", IDLE("longest"), TABLE_NS},               \
        {"kernel_count", BUSY("kernels"), TABLE_COUNT, 5}, {"copy_count", BUSY("copies"), TABLE_COUNT, 6},   \
        {"set_count", NULL, TABLE_COUNT}, {"graph_count", NULL, TABLE_COUNT},                                \
        {"launched", NULL, TABLE_COUNT}, {"latency_median_ns", IDLE("launch"), TABLE_NS, 5},                 \
        {"latency_p95_ns", IDLE("95 %"), TABLE_NS, 4},                                                       \
    {                                                                                                        \
        "latency_max_ns", NULL, TABLE_NS                                                                     \
    }

#define TITLED(title)   title
#define UNTITLED(title) NULL

#define DEVICE(BUSY, IDLE)                                                                                   \
    {                                                                                                        \
        {"device", "device", TABLE_TEXT}, {"id", NULL, TABLE_COUNT}, {"rank", NULL, TABLE_COUNT},            \
            FIGURES(BUSY, IDLE), {"before_ns", IDLE("before"), TABLE_NS, 1},                                 \
            {"after_ns", IDLE("after"), TABLE_NS, 2},                                                        \
    }

static const struct table_column busy_columns[] = DEVICE(TITLED, UNTITLED);
static const struct table_column idle_columns[] = DEVICE(UNTITLED, TITLED);

static const struct table_column stream_columns[] = {
    {"device", "device", TABLE_TEXT},
    {"pid", NULL, TABLE_COUNT},
    {"context", "context", TABLE_ID, 7},
    {"stream", "stream", TABLE_ID},
    FIGURES(TITLED, UNTITLED),
    {"queue_max", "queued", TABLE_COUNT, 8},
    {"queue_mean", "on average", TABLE_REAL, 9},
};

static char *label(const struct gpu_device *d)
{
    struct buf b = {0};

    gpu_device_label(d, &b);
    return buf_detach(&b);
}

static uint64_t number_or_none(uint16_t plus_one)
{
    return plus_one ? (uint64_t)plus_one - 1 : TABLE_NONE;
}

/* The cells of FIGURES, in its order; how many. */
static size_t fill(union table_cell *c, const struct gpu_figures *f)
{
    const uint64_t times[] = {f->of[GPU_COMPUTE],
                              f->of[GPU_COMMUNICATE],
                              f->overlap,
                              f->exposed,
                              f->of[GPU_MOVE],
                              f->hidden,
                              f->idle_of[GPU_IDLE_HOST],
                              f->idle_of[GPU_IDLE_KERNEL],
                              f->idle_of[GPU_IDLE_OTHER],
                              f->gaps,
                              f->longest_gap,
                              f->kernels,
                              f->copies,
                              f->sets,
                              f->graphs,
                              f->launched,
                              f->latency_median,
                              f->latency_p95,
                              f->latency_max};
    size_t n = 0;

    c[n++].count = f->span;
    c[n++].count = f->busy;
    c[n++].count = f->idle;
    c[n++].count = f->unseen;
    c[n++].share = f->span > f->unseen ? (double)f->busy / (double)(f->span - f->unseen) : NAN;
    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        c[n++].count = times[i];
    return n;
}

void gpu_devices_table(struct table *t, const struct gpu_trace *x, int idle, size_t limit)
{
    size_t shown;

    table_init(t, idle ? idle_columns : busy_columns, ARRAY_SIZE(busy_columns));
    shown = table_limit(t, x->devices.n, limit);
    for (size_t i = 0; i < shown; i++) {
        const struct gpu_device *d = &x->devices.a[i];
        union table_cell *c = table_add(t);
        struct gpu_figures f;
        size_t n = 0;

        gpu_figures(&f, x, d->first, d->n);
        c[n++].text = label(d);
        c[n++].count = number_or_none(d->device);
        c[n++].count = number_or_none(d->rank);
        n += fill(c + n, &f);
        c[n++].count = f.from > x->start ? f.from - gpu_unseen_until(d, x->start, f.from) : 0;
        c[n++].count = x->end > f.to ? x->end - gpu_unseen_until(d, f.to, x->end) : 0;
    }
}

static uint64_t pid_of(const struct store *s, uint32_t task)
{
    const struct task *k = task ? &s->tasks.list.a[task - 1] : NULL;

    return !k ? TABLE_NONE : k->ns_pid ? k->ns_pid : k->pid;
}

struct shown {
    uint32_t stream;
    struct gpu_figures f;
};

static int busiest_first(const void *pa, const void *pb)
{
    const struct shown *a = pa, *b = pb;

    if (a->f.busy != b->f.busy)
        return a->f.busy > b->f.busy ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static void add_stream(struct table *t, const struct gpu_trace *x, const struct shown *of)
{
    const struct gpu_stream *stream = &x->streams.a[of->stream];
    union table_cell *c = table_add(t);
    struct gpu_queue q;
    size_t n = 0;

    gpu_queue(&q, x, stream);
    c[n++].text = label(&x->devices.a[stream->device]);
    c[n++].count = pid_of(x->s, stream->process);
    c[n++].count = stream->context;
    c[n++].count = stream->stream;
    n += fill(c + n, &of->f);
    c[n++].count = q.most;
    c[n++].share = q.mean;
}

void gpu_streams_table(struct table *t, const struct gpu_trace *x, uint32_t device, size_t limit)
{
    VEC(struct shown) all = {0};
    size_t n;

    table_init(t, stream_columns, ARRAY_SIZE(stream_columns));
    for (uint32_t i = 0; i < x->streams.n; i++) {
        if (device != UINT32_MAX && x->streams.a[i].device != device)
            continue;
        vec_push(&all)->stream = i;
        gpu_figures(&all.a[all.n - 1].f, x, x->streams.a[i].first, x->streams.a[i].n);
    }
    n = table_limit(t, all.n, limit);
    if (n < all.n)
        qsort(all.a, all.n, sizeof(*all.a), busiest_first);
    for (size_t i = 0; i < n; i++)
        add_stream(t, x, &all.a[i]);
    vec_release(&all);
}
