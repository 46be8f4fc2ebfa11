/* SPDX-License-Identifier: Apache-2.0 */
#include "render/page_data.h"

#include "base/mem.h"
#include "render/palette.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLICES 4096
#define MIN_SLICES 64
#define MAX_NAME   4096 /* bytes; C++ has longer ones, which end in an ellipsis */

enum { FLAG_INLINED = 8, FLAG_UNKNOWN = 16, FLAG_PRUNED = 32, SHADE_SHIFT = 6 };

struct encoder {
    const struct page_data *d;
    const struct profile *p;
    struct flame flame;
    struct buf *out;
    uint32_t *frame_ids;           /* profile frame -> id on the page, 0: not there */
    uint32_t *string_ids;          /* strtab id -> the same */
    VEC(uint32_t) frames, strings; /* in the order of their ids */
    uint32_t pruned_frame;         /* id, 0: nothing was pruned */
    uint32_t *boxes; /* node -> its box, or the pruned box that holds it; only where samples have times */
};

/* ---- names ---- */

static void use_string(struct encoder *x, uint32_t id)
{
    if (!id || x->string_ids[id])
        return;
    *vec_push(&x->strings) = id;
    x->string_ids[id] = (uint32_t)x->strings.n;
}

static void use_frame(struct encoder *x, uint32_t frame)
{
    const struct profile_frame *f = &x->p->frames.a[frame];

    if (x->frame_ids[frame])
        return;
    *vec_push(&x->frames) = frame;
    x->frame_ids[frame] = (uint32_t)x->frames.n;
    use_string(x, f->func);
    use_string(x, f->file);
    use_string(x, f->module);
}

static void collect_names(struct encoder *x)
{
    x->frame_ids = mem_calloc(x->p->frames.n, sizeof(*x->frame_ids));
    x->string_ids = mem_calloc((size_t)strtab_count(&x->p->strings) + 1, sizeof(*x->string_ids));
    for (size_t i = 1; i < x->flame.boxes.n; i++)
        if (!x->flame.boxes.a[i].pruned)
            use_frame(x, x->p->nodes.a[x->flame.boxes.a[i].node].frame);
    if (x->flame.pruned_nodes)
        x->pruned_frame = (uint32_t)x->frames.n + 1;
}

void page_data_text(struct buf *out, const char *s)
{
    static const char ellipsis[] = "\342\200\246";
    size_t n = strlen(s);

    if (n <= MAX_NAME) {
        buf_add_varint(out, n);
        buf_add(out, s, n);
        return;
    }
    for (n = MAX_NAME; n && ((uint8_t)s[n] & 0xc0) == 0x80;) /* not within a character */
        n--;
    buf_add_varint(out, n + strlen(ellipsis));
    buf_add(out, s, n);
    buf_addstr(out, ellipsis);
}

static void put_strings(struct encoder *x)
{
    buf_add_varint(x->out, x->strings.n + (x->pruned_frame != 0));
    for (size_t i = 0; i < x->strings.n; i++)
        page_data_text(x->out, strtab_get(&x->p->strings, x->strings.a[i]));
    if (x->pruned_frame)
        page_data_text(x->out, "[pruned]");
}

static void put_frame(struct encoder *x, uint32_t frame)
{
    const struct profile_frame *f = &x->p->frames.a[frame];
    unsigned kind = f->kind < PALETTE_KINDS ? f->kind : FRAME_MARKER;

    buf_add_varint(x->out, kind | (f->inlined ? FLAG_INLINED : 0) | (f->unknown ? FLAG_UNKNOWN : 0) |
                               palette_shade(strtab_get(&x->p->strings, f->func)) << SHADE_SHIFT);
    buf_add_varint(x->out, x->string_ids[f->func]);
    buf_add_varint(x->out, x->string_ids[f->file]);
    buf_add_varint(x->out, x->string_ids[f->module]);
    buf_add_varint(x->out, f->line);
    for (size_t m = 0; m < x->p->metrics.n; m++) {
        buf_add_varint(x->out, x->d->functions[m].self[frame]);
        buf_add_varint(x->out, x->d->functions[m].total[frame]);
    }
}

static void put_frames(struct encoder *x)
{
    buf_add_varint(x->out, x->frames.n + (x->pruned_frame != 0));
    for (size_t i = 0; i < x->frames.n; i++)
        put_frame(x, x->frames.a[i]);
    if (!x->pruned_frame)
        return;
    buf_add_varint(x->out, FRAME_MARKER | FLAG_PRUNED);
    buf_add_varint(x->out, x->strings.n + 1);
    for (size_t i = 0; i < 3 + 2 * x->p->metrics.n; i++)
        buf_add_varint(x->out, 0);
}

/* ---- boxes ---- */

/* Where the node's samples are shown: parents come first, so one pass does. */
static void map_boxes(struct encoder *x)
{
    const struct profile *p = x->p;
    uint32_t *pruned_of = mem_calloc(p->nodes.n, sizeof(*pruned_of)); /* node -> the pruned box under it */

    x->boxes = mem_alloc(p->nodes.n * sizeof(*x->boxes));
    memset(x->boxes, 0xff, p->nodes.n * sizeof(*x->boxes));
    for (size_t i = 0; i < x->flame.boxes.n; i++) {
        const struct flame_box *b = &x->flame.boxes.a[i];

        if (b->pruned)
            pruned_of[b->node] = (uint32_t)i;
        else
            x->boxes[b->node] = (uint32_t)i;
    }
    for (size_t i = 1; i < p->nodes.n; i++) {
        uint32_t parent = p->nodes.a[i].parent;

        if (x->boxes[i] != UINT32_MAX)
            continue;
        x->boxes[i] = pruned_of[parent] ? pruned_of[parent] : x->boxes[parent];
        pruned_of[i] = x->boxes[i];
    }
    free(pruned_of);
}

/* Self weight of the boxes in one metric; a pruned box has what its siblings leave of the parent. */
static uint64_t *box_selfs(const struct encoder *x, const struct profile_metric *m)
{
    const struct flame *f = &x->flame;
    uint64_t *self = mem_calloc(f->boxes.n, sizeof(*self));
    uint64_t *kept =
        mem_calloc(x->p->nodes.n, sizeof(*kept)); /* node -> total of its children that have boxes */

    for (size_t i = 0; i < f->boxes.n; i++) {
        const struct flame_box *b = &f->boxes.a[i];

        if (b->pruned)
            continue;
        self[i] = m->self[b->node];
        if (b->node)
            kept[x->p->nodes.a[b->node].parent] += m->total[b->node];
    }
    for (size_t i = 0; i < f->boxes.n; i++) {
        uint32_t node = f->boxes.a[i].node;

        if (f->boxes.a[i].pruned)
            self[i] = m->total[node] - m->self[node] - kept[node];
    }
    free(kept);
    return self;
}

static uint32_t box_frame(const struct encoder *x, const struct flame_box *b)
{
    if (b->pruned)
        return x->pruned_frame;
    return b->node ? x->frame_ids[x->p->nodes.a[b->node].frame] : 0;
}

static void put_boxes(struct encoder *x)
{
    const struct flame *f = &x->flame;
    size_t metrics = x->p->metrics.n;
    uint64_t **self = mem_calloc(metrics, sizeof(*self));
    uint32_t depth = 0;

    for (size_t m = 0; metrics > 1 && m < metrics; m++)
        self[m] = box_selfs(x, &x->p->metrics.a[m]);
    buf_add_varint(x->out, f->boxes.n);
    for (size_t i = 0; i < f->boxes.n; i++) {
        const struct flame_box *b = &f->boxes.a[i];

        buf_add_varint(x->out, i ? depth + 1 - b->depth : 0);
        depth = b->depth;
        buf_add_varint(x->out, box_frame(x, b));
        for (size_t m = 0; m < metrics; m++)
            buf_add_varint(x->out, self[m] ? self[m][i] : b->self);
    }
    for (size_t m = 0; m < metrics; m++)
        free(self[m]);
    free(self);
}

/* ---- samples by time ---- */

struct pair {
    uint32_t slice, box;
    uint64_t value;
};

typedef VEC(struct pair) pairs;

/* The pairs of one slice at a time, in order. */
struct adder {
    pairs *to;
    uint32_t slice, nboxes;
    uint64_t *sum;     /* by box */
    uint64_t *touched; /* a bit a box: it has one */
};

static void end_box(struct adder *a, uint32_t box)
{
    *vec_push(a->to) = (struct pair){a->slice, box, a->sum[box]};
    a->sum[box] = 0;
}

static void end_slice(struct adder *a)
{
    for (uint32_t i = 0; i <= a->nboxes / 64; i++) {
        for (; a->touched[i]; a->touched[i] &= a->touched[i] - 1)
            end_box(a, i * 64 + (uint32_t)__builtin_ctzll(a->touched[i]));
    }
}

/* Slices come in order. */
static void add_to_slice(struct adder *a, uint32_t slice, uint32_t box, uint64_t value)
{
    if (slice != a->slice)
        end_slice(a);
    a->slice = slice;
    if (!value)
        return;
    a->touched[box / 64] |= 1ull << box % 64;
    a->sum[box] += value;
}

static struct adder adder_init(const struct encoder *x, pairs *to)
{
    size_t n = x->flame.boxes.n;

    return (struct adder){.to = to,
                          .nboxes = (uint32_t)n,
                          .sum = mem_calloc(n, sizeof(uint64_t)),
                          .touched = mem_calloc(n / 64 + 1, sizeof(uint64_t))};
}

static void adder_release(struct adder *a)
{
    end_slice(a);
    free(a->sum);
    free(a->touched);
}

/* Half as many slices, twice as long. */
static void coarsen(const struct encoder *x, pairs *v)
{
    pairs half = {0};
    struct adder a = adder_init(x, &half);

    for (size_t i = 0; i < v->n; i++)
        add_to_slice(&a, v->a[i].slice / 2, v->a[i].box, v->a[i].value);
    adder_release(&a);
    vec_release(v);
    *v = half;
}

static void put_pairs(struct buf *out, const pairs *v, uint32_t slices)
{
    size_t i = 0;

    buf_add_varint(out, slices);
    buf_add_varint(out, v->n);
    for (uint32_t s = 0; s < slices; s++) {
        size_t end = i;
        uint32_t box = 0;

        while (end < v->n && v->a[end].slice == s)
            end++;
        buf_add_varint(out, end - i);
        for (; i < end; i++) {
            buf_add_varint(out, v->a[i].box - box);
            buf_add_varint(out, v->a[i].value);
            box = v->a[i].box;
        }
    }
}

/* Samples that were imported without a time all have 0. */
static int has_times(const struct profile *p)
{
    return p->samples.n && p->samples.a[p->samples.n - 1].ts > 0;
}

/* The samples, which are in order of time, into one list for each metric. */
static size_t slice_up(struct encoder *x, pairs *v, uint64_t ns)
{
    size_t nmetrics = x->p->metrics.n, total = 0;
    struct adder *adders = mem_calloc(nmetrics, sizeof(*adders));

    for (size_t m = 0; m < nmetrics; m++)
        adders[m] = adder_init(x, &v[m]);
    for (size_t i = 0; i < x->p->samples.n; i++) {
        const struct profile_sample *s = &x->p->samples.a[i];

        if (s->metric < nmetrics && s->node < x->p->nodes.n)
            add_to_slice(&adders[s->metric], (uint32_t)(s->ts / ns), x->boxes[s->node], s->value);
    }
    for (size_t m = 0; m < nmetrics; m++) {
        adder_release(&adders[m]);
        total += v[m].n;
    }
    free(adders);
    return total;
}

/* One slicing serves all metrics, so that a range means the same in each. */
static uint64_t put_slices(struct encoder *x)
{
    size_t nmetrics = x->p->metrics.n, total;
    pairs *v = mem_calloc(nmetrics, sizeof(*v));
    uint64_t last = x->p->samples.a[x->p->samples.n - 1].ts, ns = last / MAX_SLICES + 1;
    uint32_t slices = MAX_SLICES;

    total = slice_up(x, v, ns);
    while (total > x->d->max_pairs && slices > MIN_SLICES) {
        slices /= 2;
        ns *= 2;
        total = 0;
        for (size_t m = 0; m < nmetrics; m++) {
            coarsen(x, &v[m]);
            total += v[m].n;
        }
    }
    slices = (uint32_t)(last / ns) + 1;
    for (size_t m = 0; m < nmetrics; m++) {
        put_pairs(x->out, &v[m], slices);
        vec_release(&v[m]);
    }
    free(v);
    return ns;
}

/* ---- several metrics ---- */

/* What is the whole of a metric, in the weights that several metrics are laid out by. */
#define WHOLE 1e15

/* Each metric counts by its shares, rounded up: what has weight in any of them has some here. */
static void join_weights(const struct profile *p, uint64_t *self, uint64_t *total)
{
    for (size_t m = 0; m < p->metrics.n; m++) {
        const struct profile_metric *metric = &p->metrics.a[m];
        double scale = metric->sum ? WHOLE / (double)metric->sum : 0;

        for (size_t i = 0; i < p->nodes.n; i++)
            if (metric->self[i])
                self[i] += (uint64_t)((double)metric->self[i] * scale) + 1;
    }
    for (size_t i = p->nodes.n; i-- > 0;) {
        total[i] += self[i];
        if (i)
            total[p->nodes.a[i].parent] += total[i];
    }
}

static void lay_out(struct encoder *x)
{
    const struct profile *p = x->p;
    struct flame_limits lim = {.max_boxes = x->d->max_boxes};
    struct flame_weights w = flame_metric(p, 0);
    uint64_t *self, *total;

    if (p->metrics.n < 2) {
        flame_layout(&x->flame, p, &w, &lim);
        return;
    }
    self = mem_calloc(p->nodes.n, sizeof(*self));
    total = mem_calloc(p->nodes.n, sizeof(*total));
    join_weights(p, self, total);
    w = (struct flame_weights){self, total};
    flame_layout(&x->flame, p, &w, &lim);
    free(self);
    free(total);
}

void page_data_encode(const struct page_data *d, struct buf *out, struct page_data_stats *stats)
{
    struct encoder x = {.d = d, .p = d->p, .out = out};

    *stats = (struct page_data_stats){0};
    lay_out(&x);
    collect_names(&x);
    put_strings(&x);
    put_frames(&x);
    put_boxes(&x);
    if (has_times(d->p) && x.flame.sum) {
        map_boxes(&x);
        stats->slice_ns = put_slices(&x);
        free(x.boxes);
    } else {
        for (size_t m = 0; m < d->p->metrics.n; m++)
            put_pairs(out, &(pairs){0}, 0);
    }
    if (x.flame.sum) {
        stats->pruned_nodes = x.flame.pruned_nodes;
        stats->pruned_share = (double)x.flame.pruned_weight / (double)x.flame.sum;
        stats->min_share = (double)x.flame.min_total / (double)x.flame.sum;
    }
    flame_release(&x.flame);
    free(x.frame_ids);
    free(x.string_ids);
    vec_release(&x.frames);
    vec_release(&x.strings);
}
