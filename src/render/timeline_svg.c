/* SPDX-License-Identifier: Apache-2.0 */
#include "render/timeline_svg.h"

#include "base/units.h"
#include "render/markup.h"

#include <stdlib.h>
#include <string.h>

enum { SLICES = 900, LANES = 16, LEFT = 190, ROW = 20, BAR = 14, NAME_MAX = 26, FOOT = 18 };

/* What a slice shows; the classes first. */
enum { NOTHING = TIMELINE_CLASSES, SHOWN };

static const char *const colors[SHOWN] = {[TIMELINE_RUNS] = "#58a868",
                                          [TIMELINE_QUEUES] = "#e8b84a",
                                          [TIMELINE_WAITS] = "#a9c8ee",
                                          [NOTHING] = "none"};
static const char *const labels[TIMELINE_CLASSES] = {
    [TIMELINE_RUNS] = "on a CPU", [TIMELINE_QUEUES] = "on the run queue", [TIMELINE_WAITS] = "waiting"};

struct slice {
    double of[TIMELINE_CLASSES]; /* ns */
};

struct lane {
    const struct timeline_lane *l;
    struct slice *slices;
    double busy; /* on a CPU or wanting one */
};

static void add(struct slice *slices, double width, uint64_t start, uint64_t end, const double *share)
{
    size_t i = (size_t)((double)start / width);

    for (; i < SLICES && (double)i * width < (double)end; i++) {
        double from = (double)i * width, to = from + width;

        from = from > (double)start ? from : (double)start;
        to = to < (double)end ? to : (double)end;
        for (size_t c = 0; c < TIMELINE_CLASSES && to > from; c++)
            slices[i].of[c] += (to - from) * share[c];
    }
}

static void add_span(struct lane *x, double width, const struct timeline_span *s)
{
    double share[TIMELINE_CLASSES] = {0};

    for (size_t c = 0; s->merged && c < TIMELINE_CLASSES; c++)
        share[c] = s->share[c] / 255.0;
    if (!s->merged)
        share[timeline_class(s->state)] = 1;
    add(x->slices, width, s->start, s->end, share);
}

/* What is neither a wait nor a delay is running, where switches were recorded. */
static void add_running(struct lane *x, double width)
{
    static const double runs[TIMELINE_CLASSES] = {[TIMELINE_RUNS] = 1};
    struct slice *whole = mem_calloc(SLICES, sizeof(*whole));

    add(whole, width, x->l->from, x->l->to, runs);
    for (size_t i = 0; i < SLICES; i++) {
        double known = 0;

        for (size_t c = 0; c < TIMELINE_CLASSES; c++)
            known += x->slices[i].of[c];
        if (whole[i].of[TIMELINE_RUNS] > known)
            x->slices[i].of[TIMELINE_RUNS] += whole[i].of[TIMELINE_RUNS] - known;
    }
    free(whole);
}

static void make_lane(struct lane *x, const struct timeline *t, const struct timeline_lane *l)
{
    static const double runs[TIMELINE_CLASSES] = {[TIMELINE_RUNS] = 1};
    double width = (double)t->end / SLICES;

    *x = (struct lane){.l = l, .slices = mem_calloc(SLICES, sizeof(*x->slices))};
    for (uint32_t i = l->first; i < l->first + l->n; i++)
        if (!t->spans.a[i].depth && t->spans.a[i].state != TIMELINE_MARK)
            add_span(x, width, &t->spans.a[i]);
    if (t->states)
        add_running(x, width);
    for (uint32_t i = l->tick; !t->states && i < l->tick + l->nticks; i++)
        add(x->slices, width, t->ticks.a[i].ts, t->ticks.a[i].ts + (uint64_t)width, runs);
    for (size_t i = 0; i < SLICES; i++)
        x->busy += x->slices[i].of[TIMELINE_RUNS] + x->slices[i].of[TIMELINE_QUEUES];
}

static int busiest(const void *pa, const void *pb)
{
    const struct lane *a = pa, *b = pb;

    return a->busy != b->busy ? (a->busy > b->busy ? -1 : 1) : (a->l > b->l) - (a->l < b->l);
}

static int in_order(const void *pa, const void *pb)
{
    const struct lane *a = pa, *b = pb;

    return (a->l > b->l) - (a->l < b->l);
}

static unsigned shown(const struct slice *s)
{
    unsigned best = NOTHING;
    double most = 0;

    for (unsigned c = 0; c < TIMELINE_CLASSES; c++)
        if (s->of[c] > most) {
            most = s->of[c];
            best = c;
        }
    return best;
}

static void draw_lane(struct buf *out, const struct timeline *t, const struct lane *x, size_t row)
{
    const struct timeline_task *task = x->l->task ? &t->tasks.a[x->l->task - 1] : NULL;
    double y = (double)row * ROW + 3;

    buf_addf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">", LEFT - 8, y + BAR - 3);
    markup_cut(out, strtab_get(&t->stacks.strings, x->l->name), NAME_MAX);
    buf_addf(out, " %u</text>\n", task ? task->tid : 0);
    for (size_t i = 0, end; i < SLICES; i = end) {
        unsigned what = shown(&x->slices[i]);

        for (end = i + 1; end < SLICES && shown(&x->slices[end]) == what; end++)
            ;
        if (what != NOTHING)
            buf_addf(out, "<rect x=\"%zu\" y=\"%.0f\" width=\"%zu\" height=\"%d\" fill=\"%s\"/>", LEFT + i, y,
                     end - i, BAR, colors[what]);
    }
    buf_addch(out, '\n');
}

static void draw_foot(struct buf *out, const struct timeline *t, size_t rows)
{
    size_t y = rows * ROW + FOOT;
    char ns[32];

    buf_addf(out,
             "<text x=\"%d\" y=\"%zu\">0 s</text><text x=\"%d\" y=\"%zu\" text-anchor=\"end\">%s</text>\n",
             LEFT, y, LEFT + SLICES, y, units_duration(ns, sizeof(ns), t->end));
    for (size_t c = 0; c < TIMELINE_CLASSES; c++)
        buf_addf(out,
                 "<rect x=\"%zu\" y=\"%zu\" width=\"12\" height=\"10\" fill=\"%s\"/><text x=\"%zu\" "
                 "y=\"%zu\">%s</text>\n",
                 LEFT + 200 + c * 170, y - 9, colors[c], LEFT + 217 + c * 170, y, labels[c]);
}

void timeline_svg(const struct timeline *t, struct buf *out)
{
    VEC(struct lane) lanes = {0};
    size_t n;

    for (size_t i = 0; i < t->lanes.n && t->end; i++)
        if (t->lanes.a[i].kind == TIMELINE_THREAD)
            make_lane(vec_push(&lanes), t, &t->lanes.a[i]);
    n = lanes.n < LANES ? lanes.n : LANES;
    if (lanes.n) {
        qsort(lanes.a, lanes.n, sizeof(*lanes.a), busiest);
        qsort(lanes.a, n, sizeof(*lanes.a), in_order);
        buf_addf(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\" "
            "font-family=\"monospace\" font-size=\"11\" fill=\"currentColor\" role=\"img\" "
            "aria-label=\"timeline\">\n",
            LEFT + SLICES + 10, n * ROW + 2 * FOOT, LEFT + SLICES + 10, n * ROW + 2 * FOOT);
        for (size_t i = 0; i < n; i++)
            draw_lane(out, t, &lanes.a[i], i);
        draw_foot(out, t, n);
        if (lanes.n > n)
            buf_addf(out, "<text x=\"%d\" y=\"%zu\">%zu more threads</text>", 4, n * ROW + FOOT, lanes.n - n);
        buf_addstr(out, "</svg>");
    }
    for (size_t i = 0; i < lanes.n; i++)
        free(lanes.a[i].slices);
    vec_release(&lanes);
}
