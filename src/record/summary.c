/* SPDX-License-Identifier: Apache-2.0 */
#include "record/summary.h"

#include "base/map.h"
#include "base/shell.h"
#include "base/units.h"
#include "model/frames.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_self(const void *a, const void *b)
{
    const struct heavy *x = a, *y = b;

    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    return x->func < y->func ? -1 : x->func > y->func;
}

size_t summary_heaviest(const struct profile *p, size_t metric, struct heavy *out, size_t n)
{
    VEC(struct heavy) all = {0};
    struct map seen = {0};
    size_t have;

    if (metric >= p->metrics.n)
        return 0;
    for (size_t i = 1; i < p->nodes.n; i++) {
        const struct profile_frame *f = &p->frames.a[p->nodes.a[i].frame];
        uint64_t self = p->metrics.a[metric].self[i], *at;

        if (!self || f->kind == FRAME_NONE)
            continue;
        at = map_put(&seen, ((uint64_t)f->func << 32) | f->file);
        if (!*at) {
            *vec_push(&all) = (struct heavy){f->func, f->file, 0};
            *at = all.n;
        }
        all.a[*at - 1].self += self;
    }
    if (all.n)
        qsort(all.a, all.n, sizeof(*all.a), by_self);
    have = all.n < n ? all.n : n;
    if (have)
        memcpy(out, all.a, have * sizeof(*out));
    vec_release(&all);
    map_release(&seen);
    return have;
}

static void add_share(struct buf *out, const char *before, double share, const char *after)
{
    char text[32];

    if (isnan(share))
        buf_addf(out, "%snot measured%s", before, after);
    else
        buf_addf(out, "%s%s%s", before, units_share(text, sizeof(text), share), after);
}

static void add_measured(struct buf *out, const struct quality *q)
{
    char taken[32], expected[32], lost[32];

    buf_addf(out, "  measured  %s of %s samples, %s lost", units_count(taken, sizeof(taken), q->taken),
             units_count(expected, sizeof(expected), q->expected), units_count(lost, sizeof(lost), q->lost));
    if (q->taken) {
        if (!isnan(q->unwound_share))
            add_share(out, ", ", q->unwound_share, " unwound to the root");
        if (q->python)
            add_share(out, ", ", q->python_share, " of Python's with its frames");
    }
    add_share(out, "; cost ", q->cost_share, isnan(q->cost_share) ? "\n" : " of the target's CPU time\n");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void add_heaviest(struct buf *out, const struct profile *p)
{
    struct heavy top[3];
    size_t n = summary_heaviest(p, 0, top, ARRAY_SIZE(top));

    for (size_t i = 0; i < n; i++) {
        double share = p->metrics.a[0].sum ? (double)top[i].self / (double)p->metrics.a[0].sum : 0;
        const char *file = strtab_get(&p->strings, top[i].file);
        char text[32];

        buf_addf(out, "  %s  %7s  %s", i ? "        " : "heaviest", units_share(text, sizeof(text), share),
                 strtab_get(&p->strings, top[i].func));
        buf_addf(out, *file ? " (%s)\n" : "%s\n", base_name(file));
    }
}

/* Its note says it: the same words everywhere. */
static void add_ring(struct buf *out, const struct recorder_report *r)
{
    for (size_t i = 0; i < r->meta->notes.n; i++)
        if (strstr(r->meta->notes.a[i], "(--ring)"))
            buf_addf(out, "  ring      %s\n", r->meta->notes.a[i]);
}

void summary_text(struct buf *out, const struct recorder_report *r, const struct profile *p,
                  const struct quality *q, const struct summary_wait *w)
{
    char size[32], time[32], share[32];
    struct buf path = {0};

    buf_addf(out, "%s  (%s, %s, %s)\n", r->path,
             units_duration(time, sizeof(time), r->meta->end_mono - r->meta->start_mono),
             units_size(size, sizeof(size), r->bytes), r->meta->end_reason ? r->meta->end_reason : "ended");
    add_ring(out, r);
    add_measured(out, q);
    if (p && p->metrics.n)
        add_heaviest(out, p);
    if (w->text.len)
        buf_addf(out, "  waited    %7s  %s\n", units_share(share, sizeof(share), w->share),
                 buf_str(&w->text));
    shell_word(&path, r->path);
    buf_addf(
        out,
        "  next      wprof report %s\n            wprof show %s\n            wprof render --format html -o "
        "page.html %s\n",
        buf_str(&path), buf_str(&path), buf_str(&path));
    buf_release(&path);
}
