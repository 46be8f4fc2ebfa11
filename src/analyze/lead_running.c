/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/lead_running.h"

#include "base/mem.h"

#include <stdlib.h>

/* ---- sums of short ones ---- */

static struct lead_turn *turn_at(struct lead_running *x, uint64_t start)
{
    size_t i = x->turns.n;

    while (i && x->turns.a[i - 1].start > start)
        i--;
    if (i && x->turns.a[i - 1].start == start)
        return &x->turns.a[i - 1];
    vec_push(&x->turns);
    for (size_t k = x->turns.n - 1; k > i; k--)
        x->turns.a[k] = x->turns.a[k - 1];
    x->turns.a[i] = (struct lead_turn){.start = start};
    return &x->turns.a[i];
}

static void add_turns(struct lead_running *x, const struct lead *l, const struct store *s)
{
    turn_at(x, 0); /* of what is before the first sum */
    for (size_t i = 0; i < l->shorts.n; i++) {
        const struct event *ev = &s->events.a[l->shorts.a[i]];
        const struct wait *w = waits_get(&s->waits, ev->attr);
        unsigned reason = ev->kind == EVENT_RUNQ ? LEAD_SHORT_QUEUE : wait_reason_of(w);
        struct lead_turn *t = turn_at(x, ev->ts);

        t->ns[reason] += ev->dur;
        t->n[reason] += ev->value;
    }
}

static void add_up_turns(struct lead_running *x)
{
    for (size_t i = 0; i < x->pieces.n; i++)
        x->turns.a[x->pieces.a[i].turn].between += x->pieces.a[i].end - x->pieces.a[i].start;
    for (size_t i = 0; i < x->turns.n; i++) {
        struct lead_turn *t = &x->turns.a[i];
        uint64_t off = 0;

        for (unsigned k = 0; k < LEAD_SHORTS; k++)
            off += t->ns[k];
        t->running = t->between > off ? t->between - off : 0;
    }
}

/* ---- pieces ---- */

static void add_piece(lead_pieces *out, uint64_t start, uint64_t end, uint32_t turn)
{
    if (end > start)
        *vec_push(out) = (struct lead_piece){start, end, turn};
}

/* What is between the spans, cut where turns begin. */
static void add_between(struct lead_running *x, const struct lead *l)
{
    lead_pieces out = {0};
    uint64_t at = l->from;
    uint32_t turn = 0;

    for (size_t i = 0; i <= l->spans.n; i++) {
        uint64_t stop = i < l->spans.n && l->spans.a[i].start < l->to ? l->spans.a[i].start : l->to;

        while (turn + 1 < x->turns.n && x->turns.a[turn + 1].start < stop) {
            uint64_t cut = x->turns.a[++turn].start;

            add_piece(&out, at, cut, turn - 1);
            at = cut > at ? cut : at;
        }
        add_piece(&out, at, stop, turn);
        if (i < l->spans.n && l->spans.a[i].end > at)
            at = l->spans.a[i].end;
    }
    vec_swap(&x->pieces, &out);
}

/* ---- samples ---- */

/* How long it had run at each of the samples; they are by time. */
static uint64_t *ran_at(const struct lead_running *x, const struct lead *l, const struct store *s)
{
    uint64_t *ran = mem_calloc(l->samples.n + 1, sizeof(*ran)), sum = 0;
    size_t k = 0;

    for (size_t i = 0; i < l->samples.n; i++) {
        uint64_t ts = s->events.a[l->samples.a[i]].ts;

        while (k < x->pieces.n && x->pieces.a[k].end <= ts) {
            sum += x->pieces.a[k].end - x->pieces.a[k].start;
            k++;
        }
        ran[i] = sum + (k < x->pieces.n && x->pieces.a[k].start < ts ? ts - x->pieces.a[k].start : 0);
    }
    return ran;
}

/* Samples of a thread come at random in its running time, a period apart on average: what is further from any
 * than this, in one gap of e^4, is nobody's: there were none when it ran, or they were lost. */
enum { PERIODS = 4 };

/* From where to where, in running time, it is a sample's. */
struct reach {
    uint64_t from, to;
};

static struct reach reach_of(const uint64_t *ran, size_t n, size_t i, uint64_t most)
{
    struct reach x = {ran[i] > most ? ran[i] - most : 0, ran[i] + most};
    uint64_t before = i ? ran[i - 1] + (ran[i] - ran[i - 1]) / 2 : 0;
    uint64_t after = i + 1 < n ? ran[i] + (ran[i + 1] - ran[i]) / 2 : UINT64_MAX;

    x.from = x.from > before ? x.from : before;
    x.to = x.to < after ? x.to : after;
    return x;
}

/* A walk along the pieces, that cuts them where it is told to. */
struct cutter {
    const lead_pieces *in;
    lead_pieces out;
    size_t next;
    uint64_t at; /* running time at the beginning of what is left of in[next] */
    uint64_t start;
};

static void cut_at(struct cutter *c, uint64_t ran)
{
    while (c->next < c->in->n && c->at < ran) {
        const struct lead_piece *p = &c->in->a[c->next];
        uint64_t start = c->start > p->start ? c->start : p->start, left = p->end - start;
        uint64_t take = ran - c->at < left ? ran - c->at : left;

        add_piece(&c->out, start, start + take, p->turn);
        c->at += take;
        c->start = start + take;
        c->next += take == left;
    }
}

/* Cuts the pieces in the middle between samples, in running time. */
static void give_to_samples(struct lead_running *x, const struct lead *l, const struct store *s,
                            uint64_t period)
{
    uint64_t *ran = ran_at(x, l, s);
    struct cutter c = {.in = &x->pieces};
    uint64_t most = period ? period * PERIODS : UINT64_MAX / 4;

    x->of_sample = mem_calloc(l->samples.n + 1, sizeof(*x->of_sample));
    for (size_t i = 0; i < l->samples.n; i++) {
        struct reach r = reach_of(ran, l->samples.n, i, most);

        cut_at(&c, r.from);
        x->of_sample[i].first = c.out.n;
        cut_at(&c, r.to);
        x->of_sample[i].end = c.out.n;
    }
    cut_at(&c, UINT64_MAX);
    vec_swap(&x->pieces, &c.out);
    vec_release(&c.out);
    free(ran);
}

void lead_running_init(struct lead_running *x, const struct lead *l, const struct session *s)
{
    *x = (struct lead_running){0};
    if (!l->task || !l->waits)
        return;
    add_turns(x, l, &s->store);
    add_between(x, l);
    add_up_turns(x);
    give_to_samples(x, l, &s->store, s->meta.frequency ? 1000000000 / s->meta.frequency : 0);
}

void lead_running_release(struct lead_running *x)
{
    vec_release(&x->pieces);
    vec_release(&x->turns);
    free(x->of_sample);
}

/* The parts lie one after the other: what it ran, then its short waits by reason. */
struct lead_piece lead_piece_part(const struct lead_running *x, const struct lead_piece *p, unsigned part)
{
    const struct lead_turn *t = &x->turns.a[p->turn];
    uint64_t before = part == LEAD_RAN ? 0 : t->running, ns = part == LEAD_RAN ? t->running : t->ns[part];
    uint64_t all = t->running;
    double len = (double)(p->end - p->start);
    struct lead_piece out = *p;

    for (unsigned k = 0; k < LEAD_SHORTS; k++) {
        all += t->ns[k];
        before += part != LEAD_RAN && k < part ? t->ns[k] : 0;
    }
    out.start = p->start + (uint64_t)(all ? len * ((double)before / (double)all) : 0);
    out.end = p->start + (uint64_t)(all ? len * ((double)(before + ns) / (double)all) : 0);
    return out;
}
