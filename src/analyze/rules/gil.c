/* SPDX-License-Identifier: Apache-2.0 */
/* Row 30: threads that wait for Python's GIL. */
#include "analyze/rules/check.h"

#include <stdlib.h>

struct gil {
    struct map waited;       /* task id -> ns */
    struct map held;         /* the holders', while others waited */
    struct place_time where; /* where the holders were seen */
    uint64_t ns;
    size_t threads;
    uint32_t worst, holder;
};

static void add(struct map *m, uint32_t id, uint64_t ns, uint32_t *most)
{
    uint64_t *sum = map_put(m, id), *best = map_get(m, *most);

    *sum += ns;
    best = map_get(m, *most);
    if (!*most || !best || *sum > *best)
        *most = id;
}

static void collect(struct gil *g, const struct rule_data *d)
{
    const struct store *s = &d->s->store;

    place_time_init(&g->where, s);
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct wait *w = waits_get(&s->waits, ev->attr);

        if (ev->kind != EVENT_GIL || !ev->task || ev->task > s->tasks.list.n)
            continue;
        add(&g->waited, ev->task, ev->dur, &g->worst);
        g->ns += ev->dur;
        if (!w || !w->waker_task || w->waker_task > s->tasks.list.n)
            continue;
        add(&g->held, w->waker_task, ev->dur, &g->holder);
        if (w->waker_stack <= s->stacks.nodes.n) {
            g->where.of[w->waker_stack] += ev->dur;
            g->where.sum += ev->dur;
        }
    }
}

static void claim_own(struct finding *x, const struct rule_data *d, const struct event *ev)
{
    uint32_t thread = d->lead.thread_of[ev->task] - 1;

    x->timed = 1;
    x->lanes = d->lead.crew ? d->lead.lanes : 0;
    if (ev->dur)
        *vec_push(&x->claims) =
            (struct finding_claim){ev->ts, ev->ts + ev->dur, ev->dur, lead_lane(d, thread)};
}

/* The time of the event in which the main thread waited, too. */
static int claim_meanwhile(struct finding *x, const struct rule_data *d, const struct event *ev)
{
    uint64_t end = ev->ts + ev->dur;
    int any = 0;

    for (size_t k = lead_first(&d->lead, 0, ev->ts); k < d->lead.spans.n && d->lead.spans.a[k].start < end;
         k++) {
        const struct lead_span *y = &d->lead.spans.a[k];
        uint64_t from = y->start > ev->ts ? y->start : ev->ts, to = y->end < end ? y->end : end;

        if (y->kind == LEAD_WAIT && to > from) {
            finding_claim(x, from, to, to - from);
            any = 1;
        }
    }
    return any;
}

/* The lead's own waits; or the time in which the main thread waited for others while they waited for the
 * GIL. */
static int claim(struct finding *x, const struct rule_data *d, int own)
{
    const struct store *s = &d->s->store;
    int any = 0;

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];

        if (ev->kind != EVENT_GIL || !ev->task || ev->task > s->tasks.list.n || !d->lead.process[ev->task] ||
            own != (d->lead.thread_of[ev->task] != 0) || (ev->flags & EVENT_SHORT))
            continue;
        if (own)
            claim_own(x, d, ev);
        any |= own || (!d->lead.crew && claim_meanwhile(x, d, ev));
    }
    return any;
}

static uint64_t of(const struct map *m, uint32_t id)
{
    const uint64_t *v = map_get(m, id);

    return v ? *v : 0;
}

static void tell(struct finding *x, const struct gil *g, const struct rule_data *d, int own)
{
    uint32_t hot = places_hot(&d->places, &g->where, 0.5, NULL);
    struct buf who = {0}, holder = {0}, text = {0};
    struct words w = {0};
    uint64_t worst = of(&g->waited, g->worst), self;

    hot = hot ? hot : places_top(&d->places, &g->where, &self);
    lead_name(&d->s->store, own && !d->lead.crew ? d->lead.task : g->worst, &who);
    if (g->holder)
        lead_name(&d->s->store, g->holder, &holder);
    finding_at(x, d, &g->where, hot);
    x->process = mem_strdup(buf_str(&who));
    x->title =
        mem_printf("%s for Python's GIL%s%s", own && !d->lead.crew ? "The main thread waits" : "Threads wait",
                   hot ? ", held in " : "", hot ? places_func(&d->places, hot) : "");
    buf_addf(&text, "%s waited %s for it, the most of them %s: %s (%s of the time).",
             words_plural(&w, g->waited.n, "thread"), words_ns(&w, g->ns), buf_str(&who),
             words_ns(&w, own && !d->lead.crew ? of(&g->waited, d->lead.task) : worst),
             words_share(&w, (double)worst / (double)d->wall_ns));
    if (g->holder)
        buf_addf(&text, " Most often %s had it (%s of the waits' time)%s%s.", buf_str(&holder),
                 words_share(&w, (double)of(&g->held, g->holder) / (double)g->ns), x->line ? ", in " : "",
                 x->line ? x->line : "");
    x->evidence = buf_detach(&text);
    x->advice = mem_strdup("Work in processes instead of threads, in native code that gives the GIL up "
                           "(NumPy, torch), or with a "
                           "free-threaded Python.");
    buf_release(&who);
    buf_release(&holder);
}

void check_gil_wait(struct rule_run *r, const struct rule_data *d)
{
    struct gil g = {0};
    double share;

    collect(&g, d);
    share = d->wall_ns && g.worst ? (double)of(&g.waited, g.worst) / (double)d->wall_ns : 0;
    if (share > rule_threshold(r, "share")) {
        uint64_t mine = 0;
        struct finding *x;
        int own;

        for (uint32_t i = 1; d->lead.task && i <= d->s->store.tasks.list.n; i++)
            mine += d->lead.thread_of[i] ? of(&g.waited, i) : 0;
        own = (double)mine > rule_threshold(r, "share") * (double)d->wall_ns * d->lead.lanes;
        x = rule_found(r);
        x->weight = RULE_WEIGHT_CAUSE;
        if (d->lead.task && claim(x, d, own) && !own) {
            x->certainty = FINDING_LIKELY;
            x->least_ns = d->wall_ns / 100; /* what other findings explain needs no second one */
            x->why = mem_strdup("the time in which the main thread waited while other threads waited for the "
                                "GIL: an upper bound");
        } else if (!own) {
            x->severity = FINDING_LOW;
            x->why = mem_strdup("the main thread did not wait meanwhile: what it costs the run is not known");
        }
        tell(x, &g, d, own);
    }
    map_release(&g.waited);
    map_release(&g.held);
    place_time_release(&g.where);
}
